"""The scratchpad of a session: signals as pure functions over the step log.

The log says what was done, the stored scratchpad what was reviewed: notes, verdicts, promotions and
failed runs. Folding the log again gives the same signals, however its events arrived.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TypeVar

from wellkept.core.clock import from_ms
from wellkept.core.records import replace
from wellkept.core.session.scratchpad import (
    AbandonedApproach,
    Backtrack,
    BacktrackCause,
    CoAccess,
    ErrorRetry,
    FileAccess,
    Scratchpad,
    ScratchpadStatus,
    SequenceStep,
    SessionCommit,
    TaskScratchpad,
    TimeAnomaly,
    Validation,
    ValidationSource,
)
from wellkept.core.session.steps import SessionStep
from wellkept.core.text import shorten
from wellkept.observe import thresholds as t
from wellkept.observe.signals.dead_ends import dead_ends
from wellkept.observe.signals.todo_plan import plan_in
from wellkept.text.events.failure_cause import prints_others
from wellkept.text.shell.purpose import Purpose, changes_git_state
from wellkept.text.shell.reader import ShellCommand, main_command, parse_command
from wellkept.text.shell.results import error_signature, is_informative

_MAX_PATH_CHARS = 400
_MAX_CASCADE = 3
_SUBJECT_CHARS = 60
_SPOKEN = ("prompt", "plan", "report", "compaction", "agent")
_UNDOES_COMMIT = re.compile(r"\bgit\s+(?:revert\b|reset\s+(?:--\w+\s+)*(?:HEAD[~^]|@~))")
_CI = re.compile(
    r"(?:gh (?:run (?:watch|view)|pr checks|workflow run)|glab ci (?:status|view)|act\b"
    r"|circleci (?:local|run)|buildkite-agent\b|tox\b|nox\b|pre-commit run\b)"
)
_Signal = TypeVar("_Signal")


def scratchpad_of(steps: Sequence[SessionStep], reviewed: Scratchpad) -> Scratchpad:
    """The scratchpad of a log; the same object when nothing changed."""
    if not steps:
        return reviewed
    names = task_names(steps)
    ends = dead_ends(steps)
    tasks = [kept for one in reviewed.tasks if one.name not in names and (kept := _review(one))]
    reopened = False
    for name in dict.fromkeys(names):
        known = reviewed.for_task(name)
        since = known.first_step if known.retries else -1
        of_task = [one for own, one in zip(names, steps, strict=True) if own == name]
        work = [one for one in of_task if one.number > since]
        given_up = [end for at, end in ends if names[at] == name]
        if all(one.kind in _SPOKEN for one in work) and not _review(known):
            continue
        found = _task(name, work, given_up)
        is_changed = _last_change(found) > _last_change(known)
        reopened = reopened or is_changed
        tasks.append(_with_review(found, known, is_changed=is_changed))
    plan = plan_in(steps)
    folded = replace(
        reviewed,
        updated_at=from_ms(max(one.at_ms for one in steps)),
        state=ScratchpadStatus.OPEN if reopened else reviewed.state,
        step=max(one.number for one in steps),
        request=next((one.what for one in steps if one.kind == "prompt"), None),
        planned=plan.planned,
        done=plan.done,
        tasks=tuple(tasks),
    )
    return reviewed if folded == reviewed else folded


def task_names(steps: Sequence[SessionStep]) -> list[str | None]:
    """The item of the agent's plan under which each step was done; None without one. With too many
    items the last one is shared."""
    names, current, known = list[str | None](), None, dict[str | None, None]()
    for one in steps:
        if one.kind == "plan":
            current = one.what or None
        if one.kind not in _SPOKEN and current not in known and len(known) >= t.MAX_TASKS:
            current = next(reversed(known))
        if one.kind not in _SPOKEN:
            known[current] = None
        names.append(current)
    return names


# -- What was reviewed ----------------------------------------------------------------------------


def _review(task: TaskScratchpad) -> TaskScratchpad | None:
    """Of a stored sub-task what no log holds: notes, verdicts, runs that failed; None when there is
    nothing of it."""
    verdicts = tuple(one for one in task.validations if one.by == "qa")
    if not (task.notes or verdicts or task.retries or task.promoted):
        return None
    return TaskScratchpad(
        task.name,
        task.first_step,
        task.last_step,
        edit_count=task.edit_count,
        last_edit_step=task.last_edit_step,
        retries=task.retries,
        dead_ends=task.dead_ends,
        validations=verdicts,
        notes=task.notes,
        promoted=task.promoted,
    )


def _with_review(
    found: TaskScratchpad, known: TaskScratchpad, *, is_changed: bool
) -> TaskScratchpad:
    verdicts = [one for one in known.validations if one.by == "qa"]
    validations = sorted(
        (*found.validations, *verdicts), key=lambda one: (one.step, one.by == "qa")
    )
    return replace(
        found,
        first_step=known.first_step if known.retries else found.first_step,
        retries=known.retries,
        validations=tuple(validations)[-t.MAX_VALIDATIONS :],
        notes=known.notes,
        promoted=known.promoted and not is_changed,
    )


def _last_change(task: TaskScratchpad) -> int:
    """The last step that calls for a review."""
    runs = [one.step for one in task.validations if one.by != "qa"]
    ends = [one.last_step for one in task.dead_ends]
    return max((task.last_edit_step, *runs, *ends, *(one.step for one in task.commits)))


# -- The signals of a sub-task --------------------------------------------------------------------


def _task(
    name: str | None, work: Sequence[SessionStep], given_up: Sequence[AbandonedApproach]
) -> TaskScratchpad:
    calls = [one for one in work if one.kind not in (*_SPOKEN, "decision", "dead_end")]
    edits = [one for one in calls if one.is_edit]
    decided = dict.fromkeys(shorten(one.what, limit=200) for one in work if one.kind == "decision")
    return TaskScratchpad(
        name,
        first_step=work[0].number if work else 0,
        last_step=max((one.number for one in work), default=0),
        last_edit_step=edits[-1].number if edits else 0,
        edit_count=sum(one.count for one in edits),
        tokens=sum(one.tokens for one in calls),
        files=_top(_files(calls), t.MAX_FILES, lambda f: (f.reads + f.edits, f.last_step)),
        pairs=_top(_pairs(calls), t.MAX_PAIRS, lambda p: (p.edited, p.count, p.step)),
        errors=_top(_errors(calls), t.MAX_ERRORS, lambda e: (e.count, e.last_step)),
        backtracks=_top(_backtracks(calls), t.MAX_BACKTRACKS, lambda b: (b.count, b.step)),
        dead_ends=tuple(given_up)[-t.MAX_DEAD_ENDS :],
        anomalies=_top(_anomalies(work), t.MAX_FILES, lambda d: (d.read_count, d.dwell_ms)),
        sequence=tuple(dict.fromkeys(_sequence(calls)))[: t.MAX_STEPS],
        commits=tuple(_commits(calls))[-t.MAX_COMMITS :],
        validations=tuple(_validations(calls))[-t.MAX_VALIDATIONS :],
        decisions=tuple(decided)[: t.MAX_DECISIONS],
    )


def _touches(calls: Sequence[SessionStep]) -> list[SessionStep]:
    """Files that were read or edited."""
    return [
        one
        for one in calls
        if (one.is_edit or (one.kind == "read" and one.ok and not one.command))
        and len(one.what) <= _MAX_PATH_CHARS
    ]


def _files(calls: Sequence[SessionStep]) -> list[FileAccess]:
    found: dict[str, FileAccess] = {}
    for one in _touches(calls):
        known = found.get(one.what) or FileAccess(one.what, 0, 0, one.number, one.number)
        found[one.what] = replace(
            known,
            reads=known.reads + (0 if one.is_edit else one.count),
            edits=known.edits + (one.count if one.is_edit else 0),
            last_step=one.number,
        )
    return list(found.values())


def _pairs(calls: Sequence[SessionStep]) -> list[CoAccess]:
    """Files that the same agent used within a few steps."""
    found: dict[tuple[str, str], CoAccess] = {}
    touches = _touches(calls)
    for number, one in enumerate(touches):
        near: dict[str, SessionStep] = {}
        for other in touches[:number][::-1]:
            if one.number - other.number > t.CO_ACCESS_STEPS:
                break
            known = near.get(other.what)
            if other.agent == one.agent and other.what != one.what:
                near[other.what] = other if known is None or not known.is_edit else known
        for other in near.values():
            pair = _pair(one, other)
            key = (pair.file_a, pair.file_b)
            found[key] = _both(found[key], pair) if key in found else pair
    return list(found.values())


def _pair(one: SessionStep, other: SessionStep) -> CoAccess:
    file_a, file_b = sorted((one.what, other.what))
    return CoAccess(
        file_a,
        file_b,
        count=1,
        a_first=int(other.what == file_a),
        step_delta=one.number - other.number,
        time_delta_ms=max(0, one.at_ms - other.at_ms),
        edited=one.is_edit or other.is_edit,
        step=one.number,
        both_edited=one.is_edit and other.is_edit,
    )


def _both(known: CoAccess, again: CoAccess) -> CoAccess:
    return replace(
        again,
        count=known.count + 1,
        a_first=known.a_first + again.a_first,
        step_delta=min(known.step_delta, again.step_delta),
        time_delta_ms=min(known.time_delta_ms, again.time_delta_ms),
        edited=known.edited or again.edited,
        both_edited=known.both_edited or again.both_edited,
    )


def _errors(calls: Sequence[SessionStep]) -> list[ErrorRetry]:
    """Errors by signature, and the line as it was typed that ran with success after them. A test
    that fails while it is worked on is work in progress and counts once."""
    found: dict[str, ErrorRetry] = {}
    for one in calls:
        command = _main(one)
        if command is None:
            continue
        if one.ok:
            for key, error in found.items():
                if error.resolved_how is None and _is_retry(error, one.what):
                    found[key] = replace(error, resolved_how=one.typed)
        elif one.error and _names_cause(one, command):
            subject = shorten(" ".join(command.subject.split()), limit=_SUBJECT_CHARS)
            of_test = f"{one.names[0]}: " if one.names else ""
            key = error_signature(f"{subject}: {of_test}", one.error)
            known = found.get(key)
            count = known.count if known else 0
            found[key] = ErrorRetry(
                key,
                subject,
                shorten(one.error, limit=160),
                1 if one.purpose == "test" else count + one.count,
                known.first_step if known else one.number,
                one.number,
                one.what,
                in_progress=one.purpose in ("test", "check"),
            )
    return list(found.values())


def _names_cause(step: SessionStep, command: ShellCommand) -> bool:
    """Whether the error says what is wrong here: not with a state of git, nor in what others
    wrote."""
    is_lasting = not any(changes_git_state(one.words) for one in parse_command(step.command))
    is_own = is_lasting and not prints_others(command)
    return is_own and is_informative(step.error or "", command=command.call)


def _is_retry(error: ErrorRetry, worked: str) -> bool:
    """Whether a command repeats what failed: the same words but for options, or the same tests."""
    failed, now = _words(error.command or ""), _words(worked)
    return failed == now or (error.in_progress and worked.startswith(error.tool))


def _words(command: str) -> list[str]:
    return [word for word in command.split() if not word.startswith("-")]


def _backtracks(calls: Sequence[SessionStep]) -> list[Backtrack]:
    """Edits of what was written a few steps ago, after something else happened."""
    found: dict[str, Backtrack] = {}
    for number, one in enumerate(calls):
        for at in range(number - 1, -1, -1) if one.is_edit else ():
            before = calls[at]
            within = one.number - before.number
            if within > t.RE_EDIT_STEPS:
                break
            if within > 0 and before.is_edit and _is_redone(before, one):
                for cause, files, hint in _causes(one.what, calls[at + 1 : number]):
                    back = Backtrack(one.what, within, cause, 1, one.number, files, hint)
                    found[backtrack_subject(back)] = back
                break
    return list(found.values())


def _is_redone(before: SessionStep, again: SessionStep) -> bool:
    if before.what != again.what:
        return False
    names = {name[1:] for name in before.names} & {name[1:] for name in again.names}
    written, replaced = before.mark.rpartition(">")[2], again.mark.partition(">")[0]
    return bool(names) or bool(written and written == replaced)


def _causes(
    path: str, between: Sequence[SessionStep]
) -> Iterator[tuple[BacktrackCause, tuple[str, ...], str | None]]:
    """Why an edit was redone: what was edited, what failed or what was read in between."""
    others = dict.fromkeys(one.what for one in between if one.is_edit and one.what != path)
    failed = [one for one in between if one.kind == "run" and not one.ok]
    read = [one.what for one in _touches(between) if one.what != path]
    for other in list(others)[:_MAX_CASCADE]:
        yield "cascading_change", (other,), None
    if not others and failed and failed[-1].error:
        yield "wrong_assumption", (), shorten(failed[-1].error, limit=160)
    if not others and not failed and read:
        yield "missing_context", (read[-1],), None


def backtrack_subject(back: Backtrack) -> str:
    """The identity of a backtrack: its cause, its file, and the clue."""
    clue = error_signature("", back.hint) if back.hint else "\n".join(back.files)
    return f"{back.cause}\n{back.path}\n{clue}"


def _anomalies(work: Sequence[SessionStep]) -> list[TimeAnomaly]:
    """Time spent on each file, and how often the same part of it was read. After a compaction the
    agent has lost what it read: reading it again is no signal."""
    found: dict[str, TimeAnomaly] = {}
    pages = set[tuple[str | None, str, str]]()
    last: SessionStep | None = None
    for one in work:
        if one.kind == "compaction":
            pages.clear()
        for touch in _touches([one]):
            if last is not None and last.agent == touch.agent:
                spent = touch.at_ms - last.at_ms
                if 0 < spent <= t.MAX_DWELL_MS:
                    known = found.get(last.what) or TimeAnomaly(last.what, 0, 1)
                    found[last.what] = replace(known, dwell_ms=known.dwell_ms + spent)
            last = touch
            page = (touch.agent, touch.what, touch.mark)
            again = touch.count - 1 + (page in pages)
            if touch.kind == "read" and touch.mark and again:
                known = found.get(touch.what) or TimeAnomaly(touch.what, 0, 1)
                found[touch.what] = replace(known, read_count=known.read_count + again)
            pages.add(page)
    return list(found.values())


def _sequence(calls: Sequence[SessionStep]) -> Iterator[SequenceStep]:
    """Edits by folder and suffix, and commands that worked by subject."""
    for one in calls:
        command = _main(one)
        if one.is_edit:
            folder, suffix = PurePosixPath(one.what).parent, PurePosixPath(one.what).suffix
            scope = f"*{suffix}" if str(folder) == "." else f"{folder}/*{suffix}"
            yield SequenceStep("edit", scope, one.what)
        elif command is not None and one.ok:
            yield SequenceStep("run", command.subject, one.what)


def _commits(calls: Sequence[SessionStep]) -> list[SessionCommit]:
    found: list[SessionCommit] = []
    edits, count = list[str](), 0
    for one in calls:
        if one.is_edit:
            edits.append(one.what)
            count += one.count
        if one.kind == "run" and one.ok and found and _UNDOES_COMMIT.search(one.command):
            found[-1] = replace(found[-1], undone=True)
        if one.is_commit:
            subject = shorten(one.said.partition("\n")[0], limit=120)
            files = one.files or tuple(dict.fromkeys(edits))
            found.append(SessionCommit(one.sha, subject, one.number, files[:40], False, count))
            edits = []
    return found


def _validations(calls: Sequence[SessionStep]) -> Iterator[Validation]:
    """Tests, CI runs and checks that passed or failed."""
    edits = 0
    for one in calls:
        edits += one.count if one.is_edit else 0
        proof = _proof(parse_command(one.command)) if one.kind == "run" else None
        if proof is not None:
            command, by = proof
            detail = shorten(command.call, limit=80)
            verdict = "passed" if one.ok else "failed"
            yield Validation(verdict, by, detail, one.number, one.at_ms, edits)


def _proof(commands: Sequence[ShellCommand]) -> tuple[ShellCommand, ValidationSource] | None:
    for command in reversed(commands):
        if _CI.match(command.call):
            return command, "ci"
        if command.purpose is Purpose.TEST:
            return command, "test"
    checks = [command for command in commands if command.purpose is Purpose.CHECK]
    return (checks[-1], "check") if checks else None


def _main(step: SessionStep) -> ShellCommand | None:
    return main_command(parse_command(step.command)) if step.kind == "run" else None


def _top(
    signals: Iterable[_Signal], most: int, rank: Callable[[_Signal], tuple[int, ...]]
) -> tuple[_Signal, ...]:
    """The signals of highest rank, in the order in which they came."""
    values = list(signals)
    if len(values) <= most:
        return tuple(values)
    kept = sorted(range(len(values)), key=lambda n: rank(values[n]), reverse=True)[:most]
    return tuple(values[n] for n in sorted(kept))
