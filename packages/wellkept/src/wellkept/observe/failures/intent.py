"""Whether two commands try to do the same thing, and how their words differ.

Read through wrappers, tool folders, workspaces and folders; also which lines a person allows once
and nobody offers. Pure functions on parsed commands.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from enum import StrEnum

from wellkept.core.text import shorten
from wellkept.text.events.failure_cause import absent_tool, is_moved, is_nothing_ran
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand

_MAX_TEXT_CHARS = 60
_SCRIPT_RUNNERS = frozenset("npm pnpm yarn bun make just task poe invoke nx turbo rake".split())
_PROJECT_SCRIPT = re.compile(
    r"(?:(?:ba|z|da)?sh |python3? |node |ruby |\./)(?!-)[\w.][\w./-]*\.\w{2,4}(?=\s|$)"
)
_INTERPRETERS = re.compile(r"(?:python|node|ruby|perl|php|bash|sh|zsh)[\d.]*$")


class Change(StrEnum):
    """What made the difference."""

    ENVIRONMENT = "environment"
    FOLDER = "folder"
    WRAPPER = "wrapper"
    PROGRAM = "program"
    OPTION = "option"
    ARGUMENT = "argument"
    VALUE = "value"
    QUOTING = "quoting"
    SETUP = "setup"
    COMMAND = "command"
    REPEAT = "repeat"


def relation(failed: ShellCommand, other: ShellCommand, *, cause: str = "") -> Change | None:
    """How two commands of one intent differ in their words; REPEAT when they do not, None when
    they have no common intent."""
    before, after = compared_words(failed), compared_words(other)
    if before == after:
        return Change.REPEAT
    if is_nothing_ran(cause) and _looks_further(failed, other):
        return Change.COMMAND
    if plain_words(before) == plain_words(after) or _one_option(before, after):
        return Change.OPTION
    if _is_end(raw_words(other), raw_words(failed)) or _is_end(raw_words(failed), raw_words(other)):
        return Change.WRAPPER
    if len(before) > 1 and before[1:] == after[1:] and _same_kind(failed, other, cause):
        return Change.PROGRAM
    if reaches_absent_tool(failed, other, cause):
        return Change.PROGRAM
    if changed_word(failed, other) != ("", ""):
        return Change.ARGUMENT
    if is_moved(cause) and _stands_in(failed, other):
        return Change.COMMAND
    if failed.purpose is not Purpose.TEST or other.purpose is not Purpose.TEST:
        return None
    is_same = _share_target(before, after) and _workspace(before) in (_workspace(after), None)
    return Change.COMMAND if is_same or _moved_in(failed, other) else None


def _stands_in(failed: ShellCommand, other: ShellCommand) -> bool:
    """Whether a script of the project can be what a target is now that it is gone."""
    return failed.words[0] in _SCRIPT_RUNNERS and is_project_script(bare_line(other))


def is_project_script(line: str) -> bool:
    """Whether a line runs a file of the project."""
    return _PROJECT_SCRIPT.match(line) is not None


def _looks_further(failed: ShellCommand, other: ShellCommand) -> bool:
    """Whether a test command has the words of another and says more about where tests are."""
    is_test = failed.purpose is Purpose.TEST is other.purpose
    size = len(failed.words)
    return is_test and len(other.words) > size and other.words[:size] == failed.words


def reaches_absent_tool(failed: ShellCommand, other: ShellCommand, cause: str) -> bool:
    """Whether another command runs the tool that was not found, in another way."""
    tool = absent_tool(cause)
    if tool is None or tool_position(failed, tool) is None:
        return False
    at = tool_position(other, tool)
    if at is None:
        return False
    before, after = raw_words(failed), raw_words(other)
    position = tool_position(failed, tool) or 0
    return before[: position + 1] != after[: at + 1] and _rest(before, position) == _rest(after, at)


def tool_position(command: ShellCommand, tool: str) -> int | None:
    """Where a command names a tool: as program, or behind a wrapper."""
    words = raw_words(command)
    names = [word.rpartition("/")[2] for word in words[:6]]
    return names.index(tool) if tool in names else None


def changed_word(failed: ShellCommand, other: ShellCommand) -> tuple[str, str]:
    """The one word that differs when program, subcommand and all other words are equal."""
    before, after = plain_words(compared_words(failed)), plain_words(compared_words(other))
    first = 3 if before[:1] and before[0] in _SCRIPT_RUNNERS else 2
    if len(before) != len(after) or before[:first] != after[:first]:
        return "", ""
    pairs = [(one, two) for one, two in zip(before, after, strict=True) if one != two]
    return pairs[0] if len(pairs) == 1 else ("", "")


def form_words(command: ShellCommand) -> tuple[str, ...]:
    """Program, subcommand and option names: what repeats when targets vary."""
    words = compared_words(command)
    named = 3 if words[0] in _SCRIPT_RUNNERS else 2
    plain = [word for word in words if not word.startswith("-")][:named]
    options = sorted({word.split("=")[0] for word in words if word.startswith("-")})
    return (*command.wrappers, *plain, *options)


def compared_words(command: ShellCommand) -> tuple[str, ...]:
    """The words that carry the intent: of a commit not its message."""
    if command.purpose is Purpose.COMMIT:
        return ("git", "commit")
    return command.words


def raw_words(command: ShellCommand) -> tuple[str, ...]:
    """All words as written, wrappers included."""
    wrappers = [word for wrapper in command.wrappers for word in wrapper.split()]
    return (*wrappers, command.program, *command.words[1:])


def plain_words(words: Sequence[str]) -> tuple[str, ...]:
    """The words that are not options."""
    return tuple(word for word in words if not word.startswith("-"))


def bare_line(command: ShellCommand) -> str:
    """The command on one line without redirections."""
    return " ".join([*command.environment, quoted(raw_words(command))])


def quoted(words: Sequence[str]) -> str:
    """Words as one line that a shell reads back; a long text in one is cut."""
    return " ".join(
        word
        if re.fullmatch(r"[\w@%+=:,./{}~^-]+", word)
        else shlex.quote(shorten(" ".join(word.split()), limit=_MAX_TEXT_CHARS))
        for word in words
    )


def _same_kind(failed: ShellCommand, other: ShellCommand, cause: str) -> bool:
    """`python x` and `python3 x`; any other program only in place of one that is absent."""
    names = [_INTERPRETERS.match(one.words[0]) for one in (failed, other)]
    if all(names) or failed.words[0].rstrip("0123456789.") == other.words[0].rstrip("0123456789."):
        return True
    return absent_tool(cause) == failed.words[0].rpartition("/")[2]


def _rest(words: Sequence[str], position: int) -> tuple[str, ...]:
    """The plain word behind a tool, if any: its subcommand."""
    return plain_words(words[position + 1 :])[:1]


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


_PERMISSIONS = re.compile(
    r"(?:^|\s)(?:--no-verify|--no-gpg-sign|--force(?:-with-lease)?|--dangerously\S*|--yolo"
    r"|--allow-\S+|--skip-\S+|--insecure|-k|--privileged|--no-check\S*|--disable-\S*check\S*"
    r"|--ignore-\S*(?:certificate|ssl|security)\S*|--break-system-packages|--unsafe-perm"
    r"|--admin|--accept-data-loss|--legacy-peer-deps)(?=\s|=|$)"
    r"|commit\.gpgsign=false|\bHUSKY=0|\bSKIP=|\bHUSKY_SKIP\w*=|\bchmod (?:-R )?777|\bsudo\b"
    r"|\bgit push\b.*\s(?:-f|main|master)\b|\bgit\s+(?:-\S+\s+)*config\b"
    r"|\bgit\s+-c\s+\S+=|NODE_TLS_REJECT_UNAUTHORIZED=0|PYTHONHTTPSVERIFY=0"
    r"|StrictHostKeyChecking=no|GIT_SSL_NO_VERIFY"
)
_DESTROYS = re.compile(
    r"(?:^|[\s;&|])(?:rm|rmdir|del|shred|truncate)\s|\bgit\s+(?:-\S+\s+)*"
    r"(?:clean\b|reset\s+--hard|checkout\s+(?:--\s|\.)|restore\b|branch\s+-D|stash\s+drop)"
    r"|\b(?:drop\s+(?:table|database|schema)|truncate\s+table|delete\s+from)\b"
    r"|\bdocker\s+(?:\S+\s+)?(?:prune|rm|rmi|down\s+.*-v)\b|\bkubectl\s+delete\b"
    r"|\b(?:migrate\s+reset|db:(?:drop|reset)|mkfs|dd\s+if=)|\bkill(?:all)?\b|\bpkill\b",
    re.IGNORECASE,
)


def is_permission(line: str) -> bool:
    """Whether a command line goes around a check or a protection."""
    return _PERMISSIONS.search(line) is not None


def is_destructive(line: str) -> bool:
    """Whether a command line removes something: never offered without a word of warning."""
    return _DESTROYS.search(line) is not None


_MIN_CHARS = 3
_QUOTED = re.compile(r"['\"`]([^'\"`\s]{3,80})['\"`]|\b([\w.-]+(?:\.[\w-]+)+:\d+)\b")
_NAME = re.compile(
    r"(?P<name>--?[A-Za-z][\w-]*|\b[A-Za-z][\w.-]*)(?P<between>[\s]*[:=]?[\s]*)[\"'\\]*$"
)
_WORD_BEFORE = 48
_VALUE = r"(?:\s*[:=]\s*|\s+)[\"'\\]*(?P<value>[^\s\"'`,;|)}\\]+)"


def changed_value(
    failed: ShellCommand, worked: ShellCommand, cause: str
) -> tuple[str, str, str] | None:
    """The value that the cause names and that a success has another one for: the name it stands
    behind, the value that failed, and the one that worked."""
    if _call(failed) != _call(worked) or not cause:
        return None
    for old in _named_values(cause):
        name = _name_of(old, failed.text)
        new = value_of(name, worked.text) if name else None
        if name and new and new != old and _is_name(new) and _is_name(old):
            return name, old, new
    return None


def _call(command: ShellCommand) -> tuple[str, ...]:
    return tuple(word for word in command.words if not word.startswith("-"))[:2]


def value_of(name: str, text: str) -> str | None:
    """The value behind a name in a command's text."""
    bound = r"(?<![\w-])" if name.startswith("-") else r"(?<![\w.-])"
    found = re.search(bound + re.escape(name) + _VALUE, text)
    return found["value"] if found else None


def _named_values(cause: str) -> Iterator[str]:
    for match in _QUOTED.finditer(cause):
        value = match[1] or match[2]
        yield value
        yield from (part for part in re.split(r"[/:@]", value) if len(part) >= _MIN_CHARS)


def _name_of(value: str, text: str) -> str | None:
    """The option or field that a value stands behind."""
    for at in re.finditer(rf"(?<![\w./-]){re.escape(value)}(?![\w./=:-])", text):
        found = _NAME.search(text[max(0, at.start() - _WORD_BEFORE) : at.start()])
        if found and (found["name"].startswith("-") or found["between"].strip()):
            return found["name"]
    return None


def _is_name(value: str) -> bool:
    """Whether a value can be right for long: not a number, a hash or a variable."""
    letters = sum(map(str.isalpha, value))
    is_hash = re.fullmatch(r"[0-9a-f]{7,40}", value) is not None
    is_address = re.fullmatch(r"[\d.]+(?::\d+)?|:?\d{2,5}", value) is not None
    return not is_hash and "$" not in value and (letters >= _MIN_CHARS or is_address)
