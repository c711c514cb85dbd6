"""The way out of a failure: what a command that worked had that the failed one had not.

`compare` looks at a failed command and a later success of the same intent. What differed is the
lesson: an environment variable, a folder, a wrapper, an option, an argument, another program, or a
set-up step in between. `fit` turns a lesson into the exact command for a new failure.

Invariants: a one-off permission (`--no-verify`, a forced push) is never a way out; a difference
that the cause does not speak for is no lesson. Pure functions; nothing is stored here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from enum import StrEnum

from wellkept.core.records import record
from wellkept.core.text import shorten
from wellkept.observe.failures.permissions import is_permission
from wellkept.observe.reading.command_purpose import Purpose
from wellkept.observe.reading.failure_cause import is_setup_cause
from wellkept.observe.reading.shell import ShellCommand, parse_command

MAX_COMMAND_CHARS = 300
_MAX_SETUP = 2
_MAX_TEXT_CHARS = 60

# A success that did not do the work.
_DOES_NOTHING = re.compile(
    r"(?:^|\s)(?:--dry-run|--help|--version|--list(?:-?tests)?|--collect-only|-h)(?=\s|=|$)",
    re.IGNORECASE,
)
_TRANSIENT = re.compile(r"index\.lock|\blocked\b|resource temporarily unavailable", re.IGNORECASE)
_ABSENT_PROGRAM = re.compile(
    r"command not found|not found: |could not be found|no such file|is not installed"
    r"|not recognized|cannot find",
    re.IGNORECASE,
)
_SERVICES = re.compile(
    r"\b(?:up|start|serve|generate|build|seed|pull|sync|restore|init|login|prune|clean|rm)\b"
)
_SCRIPT_RUNNERS = frozenset("npm pnpm yarn bun make just task poe invoke nx turbo rake".split())
_VARYING = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\d+(?:\.\d+)*", re.IGNORECASE)
_FOLDERS = re.compile(r"(?:[A-Za-z]:)?(?:[\w.@~-]*[/\\])+(?=[\w.@-])")


class Change(StrEnum):
    """What made the difference."""

    ENVIRONMENT = "environment"
    FOLDER = "folder"
    WRAPPER = "wrapper"
    PROGRAM = "program"
    OPTION = "option"
    ARGUMENT = "argument"
    SETUP = "setup"
    COMMAND = "command"
    REPEAT = "repeat"


@record(kw_only=True)
class Attempt:
    """A command as it was run: which one, in which folder of the project ("" is its root), and the
    cause when it failed."""

    command: ShellCommand
    folder: str = ""
    cause: str | None = None


@record(kw_only=True)
class WayOut:
    """A failed command, why it failed, and what worked instead. `old` and `new` are what differed:
    words taken away or replaced, and words added or put in their place."""

    failed: str
    cause: str
    worked: str
    change: Change
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


def compare(
    failed: Attempt, worked: Attempt, *, edited: bool, between: Sequence[ShellCommand] = ()
) -> WayOut | None:
    """The lesson of a failure and a later success; None when they have no common intent, or when
    an edit explains the success."""
    for is_unfit in (is_permission, _does_nothing):
        if is_unfit(_line(worked)) and not is_unfit(_line(failed)):
            return None
    found = _difference(failed, worked, edited=edited, between=between)
    if found is None:
        return None
    change, old, new = found
    return WayOut(
        failed=shorten(_line(failed), limit=MAX_COMMAND_CHARS),
        cause=failed.cause or "",
        worked=shorten(
            _line(worked, from_folder=None if change is Change.OPTION else failed.folder),
            limit=MAX_COMMAND_CHARS,
        ),
        change=change,
        old=old,
        new=new,
    )


def _does_nothing(line: str) -> bool:
    return _DOES_NOTHING.search(line) is not None


def is_same_intent(failed: ShellCommand, other: ShellCommand) -> bool:
    """Whether two commands try to do the same thing."""
    return _relation(failed, other) is not None


def signature(way_out: WayOut) -> str:
    """Names the lesson: the same failure of the same command form, whatever numbers and folders
    vary."""
    commands = parse_command(way_out.failed)
    form = " ".join(_form(commands[-1])) if commands else way_out.failed
    return shorten(f"{form} | {_plain(way_out.cause)}", limit=200)


def is_same_failure(way_out: WayOut, command: ShellCommand, cause: str) -> bool:
    """Whether a new failure is the one that a way out is known for."""
    known = parse_command(way_out.failed)
    if not known:
        return False
    if way_out.change is Change.ARGUMENT:
        # The visible error is often the pipe's: the wrong value itself tells.
        same_program = known[-1].words[0] == command.words[0]
        return same_program and all(old in command.text for old in way_out.old)
    same_cause = _plain(cause) == _plain(way_out.cause)
    if way_out.change is Change.WRAPPER and way_out.old:
        # The wrapper and the word after it: `rtk git` may work where `rtk bun` does not.
        upto = len(way_out.old) + 1
        return _raw(command)[:upto] == _raw(known[-1])[:upto] and same_cause
    return _form(known[-1]) == _form(command) and (same_cause or not way_out.cause)


def has_remedy(way_out: WayOut, command: ShellCommand) -> bool:
    """Whether a command already has what made the difference."""
    if way_out.change is Change.ENVIRONMENT:
        given = {one.partition("=")[0] for one in command.environment}
        return all(one.partition("=")[0] in given for one in way_out.new)
    return bool(way_out.new) and all(word in _raw(command) for word in way_out.new)


def fit(way_out: WayOut, command: ShellCommand) -> str:
    """The command to run instead, fitted to the one that failed now where that is possible."""
    known = parse_command(way_out.failed)
    if known and known[-1].call == command.call:
        return way_out.worked
    text = _bare(command)
    match way_out.change:
        case Change.ENVIRONMENT:
            return " ".join([*way_out.new, text])
        case Change.FOLDER:
            return f"cd {way_out.new[0]} && {text}" if way_out.new else text
        case Change.WRAPPER if way_out.old and _raw(command)[: len(way_out.old)] == way_out.old:
            return _quoted(_raw(command)[len(way_out.old) :])
        case Change.ARGUMENT | Change.PROGRAM if len(way_out.old) == len(way_out.new) == 1:
            return text.replace(way_out.old[0], way_out.new[0])
        case Change.OPTION:
            kept = [word for word in _raw(command) if word not in way_out.old]
            return _quoted([*kept, *way_out.new])
        case _:
            return _with_value(way_out, known[-1], command) if known else way_out.worked


# -- What differed --------------------------------------------------------------------------------

_Difference = tuple[Change, tuple[str, ...], tuple[str, ...]]


def _difference(
    failed: Attempt, worked: Attempt, *, edited: bool, between: Sequence[ShellCommand]
) -> _Difference | None:
    relation = _relation(failed.command, worked.command)
    cause = failed.cause or ""
    before, after = failed.command, worked.command
    if relation is None:
        return None
    if relation is Change.REPEAT:
        return _of_equal_words(failed, worked, edited=edited, between=between)
    if edited and relation not in (Change.WRAPPER, Change.PROGRAM):
        return None
    if relation is Change.WRAPPER:
        surplus = len(_raw(before)) - len(_raw(after))
        dropped, added = _raw(before)[: max(surplus, 0)], _raw(after)[: max(-surplus, 0)]
        return (relation, dropped, added) if is_setup_cause(cause) else None
    if relation is Change.PROGRAM:
        is_absent = _ABSENT_PROGRAM.search(cause) is not None
        return (relation, (before.program,), (after.program,)) if is_absent else None
    if relation is Change.OPTION:
        gone = tuple(word for word in before.words if word not in after.words)
        come = tuple(word for word in after.words if word not in before.words)
        return (relation, gone, come) if _names_option(cause, (*gone, *come)) else None
    if relation is Change.ARGUMENT:
        old_word, new_word = _changed_word(before, after)
        is_narrower = new_word.startswith(old_word)
        is_named = _names(cause, old_word) and not is_narrower
        return (relation, (old_word,), (new_word,)) if is_named else None
    return (Change.COMMAND, (), ()) if is_setup_cause(cause) else None


def _of_equal_words(
    failed: Attempt, worked: Attempt, *, edited: bool, between: Sequence[ShellCommand]
) -> _Difference | None:
    """The same words: something around them changed."""
    before, after, cause = failed.command, worked.command, failed.cause or ""
    added = tuple(one for one in after.environment if one not in before.environment)
    if added:
        return Change.ENVIRONMENT, (), added
    if before.program != after.program:
        return Change.PROGRAM, (before.program,), (after.program,)
    if before.wrappers != after.wrappers:
        return Change.WRAPPER, before.wrappers, after.wrappers
    if failed.folder != worked.folder and is_setup_cause(cause):
        return Change.FOLDER, (failed.folder,), (worked.folder or ".",)
    if edited:
        return None
    steps = [one for one in between if _is_setup(one, cause)][-_MAX_SETUP:]
    if steps and is_setup_cause(cause):
        return Change.SETUP, (), tuple(_bare(one) for one in steps)
    return (Change.REPEAT, (), ()) if _TRANSIENT.search(cause) else None


def _is_setup(command: ShellCommand, cause: str) -> bool:
    if command.purpose in (Purpose.INSTALL, Purpose.MIGRATE):
        return True
    if command.words[0] == "rm":
        return any(_names(cause, word) for word in command.words[1:])
    return command.purpose is not Purpose.LOOK and _SERVICES.search(command.call) is not None


def _relation(failed: ShellCommand, other: ShellCommand) -> Change | None:
    """How two commands of one intent differ in their words; REPEAT when they do not."""
    before, after = _compared(failed), _compared(other)
    if before == after:
        return Change.REPEAT
    if _plain_words(before) == _plain_words(after) or _one_option(before, after):
        return Change.OPTION
    if _is_end(_raw(other), _raw(failed)) or _is_end(_raw(failed), _raw(other)):
        return Change.WRAPPER
    if len(before) > 1 and before[1:] == after[1:]:
        return Change.PROGRAM
    if _changed_word(failed, other) != ("", ""):
        return Change.ARGUMENT
    if failed.purpose is not Purpose.TEST or other.purpose is not Purpose.TEST:
        return None
    is_same = _share_target(before, after) and _workspace(before) in (_workspace(after), None)
    return Change.COMMAND if is_same or _moved_in(failed, other) else None


def _changed_word(failed: ShellCommand, other: ShellCommand) -> tuple[str, str]:
    """The one word that differs when program, subcommand and all other words are equal."""
    before, after = _plain_words(_compared(failed)), _plain_words(_compared(other))
    first = 3 if before[:1] and before[0] in _SCRIPT_RUNNERS else 2
    if len(before) != len(after) or before[:first] != after[:first]:
        return "", ""
    pairs = [(one, two) for one, two in zip(before, after, strict=True) if one != two]
    return pairs[0] if len(pairs) == 1 else ("", "")


def _workspace(words: Sequence[str]) -> str | None:
    """The workspace that a package manager is pointed at."""
    options = ("--filter", "-F", "--workspace", "-w", "--prefix", "-C", "--cwd", "workspace")
    return next((words[n + 1] for n, word in enumerate(words[:-1]) if word in options), None)


def _moved_in(failed: ShellCommand, other: ShellCommand) -> bool:
    """`pnpm --filter api test x` and `cd apps/api && npx jest x`: the folder is the workspace."""
    name = (_workspace(failed.words) or "").rpartition("/")[2]
    inside = (other.folder or "").rstrip("/").rpartition("/")[2]
    is_there = inside == name if inside else _workspace(other.words) is None
    return bool(name) and is_there and _share_target(failed.words, other.words)


def _share_target(before: Sequence[str], after: Sequence[str]) -> bool:
    def targets(words: Sequence[str]) -> set[str]:
        named = [word for word in words[1:] if re.search(r"[./=]|spec|test_|_test", word)]
        return {word.rpartition("=")[2].replace("\\", "") for word in named if word[0] != "@"}

    left, right = targets(before), targets(after)
    return bool(left & right) or not (left or right)


# -- Words ----------------------------------------------------------------------------------------


def _compared(command: ShellCommand) -> tuple[str, ...]:
    """The words that carry the intent: of a commit not its message."""
    if command.purpose is Purpose.COMMIT:
        return ("git", "commit")
    return command.words


def _raw(command: ShellCommand) -> tuple[str, ...]:
    wrappers = [word for wrapper in command.wrappers for word in wrapper.split()]
    return (*wrappers, command.program, *command.words[1:])


def _plain_words(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if not word.startswith("-"))


def _one_option(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether one option with its value is all that the longer command has more."""
    short, long = sorted((before, after), key=len)
    first = next((n for n, word in enumerate(short) if word != long[n]), len(short))
    surplus = len(long) - len(short)
    return (
        surplus == 2
        and long[first].startswith("-")
        and list(long[first + surplus :]) == list(short[first:])
    )


