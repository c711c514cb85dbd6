"""What the front matter of a document says: scalars, lists and mappings, each with its line.

A scalar is always text: whether `1.10` is a version or a number is for the field to say. Knows
nothing of skills.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias, Union

from wellkept.core.skills import SkillFinding
from wellkept.skills.documents.finding_codes import finding

_NOT_TEXT = re.compile(
    r"|~|null|Null|NULL|true|True|TRUE|false|False|FALSE"
    r"|[-+]?\d+|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))


class Scalar(NamedTuple):
    """Text; `plain` when it was written without quotes and without `|` or `>`."""

    text: str
    line: int
    plain: bool = True

    @property
    def is_null(self) -> bool:
        """Whether nothing was said."""
        return self.plain and self.text in _NULLS

    @property
    def is_text(self) -> bool:
        """Whether every YAML reader takes this for text, and not for a number or a boolean."""
        return not self.plain or _NOT_TEXT.fullmatch(self.text) is None


class Sequence(NamedTuple):
    """A list."""

    items: tuple[Node, ...]
    line: int


class Entry(NamedTuple):
    """A key and its value. `first` and `last` are the indexes of the lines that they take up."""

    key: str
    value: Node
    line: int
    first: int
    last: int


class Mapping(NamedTuple):
    """Keys with values, in the order in which they were written."""

    entries: tuple[Entry, ...]
    line: int

    def get(self, key: str) -> Node | None:
        """The value under a key; the last one if it stands there twice."""
        return next((entry.value for entry in reversed(self.entries) if entry.key == key), None)


Node: TypeAlias = Union[Scalar, Sequence, Mapping]  # noqa: UP007 - forward references


def as_text(node: Node) -> str:
    """A node as one line for people."""
    if isinstance(node, Scalar):
        return node.text
    if isinstance(node, Sequence):
        return "[" + ", ".join(as_text(item) for item in node.items) + "]"
    return ", ".join(f"{entry.key}: {as_text(entry.value)}" for entry in node.entries)


class Cursor:
    """The lines of a front matter and how far they were read; `last` is the last line with
    something on it that was used. Findings gather here, so that reading never has to stop."""

    __slots__ = ("at", "findings", "first_line", "last", "lines")

    def __init__(self, lines: list[str], *, first_line: int) -> None:
        self.lines = lines
        self.first_line = first_line
        self.at = 0
        self.last = 0
        self.findings: list[SkillFinding] = []

    @property
    def line(self) -> int:
        """The number in the file of the line that is to be read next."""
        return self.first_line + self.at

    def report(self, code: str, message: str, *, line: int | None = None) -> None:
        """Note what is wrong on a line."""
        where = self.line if line is None else line
        self.findings.append(finding(code, message, line=where))

    def skip_empty(self) -> bool:
        """Go to the next line with something on it; False at the end."""
        lines, at = self.lines, self.at
        if at < len(lines) and "#" < lines[at][:1] < "\x7f":
            return True  # nearly always: a line at the left margin that is no comment
        while at < len(lines):
            text = lines[at].lstrip()
            if text and text[0] != "#":
                self.at = at
                return True
            at += 1
        self.at = at
        return False


def indent_of(line: str) -> int:
    """How far a line is set in."""
    if line and not line[0].isspace():
        return 0
    return len(line) - len(line.lstrip())
