"""Reading the bracketed forms `[a, b]` and `{a: b}`, over several lines if need be.

Brackets that do not close, or are followed by more text, make the whole value plain text: people
write `argument-hint: [file] [options]` and mean just that.
"""

from __future__ import annotations

import re

from wellkept.skills.documents.yaml_nodes import (
    Cursor,
    Entry,
    Mapping,
    Node,
    Scalar,
    Sequence,
    indent_of,
)
from wellkept.skills.documents.yaml_scalars import (
    end_of_quote,
    fold_lines,
    unquote,
    without_comment,
)

MAX_DEPTH = 16
_SPACE = re.compile(r"(?:\s|(?<=\s)#[^\n]*)*")
_PLAIN_END = re.compile(r"[,\[\]{}]|:(?=[\s,\[\]{}]|$)|\s#")


class _BrokenError(Exception):
    """The brackets make no sense; the text is taken as it is."""


def read_flow(cursor: Cursor, text: str, *, indent: int) -> Node | None:
    """The value in brackets; None when it is none, and then the cursor has not moved."""
    joined = "\n".join([text, *_further_lines(cursor, indent=indent)])
    reader = _Flow(joined, cursor)
    try:
        node, end = reader.node(0, depth=1)
    except _BrokenError:
        return None
    if without_comment(joined[end:].partition("\n")[0])[0]:
        return None
    used = joined.count("\n", 0, end)
    cursor.findings += reader.findings
    cursor.last = cursor.at + used
    cursor.at += used + 1
    return node


def _further_lines(cursor: Cursor, *, indent: int) -> list[str]:
    """The lines below that are set in further, are empty, or begin with a closing bracket."""
    found: list[str] = []
    for raw in cursor.lines[cursor.at + 1 :]:
        text = raw.strip()
        if text and indent_of(raw) <= indent and text[0] not in "]}":
            break
        found.append(raw)
    return found


class _Flow:
    """One bracketed value in a text."""

    def __init__(self, text: str, cursor: Cursor) -> None:
        self._text = text
        self._cursor = Cursor([], first_line=cursor.line)
        self.findings = self._cursor.findings

    def node(self, at: int, *, depth: int) -> tuple[Node, int]:
        """The value at a place, and the place after it."""
        if depth > MAX_DEPTH:
            raise _BrokenError
        at = self._skip(at)
        opener = self._text[at : at + 1]
        if opener == "[":
            return self._sequence(at, depth=depth)
        if opener == "{":
            return self._mapping(at, depth=depth)
        return self._scalar(at)

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def _line(self, at: int) -> int:
        return self._cursor.first_line + self._text.count("\n", 0, at)

    def _sequence(self, start: int, *, depth: int) -> tuple[Sequence, int]:
        items: list[Node] = []
        at = self._skip(start + 1)
        while not self._text.startswith("]", at):
            before = at
            item, at = self.node(at, depth=depth + 1)
            at = self._skip(at)
            if self._text.startswith(":", at):
                value, at = self._value(at + 1, depth=depth)
                item = Mapping((self._entry(item, value, before),), self._line(before))
            items.append(item)
            at = self._separated(at, "]")
        return Sequence(tuple(items), self._line(start)), at + 1

    def _mapping(self, start: int, *, depth: int) -> tuple[Mapping, int]:
        entries: list[Entry] = []
        at = self._skip(start + 1)
        while not self._text.startswith("}", at):
            before = at
            key, at = self._scalar(at)
            at = self._skip(at)
            value: Node = Scalar("", self._line(at))
            if self._text.startswith(":", at):
                value, at = self._value(at + 1, depth=depth)
            entries.append(self._entry(key, value, before))
            at = self._separated(at, "}")
        return Mapping(tuple(entries), self._line(start)), at + 1

    def _entry(self, key: Node, value: Node, at: int) -> Entry:
        if not isinstance(key, Scalar):
            raise _BrokenError
        return Entry(key.text, value, self._line(at), 0, 0)

    def _value(self, at: int, *, depth: int) -> tuple[Node, int]:
        at = self._skip(at)
        if self._text[at : at + 1] in (",", "]", "}", ""):
            return Scalar("", self._line(at)), at
        return self.node(at, depth=depth + 1)

    def _separated(self, at: int, closing: str) -> int:
        at = self._skip(at)
        if self._text.startswith(",", at):
            return self._skip(at + 1)
        if not self._text.startswith(closing, at):
            raise _BrokenError
        return at

    def _scalar(self, at: int) -> tuple[Scalar, int]:
        first, line = self._text[at : at + 1], self._line(at)
        if first in ("'", '"') and first:
            end = end_of_quote(self._text, at)
            if end is None:
                raise _BrokenError
            return Scalar(unquote(self._text[at:end], self._cursor), line, plain=False), end
        found = _PLAIN_END.search(self._text, at)
        if found is None or found.start() == at:
            raise _BrokenError
        text = fold_lines(self._text[at : found.start()]).strip()
        if text[:1] in ("&", "*", "!"):
            self._cursor.report(
                "yaml-reference", f"{text.split()[0]!r} is not followed; quote the text.", line=line
            )
        elif text[:1] in ("@", "`", "%"):
            message = f"Text that begins with {text[0]!r} must be quoted."
            self._cursor.report("yaml-reserved", message, line=line)
        return Scalar(text, line), found.start()
