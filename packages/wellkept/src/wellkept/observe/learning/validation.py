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
from wellkept.core.session.scratchpad import Validation
from wellkept.observe import thresholds
from wellkept.observe.signals.work import Task, Work

ValidationStatus: TypeAlias = Literal["passed", "failed", "open", "nothing"]
CommitExists: TypeAlias = Callable[[str], bool]
FindCommit: TypeAlias = Callable[[Sequence[str], datetime], "str | None"]
_TEST_RUNS = ("test", "ci")


@record
class ValidationResult:
    """Whether work passed, and what decided it."""

    status: ValidationStatus
    by: str = ""


def validate_session(
    work: Work, *, over: bool, commit_exists: CommitExists, find_commit: FindCommit
) -> ValidationResult:
    """Validate the whole session.

    `commit_exists` tells whether a commit is still in the history. `find_commit` returns a later
    commit that contains the files the session edited.
    """
    last_edit = max((task.last_edit for task in work.tasks), default=0)
    of_session = [one for task in work.tasks if task.review.name is None for one in task.proofs]
    qa = _latest(one for one in of_session if one.by == "qa" and one.step >= last_edit)
    if qa is not None:
        return _result(qa)
    if last_edit == 0:
        return ValidationResult("nothing")
    later = [one for task in work.tasks for one in task.proofs if one.step > last_edit]
    if run := _latest(one for one in later if one.by in _TEST_RUNS):
        return _result(run)
    if not over:
        return ValidationResult("open")

    def held(proof: Validation) -> bool:
        is_there = not (proof.by == "commit" and proof.sha) or commit_exists(proof.sha)
        return proof.verdict == "passed" and is_there

    commit = _latest(one for one in later if one.by == "commit")
    if commit is not None and held(commit):
        return _result(commit)
    if check := _latest(one for one in later if one.by == "check"):
        return _result(check)
    if before := _before_closing_edits(work, held):
        return before
    edited = dict.fromkeys(one.what for task in work.tasks for one in task.edits)
    sha = find_commit(tuple(edited), work.at)
    return ValidationResult("passed", f"commit {sha}, made afterwards") if sha else _OPEN


_OPEN = ValidationResult("open")


def validate_task(task: Task, session: ValidationResult) -> ValidationResult:
    """Validate one sub-task: by its own QA verdict or test run, else as the session."""
    own = _latest(one for one in task.proofs if one.by == "qa" and one.step >= task.last_edit)
    if own is None and session.status != "passed":
        runs = (one for one in task.proofs if one.by in _TEST_RUNS and one.step > task.last_edit)
        own = _latest(runs)
    return _result(own) if own is not None else session


def promotable_tasks(work: Work, session: ValidationResult) -> tuple[Task, ...]:
    """The sub-tasks that may be promoted now: all or none for small work, each that passed when
    there are more than five."""
    named = sum(task.review.name is not None for task in work.tasks)
    if named <= thresholds.INCREMENTAL_ABOVE_TASKS:
        return work.tasks if session.status == "passed" else ()
    return tuple(one for one in work.tasks if validate_task(one, session).status == "passed")


def _before_closing_edits(
    work: Work, held: Callable[[Validation], bool]
) -> ValidationResult | None:
    """The last validation or commit, when hardly anything was edited after it: a changelog line
    at the end does not invalidate the test run before it."""
    task = work.tasks[0]
    proof = _latest(task.proofs)
    if len(work.tasks) > 1 or proof is None:
        return None
    before, total = proof.edits_before, task.edit_count
    if held(proof) and before >= thresholds.EDITS_PER_CLOSING_EDIT * (total - before):
        by = f"{_result(proof).by}, before the last {total - before} of {total} edits"
        return ValidationResult("passed", by)
    return None


def _latest(proofs: Iterable[Validation]) -> Validation | None:
    return max(proofs, key=lambda one: (one.step, one.at_ms), default=None)


def _result(proof: Validation) -> ValidationResult:
    said = " " if proof.by == "commit" else ": "
    return ValidationResult(proof.verdict, f"{proof.by}{said}{proof.detail}")
