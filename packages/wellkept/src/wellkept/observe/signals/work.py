"""The work of a session by sub-task: a pure function of its step log and of what was reviewed.

Folding the log again gives the same work, however its events arrived.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from wellkept.core.clock import from_ms
from wellkept.core.records import record, replace
from wellkept.core.session.scratchpad import (
    Scratchpad,
    ScratchpadStatus,
    TaskScratchpad,
    Validation,
    ValidationSource,
)
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.session.steps import SessionStep
from wellkept.core.text import shorten
from wellkept.observe import thresholds as t
from wellkept.observe.session.state import load_state
from wellkept.observe.signals.dead_ends import AbandonedApproach, dead_ends
from wellkept.observe.signals.todo_plan import Plan, plan_in
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand, parse_command

_SPOKEN = ("prompt", "plan", "report", "compaction", "agent")
_UNDOES_COMMIT = re.compile(r"\bgit\s+(?:revert\b|reset\s+(?:--\w+\s+)*(?:HEAD[~^]|@~))")
_CI = re.compile(
    r"(?:gh (?:run (?:watch|view)|pr checks|workflow run)|glab ci (?:status|view)|act\b"
    r"|circleci (?:local|run)|buildkite-agent\b|tox\b|nox\b|pre-commit run\b)"
)


@record(kw_only=True)
class Task:
    """One sub-task: its steps since the last run that failed, what it gave up, and what passed or
    failed in it."""

    review: TaskScratchpad
    steps: tuple[SessionStep, ...] = ()
    dead_ends: tuple[AbandonedApproach, ...] = ()
    proofs: tuple[Validation, ...] = ()

    @property
    def calls(self) -> list[SessionStep]:
        """What was done, not said."""
        return [one for one in self.steps if one.kind not in (*_SPOKEN, "decision", "dead_end")]

    @property
    def edits(self) -> list[SessionStep]:
        """The edits."""
        return [one for one in self.steps if one.is_edit]

    @property
    def edit_count(self) -> int:
        """How many edits there were."""
        return sum(one.count for one in self.edits)

    @property
    def last_edit(self) -> int:
        """The step of the last edit; 0 without one."""
        return self.edits[-1].number if self.edits else 0

    @property
    def commits(self) -> list[Validation]:
        """The commits that were not taken back."""
        return [one for one in self.proofs if one.by == "commit" and one.verdict == "passed"]

    @property
    def changed(self) -> int:
        """The last step that calls for a review."""
        runs = [one.step for one in self.proofs if one.by != "qa"]
        return max((self.last_edit, *runs, *(one.last_step for one in self.dead_ends)))


@record(kw_only=True)
class Work:
    """The work of a session. `at` is the time of its last step."""

    pad: Scratchpad
    at: datetime
    request: str | None = None
    plan: Plan = Plan()
    tasks: tuple[Task, ...] = ()


def work_of(session: SessionRecord, pad: Scratchpad) -> Work:
    """The work of a stored session."""
    return work_in(load_state(session.work).steps, pad)


def work_in(steps: Sequence[SessionStep], pad: Scratchpad) -> Work:
    """The work that a log shows."""
    names, ends = task_names(steps), dead_ends(steps)
    tasks: list[Task] = []
    active = [own for own, one in zip(names, steps, strict=True) if one.kind not in _SPOKEN]
    for name in dict.fromkeys((*active, *(one.name for one in pad.tasks))):
        review = pad.for_task(name)
        mine = [
            one
            for own, one in zip(names, steps, strict=True)
            if own == name and one.number > review.since
        ]
        is_reviewed = review.notes or review.validations or review.retries
        if is_reviewed or any(one.kind not in _SPOKEN for one in mine):
            given_up = [end for at, end in ends if names[at] == name]
            tasks.append(
                Task(
                    review=review,
                    steps=tuple(mine),
                    dead_ends=tuple(given_up)[-t.MAX_DEAD_ENDS :],
                    proofs=_proofs(mine, review.validations),
                )
            )
    return Work(
        pad=pad,
        at=from_ms(max(one.at_ms for one in steps)) if steps else pad.updated_at,
        request=next((one.what for one in steps if one.kind == "prompt"), None),
        plan=plan_in(steps),
        tasks=tuple(tasks),
    )


def seen(steps: Sequence[SessionStep], pad: Scratchpad) -> Scratchpad:
    """The scratchpad after some steps, open for review when one of them calls for it; the same
    object when nothing changed."""
    if not steps:
        return pad
    work = work_in(steps, pad)
    reopened = any(task.changed > task.review.changed for task in work.tasks)
    now = replace(
        pad,
        updated_at=work.at,
        state=ScratchpadStatus.OPEN if reopened else pad.state,
        step=max(one.number for one in steps),
        tasks=tuple(replace(task.review, changed=task.changed) for task in work.tasks),
    )
    return pad if now == pad else now


def task_names(steps: Sequence[SessionStep]) -> list[str | None]:
    """The item of the agent's plan under which each step was done; None without one. With too many
    items the last one is shared."""
    names, current, known = list[str | None](), None, dict[str | None, None]()
    for one in steps:
        if one.kind == "plan":
            current = one.what or None
        if one.kind not in _SPOKEN:
            if current not in known and len(known) >= t.MAX_TASKS:
                current = next(reversed(known))
            known[current] = None
        names.append(current)
    return names


def _proofs(steps: Sequence[SessionStep], verdicts: Sequence[Validation]) -> tuple[Validation, ...]:
    """Tests, CI runs, checks, commits and verdicts, in order."""
    found: list[Validation] = []
    edits, edited = 0, dict[str, None]()
    for one in steps:
        if one.is_edit:
            edits, edited = edits + one.count, {**edited, one.what: None}
        if one.kind != "run":
            continue
        if one.ok and _UNDOES_COMMIT.search(one.command):
            made = [number for number, proof in enumerate(found) if proof.by == "commit"]
            for number in made[-1:]:
                found[number] = replace(found[number], verdict="failed")
        if proof := _proof(parse_command(one.command)):
            detail, verdict = shorten(proof[0].call, limit=80), "passed" if one.ok else "failed"
            found.append(Validation(verdict, proof[1], detail, one.number, one.at_ms, edits))
        if one.is_commit:
            detail = one.sha or shorten(one.said.partition("\n")[0], limit=120)
            files = (one.files or tuple(edited))[:40]
            found.append(
                Validation("passed", "commit", detail, one.number, one.at_ms, edits, one.sha, files)
            )
            edited = {}
    return tuple(sorted((*found, *verdicts), key=lambda one: (one.step, one.by == "qa")))


def _proof(commands: Sequence[ShellCommand]) -> tuple[ShellCommand, ValidationSource] | None:
    for command in reversed(commands):
        if _CI.match(command.call):
            return command, "ci"
        if command.purpose is Purpose.TEST:
            return command, "test"
    checks = [command for command in commands if command.purpose is Purpose.CHECK]
    return (checks[-1], "check") if checks else None