def _is_end(part: Sequence[str], whole: Sequence[str]) -> bool:
    return 2 <= len(part) < len(whole) and list(whole[-len(part) :]) == list(part)


def _form(command: ShellCommand) -> tuple[str, ...]:
    """Program, subcommand and option names: what repeats when targets vary."""
    words = _compared(command)
    named = 3 if words[0] in _SCRIPT_RUNNERS else 2
    plain = [word for word in words if not word.startswith("-")][:named]
    options = sorted({word.split("=")[0] for word in words if word.startswith("-")})
    return (*command.wrappers, *plain, *options)


def _plain(cause: str) -> str:
    return _VARYING.sub("#", _FOLDERS.sub("", cause)).casefold()


def _names(cause: str, word: str) -> bool:
    bare = word.strip("'\"").rpartition("=")[2]
    return len(bare) > 2 and (bare in cause or bare.rpartition("/")[2] in cause)


def _names_option(cause: str, words: Sequence[str]) -> bool:
    """Whether a cause speaks of one of these options: `-C`, or `--no-frozen-lockfile` of
    "frozen-lockfile"."""
    names = [word.split("=")[0] for word in words if word.startswith("-")]
    return any(
        re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", cause)
        or (name.startswith("--") and name.removeprefix("--").removeprefix("no-") in cause)
        for name in names
    )


