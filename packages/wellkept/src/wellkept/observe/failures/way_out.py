"""The way out of a failure: what a command that worked had that the failed one had not.

`compare` looks at a failed command and a later success of the same intent. What differed is the
lesson: an environment variable, a folder, a wrapper, an option, a value, another program, or a step
in between.

Invariants: a one-off permission (`--no-verify`, a forced push) is never a way out; a difference
that the cause does not speak for is no lesson; what removes something is never told. Pure
functions; nothing is stored here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from posixpath import join, normpath

from wellkept.core.records import record, replace
from wellkept.core.text import shorten
from wellkept.observe.failures.intent import (
    Change,
    bare_line,
    changed_value,
    changed_word,
    is_destructive,
    is_permission,
    raw_words,
    reaches_absent_tool,
    relation,
    tool_position,
)
from wellkept.text.events.failure_cause import (
    absent_tool,
    is_moved,
    is_nothing_ran,
    is_setup_cause,
)
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand

MAX_COMMAND_CHARS = 300
_MAX_SETUP = 2

# A success that did not do the work.
_DOES_NOTHING = re.compile(
    r"(?:^|\s)(?:--dry-run|--help|--version|--list(?:-?tests)?|--collect-only|-h)(?=\s|=|$)",
    re.IGNORECASE,
)
_SERVICES = re.compile(
    r"\b(?:up|start|serve|generate|build|seed|sync|restore|init|login|link|setup|bootstrap)\b"
)
# A script of the project, run as it is.
_PROJECT_SCRIPT = re.compile(
    r"(?:(?:ba|z|da)?sh |python3? |node |ruby |\./)(?!-)[\w./-]+\.\w{2,4}$"
)
_QUOTING = re.compile(
    r"no matches found|syntax error near unexpected token|event not found|bad pattern"
    r"|unexpected EOF while looking|unmatched|INVALID_CHARACTER|bad substitution|parse error",
    re.IGNORECASE,
)
_TRANSIENT = re.compile(
    r"index\.lock|\block(?:ed)?\b|temporarily|timed? ?out|connection reset|ECONNRESET|try again"
    r"|\bbusy\b|too many requests|rate limit|\b50[234]\b|\bagent\b|\bgpg\b|1password|signing"
    r"|askpass|unexpected disconnect|early EOF|EAGAIN",
    re.IGNORECASE,
)
# What the text of the error already says.
_SAYS_ITSELF = re.compile(
    r"did you mean|(?:please |try )(?:run(?:ning)?|install)\b|\brun [`'\":]|use [`'\"]\S+ "
    r"|\(use \"|fetch first|non-fast-forward|no upstream branch|nothing to commit",
    re.IGNORECASE,
)
# Variables that change what is printed, not what is done.
_PRINTING = re.compile(
    r"(?:DEBUG|VERBOSE|\w*LOG_LEVEL|FORCE_COLOR|NO_COLOR|TERM|RUST_BACKTRACE|PAGER|GIT_PAGER|COLUMNS"
    r"|RUST_LOG|NODE_OPTIONS|PYTHONUNBUFFERED)="
)


@record(kw_only=True)
class Attempt:
    """A command as it was run: which one, in which folder of the project ("" is its root, None when
    unknown), and the cause when it failed."""

    command: ShellCommand
    folder: str | None = ""
    cause: str | None = None


@record(kw_only=True)
class WayOut:
    """A failed command, why it failed, and what worked instead. `old` and `new` are what differed:
    words taken away or replaced, and words added or put in their place. `lines` are the lines that
    worked, as they were typed: only these are told."""

    failed: str
    cause: str
    worked: str
    change: Change
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


def compare(
    failed: Attempt,
    worked: Attempt,
    *,
    edited: bool,
    between: Sequence[ShellCommand] = (),
    asked: bool = False,
) -> WayOut | None:
    """The lesson of a failure and a later success; None when they have no common intent, or when
    an edit explains the success. `asked` when a person said something in between."""
    for is_unfit in (is_permission, _does_nothing):
        if is_unfit(attempt_line(worked)) and not is_unfit(attempt_line(failed)):
            return None
    if is_destructive(worked.command.text) or _SAYS_ITSELF.search(failed.cause or ""):
        return None
    found = _difference(failed, worked, edited=edited, between=between, asked=asked)
    if found is None:
        return None
    change, old, new = found
    return WayOut(
        failed=shorten(attempt_line(failed), limit=MAX_COMMAND_CHARS),
        cause=failed.cause or "",
        worked=shorten(
            attempt_line(worked, from_folder=None if change is Change.OPTION else failed.folder),
            limit=MAX_COMMAND_CHARS,
        ),
        change=change,
        old=old,
        new=new,
    )


def names(cause: str, word: str) -> bool:
    """Whether a cause speaks of a word."""
    bare = word.strip("'\"").rpartition("=")[2]
    return len(bare) > 2 and (bare in cause or bare.rpartition("/")[2] in cause)


def attempt_line(attempt: Attempt, *, from_folder: str | None = None) -> str:
    """The command on one line, with its folder when that differs."""
    text = bare_line(attempt.command)
    if attempt.command.purpose is Purpose.COMMIT:
        text = " ".join([*attempt.command.environment, "git commit"])
    if from_folder is None or attempt.folder is None or attempt.folder == from_folder:
        return text
    return f"cd {attempt.folder} && {text}" if attempt.folder else f"{text} (from the project root)"


# -- What differed --------------------------------------------------------------------------------

_Difference = tuple[Change, tuple[str, ...], tuple[str, ...]]


def _difference(
    failed: Attempt,
    worked: Attempt,
    *,
    edited: bool,
    between: Sequence[ShellCommand],
    asked: bool,
) -> _Difference | None:
    cause = failed.cause or ""
    before, after = failed.command, worked.command
    if value := changed_value(before, after, cause):
        return Change.VALUE, value[:2], value[2:]
    how = relation(before, after, cause=cause)
    if how is None:
        return None
    if how is Change.REPEAT:
        return _of_equal_words(failed, worked, edited=edited, between=between, asked=asked)
    # No edit makes a runner find tests that it did not look for.
    ran_nothing = is_nothing_ran(cause) and how in (Change.COMMAND, Change.OPTION, Change.ARGUMENT)
    if edited and not ran_nothing and how not in (Change.WRAPPER, Change.PROGRAM):
        return None
    if ran_nothing:
        return Change.COMMAND, (), ()
    if how is Change.WRAPPER:
        surplus = len(raw_words(before)) - len(raw_words(after))
        dropped, added = raw_words(before)[: max(surplus, 0)], raw_words(after)[: max(-surplus, 0)]
        return (how, dropped, added) if is_setup_cause(cause) else None
    if how is Change.PROGRAM:
        return _other_program(before, after, cause)
    if how is Change.OPTION:
        gone = tuple(word for word in before.words if word not in after.words)
        come = tuple(word for word in after.words if word not in before.words)
        return (how, gone, come) if _names_option(cause, (*gone, *come)) else None
    if how is Change.ARGUMENT and is_setup_cause(cause) and _is_same_place(failed, worked):
        return Change.FOLDER, (failed.folder or ".",), (worked.folder or ".",)
    if how is Change.ARGUMENT:
        old_word, new_word = changed_word(before, after)
        is_named = names(cause, old_word) and not new_word.startswith(old_word)
        is_lasting = _is_lasting(old_word) and _is_lasting(new_word)
        return (how, (old_word,), (new_word,)) if is_named and is_lasting else None
    return (Change.COMMAND, (), ()) if is_setup_cause(cause) or is_moved(cause) else None


def _is_same_place(failed: Attempt, worked: Attempt) -> bool:
    """Whether the one path that differs is the same one, named from another folder."""
    if failed.folder is None or worked.folder is None or failed.folder == worked.folder:
        return False
    before, after = changed_word(failed.command, worked.command)
    return normpath(join(failed.folder, before)) == normpath(join(worked.folder, after))


def _other_program(before: ShellCommand, after: ShellCommand, cause: str) -> _Difference | None:
    tool = absent_tool(cause)
    if tool and reaches_absent_tool(before, after, cause):
        first, last = tool_position(before, tool) or 0, tool_position(after, tool) or 0
        old, new = raw_words(before)[: first + 1], raw_words(after)[: last + 1]
        return Change.PROGRAM, old, new
    if tool or is_setup_cause(cause):
        return Change.PROGRAM, (before.program,), (after.program,)
    return None


def _of_equal_words(
    failed: Attempt,
    worked: Attempt,
    *,
    edited: bool,
    between: Sequence[ShellCommand],
    asked: bool,
) -> _Difference | None:
    """The same words: something around them changed."""
    before, after, cause = failed.command, worked.command, failed.cause or ""
    added = tuple(one for one in after.environment if one not in before.environment)
    if added:
        return (Change.ENVIRONMENT, (), added) if _explains(added, failed, edited=edited) else None
    if before.program != after.program and (is_setup_cause(cause) or absent_tool(cause)):
        return Change.PROGRAM, (before.program,), (after.program,)
    if before.wrappers != after.wrappers and is_setup_cause(cause):
        if reaches_absent_tool(before, after, cause):
            return _other_program(before, after, cause)
        return Change.WRAPPER, _split(before.wrappers), _split(after.wrappers)
    is_moved = None not in (failed.folder, worked.folder) and failed.folder != worked.folder
    if is_moved and is_setup_cause(cause):
        return Change.FOLDER, (failed.folder or ".",), (worked.folder or ".",)
    if edited:
        return None
    if _QUOTING.search(cause) and _unspaced(before.text) != _unspaced(after.text):
        return Change.QUOTING, (_one_line(before.text),), (_one_line(after.text),)
    return _step_between(before, cause, between=between, asked=asked)


def _step_between(
    before: ShellCommand, cause: str, *, between: Sequence[ShellCommand], asked: bool
) -> _Difference | None:
    """The same command, and a step in between: set-up, or nothing at all."""
    steps = [one for one in between if is_setup_step(one)][-_MAX_SETUP:]
    if steps and is_setup_cause(cause):
        return Change.SETUP, (), tuple(bare_line(one) for one in steps)
    is_code = before.purpose in (Purpose.TEST, Purpose.CHECK, Purpose.LOOK)
    doing = [one for one in between if not is_destructive(one.text)]
    if is_code or doing or not _TRANSIENT.search(cause):
        return None
    return Change.REPEAT, (), (("asked",) if asked else ())


def _explains(added: Sequence[str], failed: Attempt, *, edited: bool) -> bool:
    """Whether a new variable can be why a command works now."""
    telling = [one for one in added if not _PRINTING.match(one)]
    cause = failed.cause or ""
    if not telling or any("$(" in one or "`" in one for one in telling):
        return False
    is_named = any(one.partition("=")[0] in cause for one in telling)
    if is_named or is_setup_cause(cause):
        return True
    is_code = failed.command.purpose in (Purpose.TEST, Purpose.CHECK)
    return not edited and not is_code


def is_setup_step(command: ShellCommand) -> bool:
    """Whether a command prepares something for others: it installs, starts, makes or loads."""
    line = bare_line(command)
    if is_destructive(line) or is_permission(line) or command.words[0] == "git":
        return False
    if command.purpose in (Purpose.INSTALL, Purpose.MIGRATE):
        return True
    if command.purpose is Purpose.LOOK:
        return False
    return _SERVICES.search(command.call) is not None or _PROJECT_SCRIPT.match(line) is not None


def _is_lasting(word: str) -> bool:
    """Whether a word can be right for long: not a number, a hash or a path of a file."""
    is_file = "/" in word and re.search(r"\.\w{1,5}$", word) is not None
    return sum(map(str.isalpha, word)) > 2 and not is_file and not word.startswith(("http", "-"))


def _names_option(cause: str, words: Sequence[str]) -> bool:
    """Whether a cause speaks of one of these options: `-C`, or `--no-frozen-lockfile` of
    "frozen-lockfile"."""
    options = [word.split("=")[0] for word in words if word.startswith("-")]
    return any(_option_found(name, cause) for name in options)


def _option_found(name: str, cause: str) -> bool:
    if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", cause):
        return True
    return name.startswith("--") and name.removeprefix("--").removeprefix("no-") in cause


def _does_nothing(line: str) -> bool:
    return _DOES_NOTHING.search(line) is not None


def _split(wrappers: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for wrapper in wrappers for word in wrapper.split())


def _unspaced(text: str) -> str:
    return re.sub(r"\s+|\d?>&?\S*", "", text)


def _one_line(text: str) -> str:
    return shorten(" ".join(text.split()), limit=MAX_COMMAND_CHARS)


def relative_to(way_out: WayOut, roots: Sequence[str]) -> WayOut:
    """The lesson with paths from the project's root."""
    return replace(
        way_out,
        failed=_relative(way_out.failed, roots),
        cause=_relative(way_out.cause, roots),
        worked=_relative(way_out.worked, roots),
        old=tuple(_relative_all(way_out.old, roots)),
        new=tuple(_relative_all(way_out.new, roots)),
        lines=tuple(_relative_all(way_out.lines, roots)),
    )


def _relative_all(words: Sequence[str], roots: Sequence[str]) -> Iterator[str]:
    return (_relative(word, roots) for word in words)


def _relative(text: str, roots: Sequence[str]) -> str:
    for root in roots:
        base = root.rstrip("/")
        if len(base) > 1:
            text = text.replace(f"{base}/", "")
            text = re.sub(rf"{re.escape(base)}(?![\w.-])", ".", text)
    return text
