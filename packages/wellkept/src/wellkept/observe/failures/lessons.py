"""Keep ways out as memories, and find the one for a new failure.

One memory for each failure of a command form. The same success again confirms it; another success
replaces it, because the newest outcome wins; a remedy that fails is closed. A success is the proof:
no commit and no review is needed to offer a way out at the same failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import blake2b

from wellkept.core.changes import Close
from wellkept.core.memory import Evidence, Memory, MemoryDraft
from wellkept.core.payloads import ErrorPattern
from wellkept.core.query import Filter, Order
from wellkept.core.records import record, replace
from wellkept.core.text import shorten
from wellkept.core.types import EvidenceKind, MemoryType, Source
from wellkept.memory.engine import Engine
from wellkept.memory.remember import RememberResult, remember
from wellkept.observe.failures.intent import Change
from wellkept.observe.failures.matching import (
    fit,
    has_remedy,
    is_same_failure,
    is_same_form,
    is_same_lesson,
    plain_cause,
    signature,
)
from wellkept.observe.failures.way_out import WayOut
from wellkept.text.events.failure_cause import failed_command, is_nothing_ran, is_setup_cause
from wellkept.text.shell.reader import ShellCommand, main_command, parse_command

TAG = "way-out"
_MAX_LESSONS = 500
_IMPORTANCE = 0.6
_CAUSE_CHARS = 160
_MAX_VALUES = 6
_SHORT_VALUE = 3
_QUOTED_PATH = re.compile(r"'[^']*/[^']*'")


@record
class KnownWayOut:
    """A way out that fits a failure: its memory, and the command to run instead."""

    memory: Memory
    way_out: WayOut
    command: str

    @property
    def sessions(self) -> int:
        """How many sessions have shown it."""
        return max(1, len(set(self.memory.provenance_sessions)))

    @property
    def worked_at(self) -> datetime:
        """When it was last seen to work."""
        times = [one.at for one in self.memory.evidence if one.at is not None]
        return max(times, default=self.memory.valid_from)


def save_way_out(
    engine: Engine, way_out: WayOut, *, project: str, session_id: str, at: datetime
) -> RememberResult | None:
    """Keep a way out, confirm it, or put it in the place of an older one. None when a newer
    success is known already, as when old transcripts are imported."""
    known = engine.store.find_key(lesson_key(way_out), project=project, user_scope=False)
    if known is not None and KnownWayOut(known, way_out, "").worked_at > at:
        return None
    way_out = _confirmed(way_out, _way_out_of(known) if known is not None else None)
    return remember(
        engine,
        MemoryDraft(
            content=describe(way_out),
            type=MemoryType.ERROR_PATTERN,
            key=lesson_key(way_out),
            tags=(TAG, program_of(way_out)),
            importance=_IMPORTANCE,
            source=Source.OBSERVER_INFERRED,
            session_id=session_id,
            needs_review=True,
            evidence=(Evidence(EvidenceKind.SESSION, session_id[:500], at=at),),
            payload=ErrorPattern(
                error=way_out.cause,
                fix=way_out.worked,
                tool=program_of(way_out),
                command=way_out.failed,
                worked=way_out.worked,
                change=way_out.change.value,
                removed=way_out.old,
                added=way_out.new,
            ),
            valid_from=at,
        ),
        project=project,
        merge_similar=False,
    )


def _confirmed(way_out: WayOut, before: WayOut | None) -> WayOut:
    """The known wording when the lesson is the same, so that this success confirms it."""
    if before is None or not is_same_lesson(before, way_out):
        return way_out
    if way_out.change is not Change.VALUE:
        return before
    # All values that failed behind one name belong to one lesson.
    values = dict.fromkeys((*before.old[1:], *way_out.old[1:]))
    return replace(before, old=(way_out.old[0], *tuple(values)[-_MAX_VALUES:]))


def find_way_outs(
    engine: Engine, *, project: str, command: str, cause: str, folder: str | None = None
) -> Iterator[KnownWayOut]:
    """Ways out for a command line that failed with this cause, newest proof first. `folder` is
    where it ran, from the project's root."""
    commands = parse_command(command)
    failed = failed_command(commands, cause) or (commands[-1] if commands else None)
    if failed is None:
        return
    known: list[KnownWayOut] = []
    for memory, way_out in stored_way_outs(engine, project=project):
        # A wrong value tells by itself, also when the error is that of a pipe's last command.
        tried = commands if way_out.change is Change.VALUE else (failed,)
        for one in tried:
            if not is_same_failure(way_out, one, cause) or has_remedy(way_out, one):
                continue
            if way_out.change is Change.FOLDER and not _may_be_elsewhere(way_out, folder, cause):
                continue
            known.append(KnownWayOut(memory, way_out, fit(way_out, one)))
            break
    yield from sorted(known, key=lambda one: one.worked_at, reverse=True)


