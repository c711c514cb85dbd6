"""Finds passwords given to commands: `mysql -pX`, `docker login -p X`, `redis-cli -a X`.

A row of the data file names the literals that show a command and what stands before the value on
the same line. Each row reads a line once, so the work is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellkept.core.records import record
from wellkept.text.secrets.spans import SecretSpan, WorkCount
from wellkept.text.secrets.values import ValueLists

_LINE_CHARS = 2_000
_OVERLAP_CHARS = 250
_BEFORE = re.compile(r"[A-Za-z0-9.-]")
_VALUE = r"(?:\\{0,3}\"([^\"\\\n]{1,200})|\\{0,3}'([^'\\\n]{1,200})|([^\s\"'\\;|&<>()`]{1,200}))"
# Between a flag and its value, also in a list of arguments.
_GAP = r"(?:[ \t]{1,4}|=|\\{0,3}[\"'],[ \t]{0,3})"


@record
class CommandRule:
    """The commands of one row, and the pattern of their values."""

    words: tuple[str, ...]
    pattern: str


def command_pattern(written: str) -> str:
    """The pattern of a row: VALUE and GAP stand for what all rows share."""
    return written.replace("VALUE", _VALUE).replace("GAP", _GAP)


def find_in_commands(
    rule: CommandRule,
    pattern: re.Pattern[str],
    text: str,
    lists: ValueLists,
    work: WorkCount,
) -> Iterator[SecretSpan]:
    """Passwords in the lines of one row's commands."""
    for word in rule.words:
        at = text.find(word)
        while at >= 0:
            work.places += 1
            following = at + len(word)
            if not (at and _BEFORE.match(text, at - 1)):
                end = _line_end(text, at)
                yield from _values(pattern, text, at, end, lists)
                # A command at the end of a long line is read again, with what follows it.
                following = max(following, end - _OVERLAP_CHARS)
            at = text.find(word, following)


def _line_end(text: str, start: int) -> int:
    """The end of the command; a backslash continues it."""
    limit = min(len(text), start + _LINE_CHARS)
    at = text.find("\n", start, limit)
    while at > 0 and text[at - 1] == "\\":
        at = text.find("\n", at + 1, limit)
    return at if at >= 0 else limit


def _values(
    pattern: re.Pattern[str], text: str, start: int, end: int, lists: ValueLists
) -> Iterator[SecretSpan]:
    for match in pattern.finditer(text, start, end):
        group = match.lastindex
        if group and lists.is_real_argument(match[group]):
            yield SecretSpan("password", *match.span(group))
