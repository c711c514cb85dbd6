"""What a session shows, as signals: one for each kind and subject, folded from its work.

What several sessions show is learned in `observe.learning`. Signals from inside an abandoned
approach are left out; the dead end itself is one. Invariant: the same work always gives the same
signals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import TypeAlias

from wellkept.core.code_modules import module_of
from wellkept.core.codec import Json
from wellkept.core.ids import digest
from wellkept.core.session.scratchpad import SessionSignal, SignalKind, pair_subject
from wellkept.core.session.steps import SessionStep
from wellkept.core.text import content_words, shorten
from wellkept.core.types import MemoryType
from wellkept.observe import thresholds as t
from wellkept.observe.signals.dead_ends import AbandonedApproach
from wellkept.observe.signals.work import Task, Work
from wellkept.text.events.failure_cause import prints_others
from wellkept.text.shell.purpose import Purpose, changes_git_state
from wellkept.text.shell.reader import ShellCommand, main_command, parse_command
from wellkept.text.shell.results import error_signature, is_informative

_MAX_CHARS = 400
_MAX_CASCADE = 3
_SUBJECT_CHARS = 60
_Tasks: TypeAlias = Sequence[Task]
_Seen: TypeAlias = tuple[str, int, str, dict[str, Json]]
"""Subject, how often, module and details of one signal."""


def session_signals(
    work: Work, tasks: _Tasks, *, kinds: Sequence[SignalKind] = ()
) -> tuple[SessionSignal, ...]:
    """The signals of some sub-tasks of a session; without `kinds` all of them."""
    found: list[SessionSignal] = []
    for kind in kinds or FOLDED:
        fold, most = _FOLDS[kind]
        signals = {
            subject[:_MAX_CHARS]: SessionSignal(
                project=work.pad.project,
                kind=kind,
                subject=subject[:_MAX_CHARS],
                session_id=work.pad.session_id,
                at=work.at,
                count=max(1, count),
                module=module,
                detail=detail or None,
            )
            for subject, count, module, detail in fold(work, tasks)
        }
        often = sorted(signals, key=lambda subject: -signals[subject].count)[:most]
        found += [signals[subject] for subject in signals if subject in {*often}]
    return tuple(found)


def touches(steps: Sequence[SessionStep]) -> list[SessionStep]:
    """Files that were read or edited."""
    return [
        one
        for one in steps
        if (one.is_edit or (one.kind == "read" and one.ok and not one.command))
        and len(one.what) <= _MAX_CHARS
    ]


# -- Files ----------------------------------------------------------------------------------------


def _files(_: Work, tasks: _Tasks) -> Iterator[_Seen]:
    """Reads and edits of each file, with the steps of its first and last use."""
    used: dict[str, list[SessionStep]] = {}
    for one in (one for task in tasks for one in touches(task.steps)):
        used.setdefault(one.what, []).append(one)
    for path, mine in used.items():
        reads = sum(one.count for one in mine if not one.is_edit)
        edits = sum(one.count for one in mine if one.is_edit)
        detail: dict[str, Json] = {"reads": reads, "edits": edits}
        detail |= {"first_step": mine[0].number, "last_step": mine[-1].number}
        yield path, reads + edits, module_of(path), detail


def _pairs(_: Work, tasks: _Tasks) -> Iterator[_Seen]:
    """Files that the same agent used within a few steps."""
    found: dict[str, list[tuple[SessionStep, SessionStep]]] = {}
    for task in tasks:
        used = touches(task.steps)
        for number, one in enumerate(used):
            near: dict[str, SessionStep] = {}
            for other in used[:number][::-1]:
                if one.number - other.number > t.CO_ACCESS_STEPS:
                    break
                known = near.get(other.what)
                if other.agent == one.agent and other.what != one.what:
                    near[other.what] = other if known is None or not known.is_edit else known
            for other in near.values():
                subject = pair_subject(one.what, other.what)
                if not _is_abandoned(task, one.number, subject.partition("\n")[0]):
                    found.setdefault(subject, []).append((other, one))
    for subject, pairs in found.items():
        file_a = subject.partition("\n")[0]
        detail: dict[str, Json] = {
            "edited": any(one.is_edit or other.is_edit for one, other in pairs),
            "both": any(one.is_edit and other.is_edit for one, other in pairs),
            "a_first": sum(first.what == file_a for first, _ in pairs),
            "step_delta": min(then.number - first.number for first, then in pairs),
            "time_delta_ms": min(max(0, then.at_ms - first.at_ms) for first, then in pairs),
        }
        yield subject, len(pairs), module_of(file_a), detail


def _anomalies(_: Work, tasks: _Tasks) -> Iterator[_Seen]:
    """Files of which the same part was read again and again and that were never edited, with the
    time spent on them. After a compaction the agent has lost what it read."""
    reads, dwell = Counter[str](), Counter[str]()
    for task in tasks:
        pages = set[tuple[str | None, str, str]]()
        last: SessionStep | None = None
        for one in task.steps:
            if one.kind == "compaction":
                pages.clear()
            if not touches([one]):
                continue
            spent = one.at_ms - last.at_ms if last is not None and last.agent == one.agent else 0
            if last is not None and 0 < spent <= t.MAX_DWELL_MS:
                dwell[last.what] += spent
            last, page = one, (one.agent, one.what, one.mark)
            if one.kind == "read" and one.mark:
                reads[one.what] += one.count - 1 + (page in pages)
            pages.add(page)
    edited = {one.what for task in tasks for one in task.edits}
    for path, again in reads.items():
        if again + 1 >= t.CONFUSING_READS and path not in edited:
            detail: dict[str, Json] = {"reads": again + 1, "dwell_ms": dwell[path]}
            yield path, again + 1, module_of(path), detail


def _sequences(work: Work, tasks: _Tasks) -> Iterator[_Seen]:
    """Edits by folder and suffix, and commands that worked by subject, under the module with the
    most edits."""
    steps = list(islice(dict.fromkeys(one for task in tasks for one in _taken(task)), t.MAX_STEPS))
    modules = [module_of(what) for tool, _, what in steps if tool == "edit"]
    if len(steps) >= t.RECIPE_STEPS and modules:
        module = max(dict.fromkeys(modules), key=modules.count)
        listed: list[Json] = [list[Json](one) for one in steps]
        yield module, 1, module, {"steps": listed, "request": work.request}


def _taken(task: Task) -> Iterator[tuple[str, str, str]]:
    """Tool, scope, and the exact file or command."""
    for one in task.calls:
        command = _main(one)
        if one.is_edit:
            folder, suffix = PurePosixPath(one.what).parent, PurePosixPath(one.what).suffix
            yield "edit", f"*{suffix}" if str(folder) == "." else f"{folder}/*{suffix}", one.what
        elif command is not None and one.ok:
            # As it was typed, or it could not be run again; what is committed differs each time.
            line = one.what if command.purpose is Purpose.COMMIT else one.from_root
            if line is not None:
                yield "run", command.subject, line


# -- Errors and returns ---------------------------------------------------------------------------


def _errors(_: Work, tasks: _Tasks) -> Iterator[_Seen]:
    """Errors by signature, and the line as it was typed that ran with success after them. A test
    that fails while it is worked on is work in progress and counts once."""
    found: dict[str, tuple[int, dict[str, Json]]] = {}
    for one in (one for task in tasks for one in task.calls):
        command = _main(one)
        if command is None:
            continue
        if one.ok:
            for _times, error in found.values():
                if error["resolved"] is None and _is_retry(error, one.what):
                    error["resolved"] = one.typed
        elif one.error and _names_cause(one, command):
            tool = shorten(" ".join(command.subject.split()), limit=_SUBJECT_CHARS)
            of_test = f"{one.names[0]}: " if one.names else ""
            key = error_signature(f"{tool}: {of_test}", one.error)
            times = 1 if one.purpose == "test" else found.get(key, (0,))[0] + one.count
            found[key] = (
                times,
                {
                    "tool": tool,
                    "message": shorten(one.error, limit=160),
                    "command": one.what,
                    "resolved": None,
                    "in_progress": one.purpose in ("test", "check"),
                },
            )
    for key, (times, detail) in found.items():
        yield key, times, "", detail


def open_errors(work: Work) -> list[str]:
    """The errors that no later command ended."""
    seen = _errors(work, work.tasks)
    return [str(detail["message"]) for _, _, _, detail in seen if detail["resolved"] is None]


def _names_cause(step: SessionStep, command: ShellCommand) -> bool:
    """Whether the error says what is wrong here: not with a state of git, nor in what others
    wrote."""
    is_lasting = not any(changes_git_state(one.words) for one in parse_command(step.command))
    is_own = is_lasting and not prints_others(command)
    return is_own and is_informative(step.error or "", command=command.call)


def _is_retry(error: dict[str, Json], worked: str) -> bool:
    """Whether a command repeats what failed: the same words but for options, or the same tests."""
    failed, now = (
        [word for word in line.split() if not word.startswith("-")]
        for line in (str(error["command"]), worked)
    )
    return failed == now or (error["in_progress"] is True and worked.startswith(str(error["tool"])))


def _backtracks(_: Work, tasks: _Tasks) -> Iterator[_Seen]:
    """Edits of what was written a few steps ago, after something else happened."""
    for task in tasks:
        calls = task.calls
        for number, one in enumerate(calls):
            if not one.is_edit or _is_abandoned(task, one.number, one.what):
                continue
            for at in range(number - 1, -1, -1):
                within = one.number - calls[at].number
                if within > t.RE_EDIT_STEPS:
                    break
                if within > 0 and calls[at].is_edit and _is_redone(calls[at], one):
                    yield from _returns(one.what, within, calls[at + 1 : number])
                    break


def _is_redone(before: SessionStep, again: SessionStep) -> bool:
    if before.what != again.what:
        return False
    names = {name[1:] for name in before.names} & {name[1:] for name in again.names}
    written, replaced = before.mark.rpartition(">")[2], again.mark.partition(">")[0]
    return bool(names) or bool(written and written == replaced)


def _returns(path: str, within: int, between: Sequence[SessionStep]) -> Iterator[_Seen]:
    """Why an edit was redone: what was edited, what failed or what was read in between. Its
    subject is cause, file and clue."""
    others = dict.fromkeys(one.what for one in between if one.is_edit and one.what != path)
    failed = [one for one in between if one.kind == "run" and not one.ok]
    read = [one.what for one in touches(between) if one.what != path]
    found = [("cascading_change", other, "") for other in list(others)[:_MAX_CASCADE]]
    if not others and failed and failed[-1].error:
        found = [("wrong_assumption", "", shorten(failed[-1].error, limit=160))]
    elif not others and not failed and read:
        found = [("missing_context", read[-1], "")]
    for cause, file, hint in found:
        detail: dict[str, Json] = {"path": path, "cause": cause, "within_steps": within}
        detail |= {"files": [file] if file else [], "hint": hint or None}
        clue = error_signature("", hint) if hint else file
        yield f"{cause}\n{path}\n{clue}", 1, module_of(path), detail


def _dead_ends(work: Work, tasks: _Tasks) -> Iterator[_Seen]:
    for end in (end for task in tasks for end in task.dead_ends):
        yield (
            _dead_end_subject(end),
            1,
            "",
            {
                "approach": end.approach,
                "why": end.why,
                "instead": end.alternative,
                "context": work.request,
                "files": list(end.files),
                "steps": end.last_step - end.first_step,
                "said": end.said,
            },
        )


def _dead_end_subject(end: AbandonedApproach) -> str:
    """Dead ends are equal by their words if the agent stated them, else by the files undone."""
    words = " ".join(sorted(set(content_words(end.approach)))) if end.said else ""
    files = "\n".join(sorted(end.files)) if not end.said else ""
    return digest(words or files or end.approach)


# -- Notes and costs ------------------------------------------------------------------------------


def _notes(_: Work, tasks: _Tasks) -> Iterator[_Seen]:
    for note in (note for task in tasks for note in task.review.notes if not note.by_person):
        kind = note.type if note.type in set(MemoryType) else "fact"
        detail: dict[str, Json] = {"content": note.content, "type": kind, "files": [*note.files]}
        yield " ".join(content_words(note.content)) or note.content, 1, "", detail


def _costs(_: Work, tasks: _Tasks) -> Iterator[_Seen]:
    """Token cost, divided among modules by file use."""
    usage = _usage(tasks)
    tokens = sum(one.tokens for task in tasks for one in task.calls)
    for module, count in usage.items():
        if share := tokens * count // usage.total():
            yield module, share, module, {}


def _calibration(work: Work, tasks: _Tasks) -> Iterator[_Seen]:
    """Planned against actual steps, under the module that was used most."""
    usage, plan = _usage(tasks), work.plan
    if plan.planned and plan.done and usage:
        module = max(usage, key=lambda name: (usage[name], name))
        yield module, 1, module, {"planned": plan.planned, "actual": plan.done}


def _usage(tasks: _Tasks) -> Counter[str]:
    usage = Counter[str]()
    for one in (one for task in tasks for one in touches(task.steps)):
        usage[module_of(one.what)] += one.count
    return usage


def _is_abandoned(task: Task, step: int, path: str) -> bool:
    """Whether a step belongs to an abandoned approach."""
    return any(
        end.first_step <= step <= end.last_step and path in end.files for end in task.dead_ends
    )


def _main(step: SessionStep) -> ShellCommand | None:
    return main_command(parse_command(step.command)) if step.kind == "run" else None


_FOLDS: dict[SignalKind, tuple[Callable[[Work, _Tasks], Iterator[_Seen]], int]] = {
    SignalKind.FILE_ACCESS: (_files, t.MAX_FILES),
    SignalKind.CO_ACCESS: (_pairs, t.MAX_PAIRS),
    SignalKind.TIME_ANOMALY: (_anomalies, t.MAX_FILES),
    SignalKind.ERROR_RETRY: (_errors, t.MAX_ERRORS),
    SignalKind.BACKTRACK: (_backtracks, t.MAX_BACKTRACKS),
    SignalKind.DEAD_END: (_dead_ends, t.MAX_FILES),
    SignalKind.NOTE: (_notes, t.MAX_FILES),
    SignalKind.SEQUENCE: (_sequences, 1),
    SignalKind.CONTEXT_COST: (_costs, t.MAX_FILES),
    SignalKind.CALIBRATION: (_calibration, 1),
}
"""What is folded for each kind, and how many of it a session keeps."""
FOLDED = tuple(_FOLDS)
UNCONDITIONAL = (SignalKind.DEAD_END,)
"""Kinds that are valid even if the work failed."""
OF_READING = (SignalKind.FILE_ACCESS, SignalKind.CONTEXT_COST)
