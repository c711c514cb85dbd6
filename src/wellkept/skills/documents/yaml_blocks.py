"""Reading a front matter: a small, safe part of YAML that never fails as a whole.

What is read: mappings and lists by indentation, bracketed ones, plain and quoted text, `|` and `>`.
Anchors, aliases and tags are reported and never followed, so a document cannot grow while it is
read; the time taken is bounded by its length times the depth, which is limited. A line that makes
no sense is reported and passed over, and reading goes on below it.
"""

from __future__ import annotations

import re
from typing import Final

from wellkept.skills.documents.yaml_flow import MAX_DEPTH, read_flow
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
    BLOCK_HEADER,
    end_of_quote,
    read_block_scalar,
    read_plain,
    read_quoted,
    unquote,
)

_NO_KEY_START: Final = frozenset("-?:,[]{}#&*!|>%@`")
_PROPERTY = re.compile(r"[&!][^\s]*[ \t]*")
_RESERVED: Final = frozenset("@`%,]}")


def read_mapping(lines: list[str], *, first_line: int) -> tuple[Mapping, Cursor]:
    """The entries of a front matter, and the cursor with what was found wrong."""
    cursor = Cursor(lines, first_line=first_line)
    entries: list[Entry] = []
    while cursor.skip_empty():
        indent = indent_of(lines[cursor.at])
        _read_entries(cursor, entries, indent=indent, depth=1)
    return Mapping(tuple(entries), first_line), cursor


def _read_entries(cursor: Cursor, entries: list[Entry], *, indent: int, depth: int) -> None:
    """Entries at one indentation, until a line is set in less."""
    seen = {entry.key for entry in entries}
    while cursor.skip_empty():
        raw = cursor.lines[cursor.at]
        own = indent_of(raw)
        if own < indent:
            return
        if own and "\t" in raw[:own]:
            cursor.report("yaml-tab", "Lines are set in with spaces, not with tabs.")
        split = _split_key(raw[own:], cursor) if own == indent else None
        if split is None:
            _pass_over(cursor, raw, own=own, indent=indent)
            continue
        key, rest = split
        if key in seen:
            cursor.report("yaml-twice", f"The key {key!r} stands here twice; the last one counts.")
        seen.add(key)
        first, line = cursor.at, cursor.line
        value = _read_value(cursor, rest, indent=indent, depth=depth, in_mapping=True)
        entries.append(Entry(key, value, line, first, cursor.last))


def _pass_over(cursor: Cursor, raw: str, *, own: int, indent: int) -> None:
    if own > indent:
        cursor.report("yaml-indent", "This line is set in further than it may be; it is ignored.")
    else:
        cursor.report("yaml-no-key", f"Expected `key: value`, not {raw.strip()[:40]!r}.")
    cursor.last = cursor.at
    cursor.at += 1


def _split_key(text: str, cursor: Cursor) -> tuple[str, str] | None:
    """Key and what follows the colon; None when this is no `key:`."""
    if text[0] in "'\"":
        end = end_of_quote(text, 0)
        after = text[end:].lstrip() if end is not None else ""
        if not after.startswith(":") or after[1:2].strip():
            return None
        return unquote(text[:end], cursor), after[1:].strip()
    end = _colon(text)
    if end is None or (text[0] in _NO_KEY_START and not (text[0] in "-?:" and text[1:2].strip())):
        return None
    key = text[:end].rstrip()
    return (key, text[end + 1 :].strip()) if key and " #" not in key else None


def _colon(text: str) -> int | None:
    """Where the colon stands that ends a key: before a space, or at the end of the line."""
    at = text.find(":")
    while at >= 0:
        if not text[at + 1 : at + 2].strip():
            return at
        at = text.find(":", at + 1)
    return None


def _is_item(text: str) -> bool:
    return text.startswith("-") and (len(text) == 1 or text[1] in " \t")