def known_to_fail(engine: Engine, *, project: str, command: str) -> Iterator[KnownWayOut]:
    """Ways out for the form of a command that is about to run, whatever the cause was."""
    commands = parse_command(command)
    about_to_run = main_command(commands) or (commands[-1] if commands else None)
    if about_to_run is None:
        return
    for memory, way_out in stored_way_outs(engine, project=project):
        if is_same_form(way_out, about_to_run) and not has_remedy(way_out, about_to_run):
            yield KnownWayOut(memory, way_out, fit(way_out, about_to_run))


def stored_way_outs(engine: Engine, *, project: str) -> Iterator[tuple[Memory, WayOut]]:
    """Every way out that is believed now, newest first."""
    where = Filter(project=project, types=(MemoryType.ERROR_PATTERN,), tags=(TAG,), stale=False)
    for memory in engine.store.list(where, order=Order.UPDATED, limit=_MAX_LESSONS).items:
        way_out = _way_out_of(memory)
        if way_out is not None:
            yield memory, way_out


def close_failed_remedies(
    engine: Engine, *, project: str, failures: Sequence[tuple[ShellCommand, str]]
) -> list[Memory]:
    """Close the ways out that tell to run one of these commands, which have just failed."""
    if not failures:
        return []
    closed = [
        memory
        for memory, way_out in stored_way_outs(engine, project=project)
        if any(_is_remedy(way_out, command, cause) for command, cause in failures)
    ]
    now = engine.clock()
    engine.store.apply(
        [Close(one.id, max(now, one.valid_from), None, one.updated_at) for one in closed]
    )
    return closed


def after_failure_text(known: KnownWayOut) -> str:
    """What to say when the failure has happened again."""
    way_out, when = known.way_out, _when(known)
    match way_out.change:
        case Change.SETUP:
            steps = ", then ".join(f"`{step}`" for step in way_out.new)
            return f"After the same error it worked again after {steps} ({when})."
        case Change.REMOVAL:
            return (
                f"Not caused by your change: the error lies in left-overs in `{way_out.old[0]}`. It"
                f" passed once they were gone ({when}). They may be in use: ask before removing"
                " them."
            )
        case Change.REPEAT:
            stepped_in = ", once the user had stepped in" if way_out.new else ""
            return f"After this error the same command worked when repeated{stepped_in} ({when})."
        case Change.VALUE:
            name, *wrong = way_out.old
            failed = ", ".join(f"`{value}`" for value in wrong)
            return (
                f"Wrong `{name}`: {failed} failed here before"
                f" ({shorten(way_out.cause, limit=_CAUSE_CHARS)}); it works with"
                f" `{way_out.new[0]}` ({when})."
            )
        case Change.COMMAND if is_nothing_ran(way_out.cause):
            return f"No test ran. Worked after the same: `{known.command}` ({when})."
        case _:
            return f"Worked after the same error: `{known.command}` ({when})."


def before_run_text(known: KnownWayOut) -> str:
    """What to say before a command is run in a form that is known to fail."""
    way_out, when = known.way_out, _when(known)
    if way_out.change is Change.VALUE:
        return after_failure_text(known)
    cause = shorten(way_out.cause, limit=_CAUSE_CHARS)
    return f"`{way_out.failed}` failed here ({cause}); worked instead: `{known.command}` ({when})."


def _when(known: KnownWayOut) -> str:
    day = known.worked_at.date().isoformat()
    return f"{known.sessions} sessions, last {day}" if known.sessions > 1 else day


