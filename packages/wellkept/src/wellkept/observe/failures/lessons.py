"""Keep ways out as memories, and find the one for a new failure.

One memory for each failure of a command form. The same success again confirms it; another success
replaces it, because the newest outcome wins; a remedy that fails is closed. A success is the proof:
no commit and no review is needed to offer a way out at the same failure. `is_same_failure` says
whether a new failure is one that a way out is known for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.core.changes import Close
from wellkept.core.ids import digest
from wellkept.core.memory import Evidence, Memory, MemoryDraft
from wellkept.core.payloads import ErrorPattern
from wellkept.core.query import Filter, Order
from wellkept.core.records import record, replace
from wellkept.core.text import shorten
from wellkept.core.types import EvidenceKind, MemoryType, Source
from wellkept.memory.engine import Engine
from wellkept.observe.failures.intent import Change, form_words, raw_words, tool_position, value_of
from wellkept.observe.failures.way_out import WayOut
from wellkept.text.events.failure_cause import (
    absent_tool,
    failed_command,
    is_nothing_ran,
    is_setup_cause,
)
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand, main_command, parse_command

if TYPE_CHECKING:
    from wellkept.memory.remember import RememberResult
    from wellkept.observe.failures.command_records import CommandRun

_VARYING = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\d+(?:\.\d+)*", re.IGNORECASE)
_FOLDERS = re.compile(r"(?:[A-Za-z]:)?(?:[\w.@~-]*[/\\])+(?=[\w.@-])")
_SPEAKER = re.compile(r"^[a-z]+: ")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")

TAG = "way-out"
_MAX_LESSONS = 500
_IMPORTANCE = 0.6
_CAUSE_CHARS = 160
_RECURS_IN = 3
_MAX_VALUES = 6
_SHORT_VALUE = 3


@record
class KnownWayOut:
    """A way out that fits a failure: its memory, and whether the very same command failed then."""

    memory: Memory
    way_out: WayOut
    is_same_command: bool = True

    @property
    def sessions(self) -> int:
        """How many sessions have shown it."""
        return max(1, len(set(self.memory.provenance_sessions)))

    @property
    def as_warning(self) -> str:
        """What failed and what worked, each as typed, before it is run again. Not the error: what
        a program printed is no advice."""
        lines = ", then ".join(f"`{line}`" for line in self.way_out.lines)
        return f"`{self.way_out.failed}` failed in {self.sessions} sessions; worked: {lines}"

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
    from wellkept.memory.remember import remember

    known = engine.store.find_key(lesson_key(way_out), project=project, user_scope=False)
    if known is not None and KnownWayOut(known, way_out).worked_at > at:
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
                fix="\n".join(way_out.lines),
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
            known.append(KnownWayOut(memory, way_out, is_same_command(way_out, one)))
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
            yield KnownWayOut(memory, way_out, is_same_command(way_out, about_to_run))


def recurring(engine: Engine, *, project: str, lately: Sequence[str]) -> Iterator[KnownWayOut]:
    """Ways out that several sessions needed, two of them lately; those of most sessions first."""
    known = (KnownWayOut(*one) for one in stored_way_outs(engine, project=project))
    found = [
        one
        for one in known
        if one.sessions >= _RECURS_IN
        and len(set(lately).intersection(one.memory.provenance_sessions)) > 1
    ]
    yield from sorted(found, key=lambda one: -one.sessions)


def stored_way_outs(engine: Engine, *, project: str) -> Iterator[tuple[Memory, WayOut]]:
    """Every way out that is believed now, newest first."""
    where = Filter(project=project, types=(MemoryType.ERROR_PATTERN,), tags=(TAG,), stale=False)
    for memory in engine.store.list(where, order=Order.UPDATED, limit=_MAX_LESSONS).items:
        way_out = _way_out_of(memory)
        if way_out is not None:
            yield memory, way_out


def close_disproved(engine: Engine, runs: Sequence[CommandRun], *, project: str) -> list[Memory]:
    """Close the ways out that newer runs disprove: what they tell to run failed, or what failed
    then works again as it is."""
    if not runs:
        return []
    closed = [
        memory
        for memory, way_out in stored_way_outs(engine, project=project)
        if any(_disproves(run, KnownWayOut(memory, way_out)) for run in runs)
    ]
    now = engine.clock()
    engine.store.apply(
        [Close(one.id, max(now, one.valid_from), None, one.updated_at) for one in closed]
    )
    return closed


def _disproves(run: CommandRun, known: KnownWayOut) -> bool:
    if run.at <= known.worked_at:
        return False
    if not run.ok:
        cause, way_out = run.cause or "", known.way_out
        is_same_cause = plain_cause(cause) == plain_cause(way_out.cause)
        if run.line == way_out.lines[-1] and (is_same_cause or is_setup_cause(cause)):
            return True
        return _is_remedy(way_out, run.command, cause)
    # The same words work after a set-up step, in another folder, or by themselves.
    again = known.way_out.change not in (Change.SETUP, Change.REPEAT, Change.FOLDER)
    return again and run.command.exit_counts and is_same_command(known.way_out, run.command)


def told_text(known: KnownWayOut) -> str:
    """What worked then, as it was typed. For another command than the one that failed it is no more
    than that: it worked here."""
    lines = ", then ".join(f"`{line}`" for line in known.way_out.lines)
    said = "Worked after the same error" if known.is_same_command else "Worked here"
    day = known.worked_at.date().isoformat()
    seen = f"{known.sessions} sessions, last {day}" if known.sessions > 1 else day
    return f"{said}: {lines} (from the project's root, {seen})"


def describe(way_out: WayOut) -> str:
    """The lesson as a record: what failed, its error, and what worked, line by line."""
    return "\n".join((way_out.failed, shorten(way_out.cause, limit=_CAUSE_CHARS), *way_out.lines))


def _may_be_elsewhere(way_out: WayOut, folder: str | None, cause: str) -> bool:
    """Whether a command can have failed for its folder. A path that does not exist says nothing
    when the folder is not known."""
    if folder is None:
        return "pathspec" not in cause
    return (folder or ".") != way_out.new[0]


def lesson_key(way_out: WayOut) -> str:
    """Names the memory of a lesson."""
    return f"{TAG}:{digest(signature(way_out))}"


def program_of(way_out: WayOut) -> str:
    """The program that failed."""
    commands = parse_command(way_out.failed)
    command = main_command(commands) or (commands[-1] if commands else None)
    return shorten(command.words[0], limit=60) if command else "shell"


def _way_out_of(memory: Memory) -> WayOut | None:
    kept = memory.payload
    if not isinstance(kept, ErrorPattern) or kept.command is None or kept.worked is None:
        return None
    if kept.change not in set(Change) or not kept.fix:
        return None
    return WayOut(
        failed=kept.command,
        cause=kept.error,
        worked=kept.worked,
        change=Change(kept.change),
        old=kept.removed,
        new=kept.added,
        lines=tuple(kept.fix.split("\n")),
    )


def _names_remedy(cause: str, way_out: WayOut) -> bool:
    """Whether an error speaks of a value that the way out gives: "region us-old was retired"."""
    values = [one.rpartition("=")[2] for one in way_out.new]
    return any(len(value) > _SHORT_VALUE and value in cause for value in values)


def _is_remedy(way_out: WayOut, command: ShellCommand, cause: str) -> bool:
    """Whether a failed command is what a way out tells to run. Without a wrapper or in another
    folder a command can fail for many reasons; only the same cause speaks against those."""
    if way_out.change in (Change.SETUP, Change.REPEAT, Change.VALUE):
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


def signature(way_out: WayOut) -> str:
    """Names the lesson: the same failure of the same command form, whatever numbers and folders
    vary."""
    command = _known(way_out)
    form = " ".join(_short_names(form_words(command))) if command else way_out.failed
    program = command.words[0] if command else way_out.failed
    match way_out.change:
        case Change.VALUE:
            form = f"{program} {way_out.old[0]}"
            cause = _SPEAKER.sub("", plain_cause(way_out.cause, with_quoted=False))
        case Change.COMMAND if is_nothing_ran(way_out.cause):
            plain = [word for word in form.split() if not word.startswith("-")]
            form, cause = " ".join(plain), "nothing ran"
        case Change.REPEAT:
            form, cause = program, plain_cause(way_out.cause)
        case Change.FOLDER:
            cause = plain_cause(way_out.cause, with_quoted=False)
        case Change.PROGRAM if absent_tool(way_out.cause):
            form, cause = "absent", absent_tool(way_out.cause) or ""
        case _:
            cause = plain_cause(way_out.cause)
    return shorten(f"{form} | {cause}", limit=200)


def is_same_lesson(known: WayOut, other: WayOut) -> bool:
    """Whether two lessons of one signature say the same, so that the later confirms the first."""
    if known.change is not other.change:
        return False
    match known.change:
        case Change.REPEAT:
            return True
        case Change.COMMAND | Change.OPTION | Change.ARGUMENT | Change.QUOTING:
            ours, theirs = (main_command(parse_command(one.worked)) for one in (known, other))
            return None not in (ours, theirs) and _place(ours) == _place(theirs)
        case _:
            return known.new == other.new


def _place(command: ShellCommand | None) -> tuple[object, ...]:
    return () if command is None else (command.folder, command.environment, form_words(command))


def is_same_failure(way_out: WayOut, command: ShellCommand, cause: str) -> bool:
    """Whether a new failure is the one that a way out is known for."""
    known = _known(way_out)
    if known is None:
        return False
    same_cause = plain_cause(cause) == plain_cause(way_out.cause)
    same_program = known.words[0] == command.words[0]
    match way_out.change:
        case Change.VALUE:
            return same_program and _is_wrong_value(way_out, command, cause)
        case Change.ARGUMENT:
            # The visible error is often the pipe's: the wrong value itself tells.
            has_all = set(way_out.old) <= set(command.words)
            return has_all and _subcommand(known) == _subcommand(command)
        case Change.WRAPPER if way_out.old:
            # The wrapper and the word after it: `rtk git` may work where `rtk bun` does not.
            upto = len(way_out.old) + 1
            return raw_words(command)[:upto] == raw_words(known)[:upto] and same_cause
        case Change.PROGRAM | Change.ENVIRONMENT if absent_tool(way_out.cause):
            return absent_tool(cause) == absent_tool(way_out.cause)
        case Change.REPEAT:
            return same_program and same_cause
        case Change.OPTION:
            taken = [word.split("=")[0] for word in way_out.old if word.startswith("-")]
            has_all = all(any(w.split("=")[0] == one for w in command.words) for one in taken)
            return same_program and same_cause and (has_all if taken else _fits(known, command))
        case Change.FOLDER:
            return _is_same_place(way_out, known, command, cause)
        case Change.SETUP | Change.ENVIRONMENT if way_out.cause:
            is_alike = known.purpose is command.purpose is not Purpose.OTHER
            return same_cause and (is_alike or _subcommand(known) == _subcommand(command))
        case Change.COMMAND if is_nothing_ran(way_out.cause):
            return is_nothing_ran(cause) and _calls(known) == _calls(command)
        case _:
            return _fits(known, command) and (same_cause or not way_out.cause)


def _is_same_place(way_out: WayOut, known: ShellCommand, command: ShellCommand, cause: str) -> bool:
    """Whether a command fails for its folder as the known one did: the same cause, whatever path
    of the command it names. A path that is named has to lie in the folder in which it worked."""
    before, place = _named_path(known, way_out.cause), _named_path(command, cause)
    ours, theirs = (
        plain_cause(text.replace(path, "") if path else text, with_quoted=False)
        for text, path in ((way_out.cause, before), (cause, place))
    )
    if ours != theirs or (before is None) is not (place is None):
        return False
    if place is None:
        return _subcommand(known) == _subcommand(command)
    return known.words[0] == command.words[0] and f"{place}/".startswith(f"{way_out.new[0]}/")


def _named_path(command: ShellCommand, cause: str) -> str | None:
    """The path among a command's words that a cause names, without the marks of a pattern."""
    bare = (word.removeprefix("./").removesuffix("...").strip("/") for word in command.words[1:])
    return next((one for one in bare if re.search(r"\w\w", one) and f"/{one}" in cause), None)