def _read_value(
    cursor: Cursor, text: str, *, indent: int, depth: int, in_mapping: bool = False
) -> Node:
    """The value that begins with `text` on the cursor's line, or stands on the lines below it."""
    if text and text[0] in "&!":
        property_ = _PROPERTY.match(text)
        cursor.report("yaml-reference", f"{_word(text)!r} is ignored: no tags, no anchors.")
        text = text[property_.end() :] if property_ else text
    if not text or text[0] == "#":
        return _read_below(cursor, indent=indent, depth=depth, in_mapping=in_mapping)
    if text[0] in "|>" and (header := BLOCK_HEADER.fullmatch(text)):
        return read_block_scalar(cursor, header, indent=indent)
    if text[0] in "'\"[{":
        return _read_delimited(cursor, text, indent=indent)
    if text[0] == "*":
        cursor.report("yaml-reference", f"{_word(text)!r} is not followed; quote the text.")
    elif text[0] in _RESERVED or (text[0] in "-?:" and not text[1:2].strip()):
        cursor.report("yaml-reserved", f"Text that begins with {text[0]!r} must be quoted.")
    return read_plain(cursor, text, indent=indent)


def _read_delimited(cursor: Cursor, text: str, *, indent: int) -> Node:
    """A value in quotes or brackets; as plain text when they do not close or more follows."""
    is_quote = text[0] in "'\""
    value = (read_quoted if is_quote else read_flow)(cursor, text, indent=indent)
    if value is None:
        what = "quote" if is_quote else "bracket"
        cursor.report(
            f"yaml-{what}", f"The {what} at the beginning does not close at the end of the value."
        )
        return read_plain(cursor, text, indent=indent)
    return value


def _read_below(cursor: Cursor, *, indent: int, depth: int, in_mapping: bool) -> Node:
    """The block under a line that ends with a colon or a dash; nothing when there is none."""
    line = cursor.line
    cursor.last = cursor.at
    cursor.at += 1
    if not cursor.skip_empty():
        return Scalar("", line)
    raw = cursor.lines[cursor.at]
    own = indent_of(raw)
    is_item = _is_item(raw[own:])
    if own < indent or (own == indent and not (in_mapping and is_item)):
        return Scalar("", line)
    if depth >= MAX_DEPTH:
        return _too_deep(cursor, indent=indent)
    return _read_block(cursor, indent=own, depth=depth + 1)


def _read_block(cursor: Cursor, *, indent: int, depth: int) -> Node:
    raw = cursor.lines[cursor.at]
    line, text = cursor.line, raw[indent:].rstrip()
    if _is_item(text):
        return _read_items(cursor, indent=indent, depth=depth)
    if _split_key(text, cursor) is None:
        return _read_value(cursor, text, indent=indent - 1, depth=depth)
    entries: list[Entry] = []
    _read_entries(cursor, entries, indent=indent, depth=depth)
    return Mapping(tuple(entries), line)


def _read_items(cursor: Cursor, *, indent: int, depth: int) -> Sequence:
    line = cursor.line
    items: list[Node] = []
    while cursor.skip_empty():
        raw = cursor.lines[cursor.at]
        own = indent_of(raw)
        if own != indent or not _is_item(raw[own:]):
            break
        items.append(_read_item(cursor, raw, indent=indent, depth=depth))
    return Sequence(tuple(items), line)


def _read_item(cursor: Cursor, raw: str, *, indent: int, depth: int) -> Node:
    """One item; what follows the dash may itself be the first line of a mapping or a list."""
    rest = raw[indent + 1 :]
    text = rest.strip()
    if not text or not (_is_item(text) or _split_key(text, cursor)):
        return _read_value(cursor, text, indent=indent, depth=depth)
    if depth >= MAX_DEPTH:
        return _too_deep(cursor, indent=indent)
    column = indent + 1 + indent_of(rest)
    cursor.lines[cursor.at] = " " * column + text
    return _read_block(cursor, indent=column, depth=depth + 1)


def _too_deep(cursor: Cursor, *, indent: int) -> Scalar:
    line = cursor.line
    cursor.report("yaml-deep", f"More than {MAX_DEPTH} levels; this part is ignored.")
    cursor.last = cursor.at
    cursor.at += 1
    while cursor.skip_empty() and indent_of(cursor.lines[cursor.at]) > indent:
        cursor.last = cursor.at
        cursor.at += 1
    return Scalar("", line)


def _word(text: str) -> str:
    return text.split(None, 1)[0]
