"""Parse and edit JSON with comments and trailing commas, leaving the rest of the text as it is.

An edit keeps comments, order, spacing and line ends. Invariant: `to_python(parse(edited))` is
`to_python(parse(text))` plus exactly the requested change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Sequence
from typing import Final, Literal, TypeAlias, cast

from wellkept.core.records import record

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Path: TypeAlias = tuple[str, ...]
"""Keys from the root to a value."""

_SPACE: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_MAX_DEPTH: Final = 200
_DEFAULT_INDENT: Final = "  "


class ParseError(ValueError):
    """The text cannot be parsed; the message says where."""


class WrongShapeError(ValueError):
    """The text is valid, but a value has another type than expected; the message says which."""


@record
class JsonNode:
    """A value and its position. Scalars have no children."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    children: tuple[JsonChild, ...] = ()
    scalar: str | int | float | bool | None = None


@record
class JsonChild:
    """An object member or array item, and the position of the comma after it, if any."""

    key: str | None
    start: int
    node: JsonNode
    comma: int | None

    @property
    def end(self) -> int:
        """Where its value ends."""
        return self.node.end


def parse(text: str) -> JsonNode:
    """Parse the text. ParseError when it is not valid."""
    reader = _Reader(text)
    node = reader.value(reader.space(0), 0)
    end = reader.space(node.end)
    if end != len(text):
        raise reader.error(end, "unexpected text after the end")
    return node


def to_python(node: JsonNode) -> Json:
    """The value as Python data; the last of equal keys wins."""
    if node.kind == "object":
        return {cast("str", child.key): to_python(child.node) for child in node.children}
    if node.kind == "array":
        return [to_python(child.node) for child in node.children]
    return node.scalar


def member(node: JsonNode, key: str) -> JsonChild | None:
    """The member for a key; the last of equal keys wins."""
    return next((child for child in reversed(node.children) if child.key == key), None)


def find(node: JsonNode, path: Sequence[str]) -> JsonChild | None:
    """The member at a path of keys."""
    found: JsonChild | None = None
    for key in path:
        found = member(node, key)
        if found is None:
            return None
        node = found.node
    return found


# -- Edits ----------------------------------------------------------------------------------------


def with_member(text: str, node: JsonNode, key: str, value: Json) -> str:
    """The text with a new member at the end of an object."""
    return _with_child(text, node, value, head=f"{_quoted(key)}: ")


def with_item(text: str, node: JsonNode, value: Json) -> str:
    """The text with a new item at the end of an array."""
    return _with_child(text, node, value, head="")


def without(text: str, node: JsonNode, child: JsonChild) -> str:
    """The text without one member or item and its comma."""
    spans = [_span(text, child)]
    if child.comma is not None:
        spans.append((child.comma, child.comma + 1))
    else:
        before = node.children[: node.children.index(child)]
        spans += [(c.comma, c.comma + 1) for c in before[-1:] if c.comma is not None]
    return _cut(text, spans)


def with_value(text: str, path: Sequence[str], value: Json) -> str:
    """The text with a value set at a path; missing objects are created.

    WrongShapeError when a value on the path is not an object.
    """
    node = parse(text)
    for depth, key in enumerate(path):
        if node.kind != "object":
            raise WrongShapeError(f"{_named(path[:depth])} is not an object")
        found = member(node, key)
        if found is None:
            for outer in reversed(path[depth + 1 :]):
                value = {outer: value}
            return with_member(text, node, key, value)
        node = found.node
    indent = _indent_at(text, node.start)
    return text[: node.start] + _body(text, value, indent=indent) + text[node.end :]


def without_value(text: str, path: Sequence[str], *, keep: Container[Path]) -> str:
    """The text without the member at a path, and without objects left empty by that."""
    found, outer = find(parse(text), path), parse(text)
    if found is None:
        return text
    if holder := find(outer, path[:-1]):
        outer = holder.node
    return without_empty(without(text, outer, found), tuple(path[:-1]), keep=keep)


def without_empty(text: str, path: Path, *, keep: Container[Path]) -> str:
    """Remove the member at a path if it is empty and not in `keep`; then its parents likewise."""
    while path:
        root = parse(text)
        last, holder = find(root, path), find(root, path[:-1])
        if last is None or path in keep:
            return text
        # A comment counts as content.
        if text[last.node.start + 1 : last.node.end - 1].strip():
            return text
        text = without(text, holder.node if holder else root, last)
        path = path[:-1]
    return text


