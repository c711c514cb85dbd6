"""JSON that people write by hand: read with its places, and edited without touching the rest.

Takes comments and trailing commas, since clients do. An edit changes only the text that it must:
comments, order, spacing and line ends of everything else stay. Invariant: `plain(parse(edited))`
is `plain(parse(text))` with exactly the change that was asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Sequence
from typing import Final, Literal, TypeAlias, cast

from wellkept.core.records import record

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Path: TypeAlias = tuple[str, ...]
"""Keys that lead from the whole to a value."""

_SPACE: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_MAX_DEPTH: Final = 200
_DEFAULT_INDENT: Final = "  "


class BrokenJsonError(ValueError):
    """The text is not JSON; the message says where."""


class WrongShapeError(ValueError):
    """The text is JSON, but something else stands where our part should; says what."""


@record
class JsonNode:
    """A value and where it stands. Scalars have no children."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    children: tuple[JsonChild, ...] = ()
    scalar: str | int | float | bool | None = None


@record
class JsonChild:
    """A member of an object or an item of an array, and the comma after it, if there is one."""

    key: str | None
    start: int
    node: JsonNode
    comma: int | None

    @property
    def end(self) -> int:
        """Where its value ends."""
        return self.node.end


def parse(text: str) -> JsonNode:
    """The whole text as one value. BrokenJsonError when it is none."""
    reader = _Reader(text)
    node = reader.value(reader.space(0), 0)
    end = reader.space(node.end)
    if end != len(text):
        raise reader.broken(end, "there is more after the end")
    return node


def plain(node: JsonNode) -> Json:
    """The value as Python sees it; of equal keys the last counts."""
    if node.kind == "object":
        return {cast("str", child.key): plain(child.node) for child in node.children}
    if node.kind == "array":
        return [plain(child.node) for child in node.children]
    return node.scalar


def member(node: JsonNode, key: str) -> JsonChild | None:
    """The member of an object that counts for a key."""
    return next((child for child in reversed(node.children) if child.key == key), None)


def at(node: JsonNode, path: Sequence[str]) -> JsonChild | None:
    """The member that keys lead to, one object inside the other."""
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
    """The text without one member or item, and without the comma that it leaves over."""
    spans = [_span(text, child)]
    if child.comma is not None:
        spans.append((child.comma, child.comma + 1))
    else:
        before = node.children[: node.children.index(child)]
        spans += [(c.comma, c.comma + 1) for c in before[-1:] if c.comma is not None]
    return _cut(text, spans)


def with_value(text: str, path: Sequence[str], value: Json) -> str:
    """The text with a value where the keys lead, in place of what is there; objects are made.

    WrongShapeError when something other than an object is on the way.
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
    """The text without the member that keys lead to, and without the objects it leaves empty."""
    found, outer = at(parse(text), path), parse(text)
    if found is None:
        return text
    if holder := at(outer, path[:-1]):
        outer = holder.node
    return pruned(without(text, outer, found), tuple(path[:-1]), keep=keep)


def pruned(text: str, path: Path, *, keep: Container[Path]) -> str:
    """The text without the member at a path, if it is empty and not to be kept; then its holder."""
    while path:
        root = parse(text)
        last, holder = at(root, path), at(root, path[:-1])
        if last is None or path in keep:
            return text
        # What holds only a comment is not empty to the person who wrote it.
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
    """A value as this text would write it, further lines indented."""
    newline = "\r\n" if "\r\n" in text else "\n"
    body = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return body.replace("\n", newline + indent)


def _named(path: Sequence[str]) -> str:
    return _quoted(".".join(path)) if path else "the whole of it"


def _span(text: str, child: JsonChild) -> tuple[int, int]:
    """What to cut for a child: its lines when it has them to itself, else just its text."""
    after = child.end if child.comma is None else child.comma + 1
    line_start = text.rfind("\n", 0, child.start)
    line_end = text.find("\n", after)
    alone = line_start >= 0 and not text[line_start : child.start].strip()
    if alone and line_end >= 0 and not text[after:line_end].strip():
        # The line end before goes, with its carriage return; the one after stays.
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
    """The white space that the line of a position begins with."""
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
    """One step of indentation, as the first indented line has it."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else _DEFAULT_INDENT


# -- Reading --------------------------------------------------------------------------------------


class _Reader:
    """Reads values from a text, position in, node out."""

    def __init__(self, text: str) -> None:
        self._text = text

    def broken(self, position: int, what: str) -> BrokenJsonError:
        line = self._text.count("\n", 0, position) + 1
        column = position - (self._text.rfind("\n", 0, position) + 1) + 1
        return BrokenJsonError(f"line {line}, column {column}: {what}")

    def space(self, position: int) -> int:
        """Past white space and comments."""
        found = _SPACE.match(self._text, position)
        return found.end() if found else position

    def value(self, position: int, depth: int) -> JsonNode:
        if depth > _MAX_DEPTH:
            raise self.broken(position, "it is nested too deeply")
        opening = self._text[position : position + 1]
        if opening == "{":
            return self._container(position, depth, kind="object", closing="}")
        if opening == "[":
            return self._container(position, depth, kind="array", closing="]")
        pattern = _STRING if opening == '"' else _SCALAR
        found = pattern.match(self._text, position)
        if found is None:
            raise self.broken(position, "a value is missing")
        return JsonNode(
            "scalar", position, found.end(), scalar=self._scalar(position, found.group())
        )

    def _scalar(self, position: int, raw: str) -> str | int | float | bool | None:
        try:
            return json.loads(raw)
        except ValueError as error:
            raise self.broken(position, str(error)) from None

    def _container(
        self, start: int, depth: int, *, kind: Literal["object", "array"], closing: str
    ) -> JsonNode:
        children: list[JsonChild] = []
        position = self.space(start + 1)
        while not self._text.startswith(closing, position):
            if children and children[-1].comma is None:
                raise self.broken(position, f"a comma or {closing} is missing")
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
            raise self.broken(position, "a name in quotes is missing")
        colon = self.space(found.end())
        if not self._text.startswith(":", colon):
            raise self.broken(colon, "a colon is missing")
        return str(self._scalar(position, found.group())), self.space(colon + 1)
