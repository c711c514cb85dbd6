"""Decides whether the work of a session passed validation. The first rule that applies decides:

1. A QA verdict on the whole session, if nothing was edited after it.
2. The last test or CI run after the last edit.
3. Once the session is over and had no such run: a commit after the last edit that still exists,
   then a check (build, types, linter), then whatever passed before a few closing edits, then a
   commit that a person made afterwards.
4. A session without edits has nothing to validate.
5. Anything else is still open.

A QA verdict on one sub-task counts for that sub-task only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.core.records import record
from wellkept.core.session.scratchpad import Scratchpad, SessionCommit, TaskScratchpad, Validation
from wellkept.observe import thresholds

ValidationStatus: TypeAlias = Literal["passed", "failed", "open", "nothing"]
CommitExists: TypeAlias = Callable[[str], bool]
FindCommit: TypeAlias = Callable[[Sequence[str], datetime], "str | None"]
_TEST_RUNS = ("test", "ci")


@record
class ValidationResult:
    """Whether work passed, and what decided it."""

    status: ValidationStatus
    by: str = ""


def no_commit(files: Sequence[str], since: datetime) -> None:  # noqa: ARG001
    """A `FindCommit` for projects without git history."""
    return


def validate_session(
    scratchpad: Scratchpad,
    *,
    over: bool,
    commit_exists: CommitExists,
    find_commit: FindCommit = no_commit,
) -> ValidationResult:
    """Validate the whole session.

    `commit_exists` tells whether a commit is still in the history. `find_commit` returns a later
    commit that contains the files the session edited.
    """
    last_edit = max((task.last_edit_step for task in scratchpad.tasks), default=0)
    validations = [v for task in scratchpad.tasks for v in task.validations]
    of_session = [v for task in scratchpad.tasks if task.name is None for v in task.validations]
    qa = _latest(v for v in of_session if v.by == "qa" and v.step >= last_edit)
    if qa is not None:
        return _result(qa)
    if last_edit == 0:
        return ValidationResult("nothing")
    run = _latest(v for v in validations if v.by in _TEST_RUNS and v.step > last_edit)
    if run is not None:
        return _result(run)
    if not over:
        return ValidationResult("open")
    return (
        _by_commit_or_check(scratchpad, validations, last_edit, commit_exists)
        or _before_closing_edits(scratchpad, commit_exists)
        or _by_later_commit(scratchpad, find_commit)
        or ValidationResult("open")
    )


def validate_task(task: TaskScratchpad, session: ValidationResult) -> ValidationResult:
    """Validate one sub-task: by its own QA verdict or test run, else as the session."""
    own = _latest(v for v in task.validations if v.by == "qa" and v.step >= task.last_edit_step)
    if own is None and session.status != "passed":
        runs = (v for v in task.validations if v.by in _TEST_RUNS and v.step > task.last_edit_step)
        own = _latest(runs)
    return _result(own) if own is not None else session


def promotable_tasks(
    scratchpad: Scratchpad, session: ValidationResult
) -> tuple[TaskScratchpad, ...]:
    """The sub-tasks that may be promoted now: all or none for small work, each that passed when
    there are more than five."""
    named = sum(task.name is not None for task in scratchpad.tasks)
    if named <= thresholds.INCREMENTAL_ABOVE_TASKS:
        return scratchpad.tasks if session.status == "passed" else ()
    return tuple(t for t in scratchpad.tasks if validate_task(t, session).status == "passed")


def _by_commit_or_check(
    scratchpad: Scratchpad,
    validations: list[Validation],
    last_edit: int,
    commit_exists: CommitExists,
) -> ValidationResult | None:
    commits = [c for task in scratchpad.tasks for c in task.commits if c.step > last_edit]
    commit = commits[-1] if commits else None
    if commit is not None and not commit.undone and _exists(commit, commit_exists):
        return ValidationResult("passed", f"commit {commit.sha or commit.subject}")
    check = _latest(v for v in validations if v.by == "check" and v.step > last_edit)
    return _result(check) if check is not None else None


def _before_closing_edits(
    scratchpad: Scratchpad, commit_exists: CommitExists
) -> ValidationResult | None:
    """The last validation or commit, when hardly anything was edited after it: a changelog line
    at the end does not invalidate the test run before it."""
    task = scratchpad.tasks[0]
    if len(scratchpad.tasks) > 1 or not (task.validations or task.commits):
        return None
    validation = _latest(task.validations)
    commit = task.commits[-1] if task.commits else None
    if commit is not None and (validation is None or commit.step > validation.step):
        passed = not commit.undone and _exists(commit, commit_exists)
        before, by = commit.edits_before, f"commit {commit.sha or commit.subject}"
    elif validation is not None:
        passed, before = validation.verdict == "passed", validation.edits_before
        by = _result(validation).by
    else:
        return None
    after = task.edit_count - before
    if passed and before >= thresholds.EDITS_PER_CLOSING_EDIT * after:
        return ValidationResult(
            "passed", f"{by}, before the last {after} of {task.edit_count} edits"
        )
    return None


def _by_later_commit(scratchpad: Scratchpad, find_commit: FindCommit) -> ValidationResult | None:
    edited = dict.fromkeys(f.path for task in scratchpad.tasks for f in task.files if f.edits)
    sha = find_commit(tuple(edited), scratchpad.updated_at) if edited else None
    return ValidationResult("passed", f"commit {sha}, made afterwards") if sha else None


def _exists(commit: SessionCommit, commit_exists: CommitExists) -> bool:
    return commit.sha is None or commit_exists(commit.sha)


def _latest(validations: Iterable[Validation]) -> Validation | None:
    return max(validations, key=lambda v: (v.step, v.at_ms), default=None)


def _result(validation: Validation) -> ValidationResult:
    return ValidationResult(validation.verdict, f"{validation.by}: {validation.detail}")
