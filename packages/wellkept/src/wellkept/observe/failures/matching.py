"""Whether a new failure is one that a way out is known for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellkept.core.text import shorten
from wellkept.observe.failures.intent import Change, form_words, raw_words, tool_position, value_of
from wellkept.observe.failures.way_out import WayOut
from wellkept.text.events.failure_cause import absent_tool, is_nothing_ran
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand, main_command, parse_command

_VARYING = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\d+(?:\.\d+)*", re.IGNORECASE)
_FOLDERS = re.compile(r"(?:[A-Za-z]:)?(?:[\w.@~-]*[/\\])+(?=[\w.@-])")
_SPEAKER = re.compile(r"^[a-z]+: ")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")


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
            return same_program and all(old in command.words for old in way_out.old)
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
            same = plain_cause(cause, with_quoted=False) == plain_cause(
                way_out.cause, with_quoted=False
            )
            return same and _subcommand(known) == _subcommand(command)
        case Change.SETUP | Change.ENVIRONMENT if way_out.cause:
            is_alike = known.purpose is command.purpose is not Purpose.OTHER
            return same_cause and (is_alike or _subcommand(known) == _subcommand(command))
        case Change.COMMAND if is_nothing_ran(way_out.cause):
            return is_nothing_ran(cause) and _calls(known) == _calls(command)
        case _:
            return _fits(known, command) and (same_cause or not way_out.cause)


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