def is_same_form(way_out: WayOut, command: ShellCommand) -> bool:
    """Whether a command that is about to run has the form that failed."""
    known = _known(way_out)
    if known is None:
        return False
    match way_out.change:
        case Change.VALUE:
            return (
                known.words[0] == command.words[0] and _value(way_out, command) in way_out.old[1:]
            )
        case Change.PROGRAM:
            position = tool_position(command, absent_tool(way_out.cause) or "")
            size = len(way_out.old)
            return position is not None and raw_words(command)[:size] == way_out.old
        case Change.ENVIRONMENT | Change.COMMAND | Change.WRAPPER | Change.OPTION:
            return is_same_failure(way_out, command, way_out.cause)
        case _:
            return False


def has_remedy(way_out: WayOut, command: ShellCommand) -> bool:
    """Whether a command already has what made the difference."""
    match way_out.change:
        case Change.ENVIRONMENT:
            given = {one.partition("=")[0] for one in command.environment}
            return all(one.partition("=")[0] in given for one in way_out.new)
        case Change.FOLDER:
            return command.folder == way_out.new[0]
        case Change.VALUE:
            return _value(way_out, command) == way_out.new[0]
        case Change.REPEAT | Change.SETUP | Change.COMMAND | Change.QUOTING:
            return False
        case _:
            return bool(way_out.new) and all(word in raw_words(command) for word in way_out.new)


