"""One memory as one Markdown file: front matter for the fields, the content below it.

The field table says which fields a file shows; those that people may edit are read back. JSONL is
the exact form. Reading is lenient: unknown fields are ignored, so notes of other tools can be
imported.
"""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from typing import Any, get_args

from wellkept.core.clock import parse_moment
from wellkept.core.codec import Json, to_json
from wellkept.core.errors import UsageError
from wellkept.core.ids import is_full_id
from wellkept.core.memory import Memory, MemoryPatch
from wellkept.core.records import record
from wellkept.core.text import first_line
from wellkept.core.types import MemoryType, parse_choice, parse_type
from wellkept.memory.exchange.markdown_document import (
    read_front_matter,
    slugify,
    write_front_matter,
)
from wellkept.memory.exchange.passages import fingerprint
from wellkept.memory.fields import IN_MARKDOWN, MemoryField

_FINGERPRINT_LINE = re.compile(r"^fingerprint: .*\n", re.MULTILINE)
_CONFLICT = re.compile(r"^(<{7} .*|>{7} .*)$", re.MULTILINE)
_READ_BACK = tuple(row for row in IN_MARKDOWN if row.editable)


@record(kw_only=True)
class MarkdownMemory:
    """What a file says. `fields` has None where the file says nothing, and no content."""

    content: str
    fields: MemoryPatch
    id: str | None = None
    fingerprint: str | None = None
    updated_at: datetime | None = None


def memory_path(memory: Memory) -> str:
    """Path of a memory's file inside an export folder."""
    slug = slugify(first_line(memory.content, limit=60), limit=48) or "memory"
    return f"{memory.type.value}/{slug}-{memory.short}.md"


def memory_to_markdown(memory: Memory) -> str:
    """A memory as the text of its file."""
    shown = {row.name: _shown(row, getattr(memory, row.name)) for row in IN_MARKDOWN}
    if memory.is_open:
        del shown["superseded_by"]
    front: dict[str, Json] = {
        row.name: shown[row.name]
        for row in IN_MARKDOWN
        if row.name in shown and (row.markdown == "always" or shown[row.name])
    }
    head, body = write_front_matter(front), f"\n{memory.content}\n"
    mark = write_front_matter({"fingerprint": text_fingerprint(head + body)})
    return head.removesuffix("---\n") + mark.removeprefix("---\n") + body


def _shown(row: MemoryField, value: object) -> Json:
    """A value as written to a file; shares have three decimals."""
    return round(value, 3) if isinstance(value, float) and row.limit == "share" else to_json(value)


def text_fingerprint(text: str) -> str:
    """Fingerprint of a file without its own fingerprint line; line ends do not count."""
    return fingerprint(_normalized(_FINGERPRINT_LINE.sub("", text.replace("\r\n", "\n"), count=1)))


def memory_from_markdown(text: str) -> MarkdownMemory:
    """What a file says; UsageError names the field that is wrong."""
    if len(_CONFLICT.findall(text)) > 1:
        raise UsageError("There is a merge conflict in the file.", hint="Resolve it first.")
    front, body = read_front_matter(text)
    given = {name.replace("-", "_"): value for name, value in front.items() if value is not None}
    mark, updated_at = given.get("fingerprint"), given.get("updated_at")
    values: dict[str, Any] = {
        row.name: _read(row, given[row.name]) for row in _READ_BACK if row.name in given
    }
    return MarkdownMemory(
        content=body.strip(),
        fields=MemoryPatch(**values),
        id=_id(given.get("id")),
        fingerprint=None if mark is None else str(mark),
        updated_at=None if updated_at is None else parse_moment(str(updated_at)),
    )


def changes_to(memory: Memory, file: MarkdownMemory) -> MemoryPatch:
    """What the file would change in a memory; an empty patch when both say the same."""
    changed: dict[str, Any] = {}
    for row in _READ_BACK:
        value, current = getattr(file.fields, row.name), getattr(memory, row.name)
        rounded = round(current, 3) if row.limit == "share" else current
        if value is not None and value != rounded:
            changed[row.name] = value
    if _normalized(file.content) != _normalized(memory.content):
        changed["content"] = file.content
    return MemoryPatch(**changed)


def _normalized(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _id(value: Json) -> str | None:
    """Only our own ids count; other tools use the same field for theirs."""
    return value if isinstance(value, str) and is_full_id(value) else None


def _read(row: MemoryField, value: Json) -> object:
    types = get_args(row.type) or (row.type,)
    if row.type == tuple[str, ...]:
        return _strings(value)
    if float in types:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UsageError(f"{value!r} is not a number.")
        return float(value)
    if bool in types:
        if not isinstance(value, bool):
            raise UsageError(f"{value!r} is neither true nor false.")
        return value
    if MemoryType in types:
        return parse_type(str(value))
    if isinstance(row.type, type) and issubclass(row.type, StrEnum):
        return parse_choice(row.type, str(value), what=row.name)
    return str(value)


def _strings(value: Json) -> tuple[str, ...]:
    """A list, or words separated by commas."""
    items = value if isinstance(value, list) else str(value).split(",")
    return tuple(text for item in items if item is not None and (text := str(item).strip()))