def describe(way_out: WayOut) -> str:
    """The lesson in one sentence, without dates."""
    cause = shorten(way_out.cause, limit=_CAUSE_CHARS)
    why = f" ({cause})" if cause else ""
    match way_out.change:
        case Change.SETUP:
            steps = ", ".join(f"`{step}`" for step in way_out.new)
            return f"`{way_out.failed}` fails{why}. It worked after {steps}."
        case Change.REMOVAL:
            return (
                f"`{way_out.failed}` fails{why} while left-overs lie in `{way_out.old[0]}`. It"
                " passed once they were gone; they may be in use, so ask before removing them."
            )
        case Change.REPEAT:
            stepped_in = ", once the user had stepped in" if way_out.new else ""
            return (
                f"`{way_out.failed}` fails now and then{why}. The same command worked when"
                f" repeated{stepped_in}."
            )
        case Change.FOLDER:
            where = "the project root" if way_out.new[0] == "." else f"`{way_out.new[0]}`"
            line, cause = _without_targets(way_out.failed), _QUOTED_PATH.sub("'…'", cause)
            return f"`{line}` fails elsewhere ({cause}): run it from {where}."
        case Change.WRAPPER if way_out.old and not way_out.new:
            wrapper, size = " ".join(way_out.old), len(way_out.old)
            behind = " ".join(way_out.failed.split()[size : size + 1])
            return f"No `{wrapper}` before `{behind}`{why}. Worked instead: `{way_out.worked}`."
        case Change.PROGRAM:
            old, new = (" ".join(words) for words in (way_out.old, way_out.new))
            return f"`{old}` fails{why}. `{new}` works."
        case Change.VALUE:
            wrong = ", ".join(f"`{value}`" for value in way_out.old[1:])
            return (
                f"`{program_of(way_out)}` fails with `{way_out.old[0]}` {wrong}{why}. It works with"
                f" `{way_out.new[0]}`."
            )
        case _:
            return f"`{way_out.failed}` fails{why}. Worked instead: `{way_out.worked}`."


def _may_be_elsewhere(way_out: WayOut, folder: str | None, cause: str) -> bool:
    """Whether a command can have failed for its folder. A path that does not exist says nothing
    when the folder is not known."""
    if folder is None:
        return "pathspec" not in cause
    return (folder or ".") != way_out.new[0]


def _without_targets(line: str) -> str:
    """A command line up to the first file that it names."""
    words = line.split()
    first = next((n for n, word in enumerate(words) if n and "/" in word), len(words))
    return " ".join(words[:first]) if first > 1 else line


def lesson_key(way_out: WayOut) -> str:
    """Names the memory of a lesson."""
    return f"{TAG}:{blake2b(signature(way_out).encode(), digest_size=8).hexdigest()}"


def program_of(way_out: WayOut) -> str:
    """The program that failed."""
    commands = parse_command(way_out.failed)
    command = main_command(commands) or (commands[-1] if commands else None)
    return shorten(command.words[0], limit=60) if command else "shell"


def _way_out_of(memory: Memory) -> WayOut | None:
    kept = memory.payload
    if not isinstance(kept, ErrorPattern) or kept.command is None or kept.worked is None:
        return None
    if kept.change not in set(Change):
        return None
    return WayOut(
        failed=kept.command,
        cause=kept.error,
        worked=kept.worked,
        change=Change(kept.change),
        old=kept.removed,
        new=kept.added,
    )


def _names_remedy(cause: str, way_out: WayOut) -> bool:
    """Whether an error speaks of a value that the way out gives: "region us-old was retired"."""
    values = [one.rpartition("=")[2] for one in way_out.new]
    return any(len(value) > _SHORT_VALUE and value in cause for value in values)


def _is_remedy(way_out: WayOut, command: ShellCommand, cause: str) -> bool:
    """Whether a failed command is what a way out tells to run. Without a wrapper or in another
    folder a command can fail for many reasons; only the same cause speaks against those."""
    if way_out.change in (Change.SETUP, Change.REPEAT, Change.REMOVAL, Change.VALUE):
        return False
    if not is_setup_cause(cause) and not _names_remedy(cause, way_out):
        return False
    if way_out.change in (Change.WRAPPER, Change.FOLDER, Change.PROGRAM) and (
        plain_cause(cause) != plain_cause(way_out.cause)
    ):
        return False
    worked = main_command(parse_command(way_out.worked))
    return (
        worked is not None
        and (worked.call, worked.environment) == (command.call, command.environment)
        and (worked.folder or "") == (command.folder or "")
    )