def _bare(command: ShellCommand) -> str:
    """The command on one line without redirections."""
    return " ".join([*command.environment, _quoted(_raw(command))])


def _quoted(words: Sequence[str]) -> str:
    """Words as one line that a shell reads back; a long text in one is cut."""
    return " ".join(
        word
        if re.fullmatch(r"[\w@%+=:,./*?{}\[\]~^-]+", word)
        else shlex.quote(shorten(" ".join(word.split()), limit=_MAX_TEXT_CHARS))
        for word in words
    )


def _line(attempt: Attempt, *, from_folder: str | None = None) -> str:
    text = _bare(attempt.command)
    if attempt.command.purpose is Purpose.COMMIT:
        text = "git commit"
    if from_folder is None or attempt.folder == from_folder:
        return text
    return f"cd {attempt.folder} && {text}" if attempt.folder else f"{text} (from the project root)"


def _with_value(way_out: WayOut, known: ShellCommand, command: ShellCommand) -> str:
    """What worked, with the one value in which the new failure differs from the known one."""
    pairs = list(zip(known.words, command.words, strict=False))
    changed = [(one, two) for one, two in pairs if one != two]
    if len(known.words) != len(command.words) or len(changed) != 1:
        return way_out.worked
    old, new = (word.rpartition("=")[2].replace("\\", "") for word in changed[0])
    return way_out.worked.replace(old, new) if len(old) > 2 else way_out.worked
