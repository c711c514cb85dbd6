"""Whether the work of a session has held up. The rule, in order:

1. A QA verdict on everything, as long as nothing was edited after it.
2. The last test run or CI command after the last edit: passed or failed.
3. Where no tests were run since the last edit: a commit after it that was not taken back, or a
   passing check (a build, types, a linter), once the session is over.
4. A session that edited nothing has nothing to validate.
5. Everything else is open, and waits.

A QA verdict on one sub-task stands for its sheet alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from holdfast.core.observer import CommitMade, Scratchpad, Sheet, Validation
from holdfast.core.records import record
from holdfast.observe.learning import thresholds as t

Word: TypeAlias = Literal["passed", "failed", "open", "nothing"]
Stays: TypeAlias = Callable[[str], bool]
_RUNS = ("test", "ci")


@record
class Standing:
    """How work stands, and what says so."""

    word: Word
    by: str = ""


def standing(pad: Scratchpad, *, over: bool, stays: Stays) -> Standing:
    """How the work of a session stands; `stays` tells whether a commit is still there."""
    last_edit = max((sheet.last_edit_step for sheet in pad.sheets), default=0)
    proofs = [v for sheet in pad.sheets for v in sheet.validations]
    whole = [v for sheet in pad.sheets if sheet.task is None for v in sheet.validations]
    qa = _latest(v for v in whole if v.by == "qa" and v.step >= last_edit)
    if qa is not None:
        return _told(qa)
    if last_edit == 0:
        return Standing("nothing")
    run = _latest(v for v in proofs if v.by in _RUNS and v.step > last_edit)
    if run is not None:
        return _told(run)
    return _quiet_proof(pad, proofs, last_edit, stays) if over else Standing("open")


def sheet_standing(sheet: Sheet, whole: Standing) -> Standing:
    """How one sub-task stands: by its own QA verdict or test run, else as the whole does."""
    own = _latest(v for v in sheet.validations if v.by == "qa" and v.step >= sheet.last_edit_step)
    if own is None and whole.word != "passed":
        runs = (v for v in sheet.validations if v.by in _RUNS and v.step > sheet.last_edit_step)
        own = _latest(runs)
    return _told(own) if own is not None else whole


def promotable(pad: Scratchpad, whole: Standing) -> tuple[Sheet, ...]:
    """The sheets that may be promoted now: all or nothing for small work; for more than five
    sub-tasks each that passed."""
    tasks = sum(sheet.task is not None for sheet in pad.sheets)
    if tasks <= t.INCREMENTAL_ABOVE_TASKS:
        return pad.sheets if whole.word == "passed" else ()
    return tuple(s for s in pad.sheets if sheet_standing(s, whole).word == "passed")


def _quiet_proof(
    pad: Scratchpad, proofs: list[Validation], last_edit: int, stays: Stays
) -> Standing:
    """What counts when nothing louder was said: a commit that stays, or a check."""
    commits = [c for sheet in pad.sheets for c in sheet.commits if c.step > last_edit]
    made = commits[-1] if commits else None
    if made is not None and not made.undone and _is_there(made, stays):
        return Standing("passed", f"commit {made.sha or made.subject}")
    check = _latest(v for v in proofs if v.by == "check" and v.step > last_edit)
    return _told(check) if check is not None else Standing("open")


def _is_there(made: CommitMade, stays: Stays) -> bool:
    return made.sha is None or stays(made.sha)


def _latest(validations: Iterable[Validation]) -> Validation | None:
    return max(validations, key=lambda v: (v.step, v.at_ms), default=None)


def _told(seen: Validation) -> Standing:
    return Standing(seen.verdict, f"{seen.by}: {seen.detail}")
