"""Changes fields of a document and leaves everything else byte for byte.

An entry takes up whole lines, so a change replaces only those lines. Comments, order, quoting, line
ends and unknown fields stay. The result is read back and checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from wellkept.core.errors import UsageError
from wellkept.core.text import clean
from wellkept.skills.documents.fields import canonical
from wellkept.skills.documents.front_matter import (
    DocumentParts,
    Entry,
    Node,
    Scalar,
    quoted,
    read_mapping,
    split_document,
)
from wellkept.skills.documents.front_matter import Mapping as MappingNode

FieldValue: TypeAlias = str | bool | int | tuple[str, ...] | Mapping[str, str]
"""Values of a field; a tuple is a list, a mapping is for `metadata`."""

_UNSAFE_START: Final = frozenset("-?:,[]{}#&*!|>'\"%@` \t=~")
_ONE_LINE_LISTS: Final = frozenset(("allowed_tools",))


def edit_document(
    text: str, changes: Mapping[str, FieldValue | None], *, body: str | None = None
) -> str:
    """The document with fields set, or removed where the value is None, and optionally a new body.

    A field keeps the spelling of its key; a new one is written in kebab case at the end.
    """
    layout = split_document(text)
    if layout.findings:
        raise UsageError(
            f"The document cannot be changed: {layout.findings[0].message}",
            hint="Fix it in an editor first.",
        )
    head = _edited_head(layout, changes)
    newline = layout.newline
    fence = layout.opening or f"---{newline}"
    closing = layout.closing or f"---{newline}{newline}"
    if not layout.has_head and not head:
        fence = closing = ""
    new_body = layout.body if body is None else _new_body(body, newline)
    if body is not None and closing:
        closing = closing.rstrip("\r\n") + newline
        new_body = newline + new_body if new_body else ""
    whole = layout.bom + fence + head + closing + new_body
    _read_back(whole, changes)
    return whole


def new_document(fields: Mapping[str, FieldValue], *, body: str) -> str:
    """A document with front matter in the given order, and a body."""
    return edit_document("---\n---\n", dict(fields), body=body)


def _new_body(body: str, newline: str) -> str:
    plain = clean(body).replace("\r\n", "\n").strip("\n")
    return plain.replace("\n", newline) + newline if plain else ""


def _edited_head(layout: DocumentParts, changes: Mapping[str, FieldValue | None]) -> str:
    lines = [f"{line}\n" for line in layout.head.split("\n")[:-1]]
    entries = read_mapping(layout.head_lines, first_line=1)[0].entries
    newline, appended = layout.newline, list[str]()
    replacements: list[tuple[Entry, list[str]]] = []
    for name, value in changes.items():
        found = [entry for entry in entries if canonical(entry.key) == canonical(name)]
        old = found[-1] if found else None
        key = old.key if old else name.replace("_", "-")
        new = [] if value is None else _render(key, value, old.value if old else None)
        for entry in found:
            replacements.append((entry, [] if entry is not old else new))
        if old is None:
            appended += new
    for entry, new in sorted(replacements, key=lambda one: one[0].first, reverse=True):
        lines[entry.first : entry.last + 1] = [line + newline for line in new]
    return "".join(lines) + "".join(line + newline for line in appended)


def _render(key: str, value: FieldValue, old: Node | None) -> list[str]:
    key = _scalar(key)
    if isinstance(value, (bool, int)):
        return [f"{key}: {str(value).lower()}"]
    if isinstance(value, str):
        return [f"{key}: {_scalar(value)}"]
    if isinstance(value, Mapping):
        return [f"{key}:", *(f"  {_scalar(k)}: {_scalar(v)}" for k, v in value.items())]
    if canonical(key) in _ONE_LINE_LISTS and (old is None or isinstance(old, Scalar)):
        return [f"{key}: {_scalar(' '.join(value))}"]
    return [f"{key}:", *(f"  - {_scalar(item)}" for item in value)] if value else [f"{key}: []"]


def _scalar(text: str) -> str:
    """Plain text where every reader accepts it, else in double quotes."""
    text = clean(text)
    is_safe = (
        text.isprintable()
        and text == text.strip()
        and text[:1] not in _UNSAFE_START
        and ": " not in text
        and not text.endswith(":")
        and " #" not in text
        and Scalar(text, 0).is_text
        and text.lower() not in ("yes", "no", "on", "off", "y", "n")
    )
    return text if is_safe and text else quoted(text)


def _read_back(whole: str, changes: Mapping[str, FieldValue | None]) -> None:
    """Refuse a change that is not read back as intended."""
    layout = split_document(whole)
    lines = layout.head_lines
    mapping, _ = read_mapping(lines, first_line=1)
    known = {canonical(entry.key): entry.value for entry in mapping.entries}
    for name, value in changes.items():
        node = known.get(canonical(name))
        if (value is None) != (node is None) or (
            isinstance(value, str) and (not isinstance(node, Scalar) or node.text != clean(value))
        ):
            raise UsageError(
                f"The field {name!r} cannot be set in this document.",
                hint="Fix its front matter in an editor first.",
            )
        if isinstance(value, Mapping) and not isinstance(node, MappingNode):
            raise UsageError(f"The field {name!r} cannot be set to a mapping here.")