def is_same_command(way_out: WayOut, command: ShellCommand) -> bool:
    """Whether a command is the very one that failed then."""
    known = _known(way_out)
    return known is not None and (known.call, known.environment, known.wrappers) == (
        command.call,
        command.environment,
        command.wrappers,
    )


def plain_cause(cause: str, *, with_quoted: bool = True) -> str:
    """A cause without what varies: folders, numbers, hashes, and on request quoted names."""
    kept = cause if with_quoted else _QUOTED.sub("''", cause)
    return _VARYING.sub("#", _FOLDERS.sub("", kept)).casefold()


def _known(way_out: WayOut) -> ShellCommand | None:
    commands = parse_command(way_out.failed)
    return main_command(commands) or (commands[-1] if commands else None)


def _fits(known: ShellCommand, command: ShellCommand) -> bool:
    """The same program and subcommand, with all options of the known one."""
    ours, theirs = form_words(known), form_words(command)

    def plain(words: Sequence[str]) -> list[str]:
        return [word for word in _short_names(words) if not word.startswith("-")]

    options = {word for word in ours if word.startswith("-")}
    return plain(ours) == plain(theirs) and options <= set(theirs)


def _calls(command: ShellCommand) -> list[str]:
    return [word for word in _short_names(form_words(command)) if not word.startswith("-")]


def _short_names(words: Sequence[str]) -> list[str]:
    """Words with `@scope/api` as `api`: a workspace goes by both."""
    return [word.rpartition("/")[2] if word.startswith("@") else word for word in words]


def _subcommand(command: ShellCommand) -> tuple[str, ...]:
    return tuple(word for word in command.words if not word.startswith("-"))[:2]


def _value(way_out: WayOut, command: ShellCommand) -> str | None:
    return value_of(way_out.old[0], command.text)


def _is_wrong_value(way_out: WayOut, command: ShellCommand, cause: str) -> bool:
    """A value that failed before, or another one behind the same name with the same cause."""
    value = _value(way_out, command)
    if value is None or value == way_out.new[0]:
        return False
    ours, theirs = (
        _SPEAKER.sub("", plain_cause(one, with_quoted=False)) for one in (way_out.cause, cause)
    )
    return value in way_out.old[1:] or ours == theirs
