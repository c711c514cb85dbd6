"""A value that failed and the one that worked in its place: an owner, a host, a port, a workspace.

The value stands behind a name: an option (`--repo x`) or a field inside an argument
(`owner: "x"`, `host=x`). The cause names the value that failed, so no other difference between two
long commands matters. The visible error can be that of a pipe's last command; the value itself
tells that it will fail again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellkept.core.records import record
from wellkept.text.shell.reader import ShellCommand

_MIN_CHARS = 3
_QUOTED = re.compile(r"['\"`]([^'\"`\s]{3,80})['\"`]|\b([\w.-]+(?:\.[\w-]+)+:\d+)\b")
_NAME = re.compile(
    r"(?P<name>--?[A-Za-z][\w-]*|\b[A-Za-z][\w.-]*)(?P<between>[\s]*[:=]?[\s]*)[\"'\\]*$"
)
_WORD_BEFORE = 48
_VALUE = r"(?:\s*[:=]\s*|\s+)[\"'\\]*(?P<value>[^\s\"'`,;|)}\\]+)"


@record
class ValueChange:
    """The name that a value stands behind, the value that failed, and the one that worked."""

    name: str
    old: str
    new: str


def changed_value(failed: ShellCommand, worked: ShellCommand, cause: str) -> ValueChange | None:
    """The value that the cause names and that a success has another one for."""
    if _call(failed) != _call(worked) or not cause:
        return None
    for old in _named_values(cause):
        name = _name_of(old, failed.text)
        new = value_of(name, worked.text) if name else None
        if name and new and new != old and _is_name(new) and _is_name(old):
            return ValueChange(name, old, new)
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