def _with_child(text: str, node: JsonNode, value: Json, *, head: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _indent_at(text, node.start)
    inner = _child_indent(text, node, outer=outer)
    closing = node.end - 1
    content_end = len(text[:closing].rstrip())
    last = node.children[-1] if node.children else None
    entry = head + _body(text, value, indent=inner)
    tail = text[content_end:closing]
    tail = tail if "\n" in tail else newline + outer
    if last is not None and last.comma is not None:
        entry += ","
    start = text[:content_end]
    if last is not None and last.comma is None:
        start = f"{text[: last.end]},{text[last.end : content_end]}"
    return f"{start}{newline}{inner}{entry}{tail}{text[closing:]}"


def _body(text: str, value: Json, *, indent: str) -> str:
    """The value as JSON in the style of this text."""
    newline = "\r\n" if "\r\n" in text else "\n"
    body = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return body.replace("\n", newline + indent)


def _named(path: Sequence[str]) -> str:
    return _quoted(".".join(path)) if path else "the root"


def _span(text: str, child: JsonChild) -> tuple[int, int]:
    """What to cut for a child: whole lines when nothing else is on them, else its text."""
    after = child.end if child.comma is None else child.comma + 1
    line_start = text.rfind("\n", 0, child.start)
    line_end = text.find("\n", after)
    alone = line_start >= 0 and not text[line_start : child.start].strip()
    if alone and line_end >= 0 and not text[after:line_end].strip():
        # Cut the line end before it, with its carriage return; keep the one after.
        start = line_start - 1 if text[line_start - 1 : line_start] == "\r" else line_start
        return start, child.end
    return child.start, child.end


def _cut(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# -- Layout ---------------------------------------------------------------------------------------


def _indent_at(text: str, position: int) -> str:
    """The leading white space of the line at a position."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip())]


def _child_indent(text: str, node: JsonNode, *, outer: str) -> str:
    if node.children:
        start = node.children[-1].start
        line = text[text.rfind("\n", 0, start) + 1 : start]
        if "\n" in text[node.start : start] and not line.strip():
            return line
    return outer + _unit(text)


def _unit(text: str) -> str:
    """One step of indentation: that of the first indented line."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else _DEFAULT_INDENT


# -- Reading --------------------------------------------------------------------------------------


class _Reader:
    """Recursive-descent parser: position in, node out."""

    def __init__(self, text: str) -> None:
        self._text = text

    def error(self, position: int, what: str) -> ParseError:
        line = self._text.count("\n", 0, position) + 1
        column = position - (self._text.rfind("\n", 0, position) + 1) + 1
        return ParseError(f"line {line}, column {column}: {what}")

    def space(self, position: int) -> int:
        """Skip white space and comments."""
        found = _SPACE.match(self._text, position)
        return found.end() if found else position

    def value(self, position: int, depth: int) -> JsonNode:
        if depth > _MAX_DEPTH:
            raise self.error(position, "nested too deeply")
        opening = self._text[position : position + 1]
        if opening == "{":
            return self._container(position, depth, kind="object", closing="}")
        if opening == "[":
            return self._container(position, depth, kind="array", closing="]")
        pattern = _STRING if opening == '"' else _SCALAR
        found = pattern.match(self._text, position)
        if found is None:
            raise self.error(position, "expected a value")
        return JsonNode(
            "scalar", position, found.end(), scalar=self._scalar(position, found.group())
        )

    def _scalar(self, position: int, raw: str) -> str | int | float | bool | None:
        try:
            return json.loads(raw)
        except ValueError as error:
            raise self.error(position, str(error)) from None

    def _container(
        self, start: int, depth: int, *, kind: Literal["object", "array"], closing: str
    ) -> JsonNode:
        children: list[JsonChild] = []
        position = self.space(start + 1)
        while not self._text.startswith(closing, position):
            if children and children[-1].comma is None:
                raise self.error(position, f"expected a comma or {closing}")
            child = self._child(position, depth, named=kind == "object")
            children.append(child)
            position = self.space(child.end if child.comma is None else child.comma + 1)
        return JsonNode(kind, start, position + 1, tuple(children))

    def _child(self, start: int, depth: int, *, named: bool) -> JsonChild:
        key, position = (None, start)
        if named:
            key, position = self._key(start)
        node = self.value(position, depth + 1)
        after = self.space(node.end)
        return JsonChild(key, start, node, after if self._text.startswith(",", after) else None)

    def _key(self, position: int) -> tuple[str, int]:
        found = _STRING.match(self._text, position)
        if found is None:
            raise self.error(position, "expected a quoted name")
        colon = self.space(found.end())
        if not self._text.startswith(":", colon):
            raise self.error(colon, "expected a colon")
        return str(self._scalar(position, found.group())), self.space(colon + 1)
