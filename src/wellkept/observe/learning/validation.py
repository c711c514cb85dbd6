"""Whether the work of a session has held up. The rule, in order:

1. A QA verdict on everything, as long as nothing was edited after it.
2. The last test run or CI command after the last edit: passed or failed.
3. Where no tests were run since the last edit, once the session is over: a commit after it that was
   not taken back, a check (a build, types, a linter), what was said last before a few closing
   edits, or a commit that a person made afterwards.
4. A session that edited nothing has nothing to validate.
5. Everything else is open, and waits.

A QA verdict on one sub-task stands for its sheet alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.core.records import record
from wellkept.core.scratchpad import Scratchpad, SessionCommit, TaskScratchpad, Validation
from wellkept.observe import thresholds

Word: TypeAlias = Literal["passed", "failed", "open", "nothing"]
Stays: TypeAlias = Callable[[str], bool]
Committed: TypeAlias = Callable[[Sequence[str], datetime], "str | None"]
_RUNS = ("test", "ci")


@record
class ValidationResult:
    """How work stands, and what says so."""

    word: Word
    by: str = ""


def nobody_committed(files: Sequence[str], since: datetime) -> None:  # noqa: ARG001
    """Where there is no history to ask."""
    return


def standing(
    pad: Scratchpad, *, over: bool, stays: Stays, committed: Committed = nobody_committed
) -> ValidationResult:
    """How the work of a session stands; `stays` tells whether a commit is still there, `committed`
    which one holds files that a session left."""
    last_edit = max((sheet.last_edit_step for sheet in pad.sheets), default=0)
    proofs = [v for sheet in pad.sheets for v in sheet.validations]
    whole = [v for sheet in pad.sheets if sheet.task is None for v in sheet.validations]
    qa = _latest(v for v in whole if v.by == "qa" and v.step >= last_edit)
    if qa is not None:
        return _told(qa)
    if last_edit == 0:
        return ValidationResult("nothing")
    run = _latest(v for v in proofs if v.by in _RUNS and v.step > last_edit)
    if run is not None:
        return _told(run)
    if not over:
        return ValidationResult("open")
    told = _quiet_proof(pad, proofs, last_edit, stays)
    told = told or _before_closing_edits(pad, stays)
    return told or _by_hand(pad, committed) or ValidationResult("open")


def sheet_standing(sheet: TaskScratchpad, whole: ValidationResult) -> ValidationResult:
    """How one sub-task stands: by its own QA verdict or test run, else as the whole does."""
    own = _latest(v for v in sheet.validations if v.by == "qa" and v.step >= sheet.last_edit_step)
    if own is None and whole.word != "passed":
        runs = (v for v in sheet.validations if v.by in _RUNS and v.step > sheet.last_edit_step)
        own = _latest(runs)
    return _told(own) if own is not None else whole


def promotable(pad: Scratchpad, whole: ValidationResult) -> tuple[TaskScratchpad, ...]:
    """The sheets that may be promoted now: all or nothing for small work; for more than five
    sub-tasks each that passed."""
    tasks = sum(sheet.task is not None for sheet in pad.sheets)
    if tasks <= thresholds.INCREMENTAL_ABOVE_TASKS:
        return pad.sheets if whole.word == "passed" else ()
    return tuple(s for s in pad.sheets if sheet_standing(s, whole).word == "passed")


def _quiet_proof(
    pad: Scratchpad, proofs: list[Validation], last_edit: int, stays: Stays
) -> ValidationResult | None:
    """What counts when nothing louder was said: a commit that stays, or a check."""
    commits = [c for sheet in pad.sheets for c in sheet.commits if c.step > last_edit]
    made = commits[-1] if commits else None
    if made is not None and not made.undone and _is_there(made, stays):
        return ValidationResult("passed", f"commit {made.sha or made.subject}")
    check = _latest(v for v in proofs if v.by == "check" and v.step > last_edit)
    return _told(check) if check is not None else None


def _before_closing_edits(pad: Scratchpad, stays: Stays) -> ValidationResult | None:
    """What passed last, when hardly anything was edited after it: a line in a changelog at the end
    does not undo what the tests said of all the rest."""
    sheet = pad.sheets[0]
    if len(pad.sheets) > 1 or not (sheet.validations or sheet.commits):
        return None
    seen = _latest(sheet.validations)
    made = sheet.commits[-1] if sheet.commits else None
    if made is not None and (seen is None or made.step > seen.step):
        passed, before = not made.undone and _is_there(made, stays), made.edits_before
        by = f"commit {made.sha or made.subject}"
    elif seen is not None:
        passed, before, by = seen.verdict == "passed", seen.edits_before, _told(seen).by
    else:
        return None
    after = sheet.edit_count - before
    if passed and before >= thresholds.CLOSING_SHARE * after:
        return ValidationResult(
            "passed", f"{by}, before the last {after} of {sheet.edit_count} edits"
        )
    return None


def _by_hand(pad: Scratchpad, committed: Committed) -> ValidationResult | None:
    edited = dict.fromkeys(f.path for sheet in pad.sheets for f in sheet.files if f.edits)
    sha = committed(tuple(edited), pad.updated_at) if edited else None
    return ValidationResult("passed", f"commit {sha}, made afterwards") if sha else None


def _is_there(made: SessionCommit, stays: Stays) -> bool:
    return made.sha is None or stays(made.sha)


def _latest(validations: Iterable[Validation]) -> Validation | None:
    return max(validations, key=lambda v: (v.step, v.at_ms), default=None)


def _told(seen: Validation) -> ValidationResult:
    return ValidationResult(seen.verdict, f"{seen.by}: {seen.detail}")
