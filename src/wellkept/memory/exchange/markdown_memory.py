"""One memory as one Markdown file: front matter for the fields, the words below it.

Only what people read and may change is in the file; `record_json` is the exact form. Reading is
forgiving: fields that are not ours are left alone, so notes of other tools can be taken in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from wellkept.core.clock import parse_moment
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.ids import is_full_id
from wellkept.core.memory import Memory, MemoryPatch
from wellkept.core.records import record
from wellkept.core.text import first_line
from wellkept.core.types import MemoryType, Scope, parse_choice, parse_type
from wellkept.memory.exchange.markdown_document import (
    read_front_matter,
    slugify,
    write_front_matter,
)
from wellkept.memory.exchange.memory_json import moment_to_json
from wellkept.memory.exchange.passages import fingerprint

_Result = TypeVar("_Result")
_MARK_LINE = re.compile(r"^fingerprint: .*\n", re.MULTILINE)
_CONFLICT = re.compile(r"^(<{7} .*|>{7} .*)$", re.MULTILINE)


@record(kw_only=True)
class Entry:
    """What a file says about a memory; None where it says nothing."""

    content: str
    id: str | None = None
    fingerprint: str | None = None
    updated_at: datetime | None = None
    type: MemoryType | None = None
    key: str | None = None
    tags: tuple[str, ...] | None = None
    files: tuple[str, ...] | None = None
    modules: tuple[str, ...] | None = None
    importance: float | None = None
    confidence: float | None = None
    scope: Scope | None = None
    pinned: bool | None = None
    user_verified: bool | None = None
    needs_review: bool | None = None
    citation: str | None = None


def entry_path(memory: Memory) -> str:
    """Where a memory goes inside an export folder."""
    slug = slugify(first_line(memory.content, limit=60), limit=48) or "memory"
    return f"{memory.type.value}/{slug}-{memory.short}.md"


def write_entry(memory: Memory) -> str:
    """A memory as the text of its file."""
    fields: dict[str, Json] = {
        "id": memory.id,
        "type": memory.type.value,
        "tags": list(memory.tags),
        "files": list(memory.files),
    }
    optional: dict[str, Json] = {
        "key": memory.key,
        "modules": list(memory.modules),
        "pinned": memory.pinned,
        "needs_review": memory.needs_review,
        "user_verified": memory.user_verified,
        "citation": memory.citation,
        "author": memory.author,
    }
    fields |= {name: value for name, value in optional.items() if value}
    fields |= {
        "scope": memory.scope.value,
        "source": memory.source.value,
        "importance": round(memory.importance, 3),
        "confidence": round(memory.confidence, 3),
        "valid_from": moment_to_json(memory.valid_from),
        **_ending(memory),
        "updated_at": moment_to_json(memory.updated_at),
    }
    body = f"\n{memory.content}\n"
    fields["fingerprint"] = text_mark(write_front_matter(fields) + body)
    return write_front_matter(fields) + body


def _ending(memory: Memory) -> dict[str, Json]:
    """Since when a memory no longer holds, and what does instead."""
    if memory.valid_to is None:
        return {}
    ended: dict[str, Json] = {"valid_to": moment_to_json(memory.valid_to)}
    return ended | {"superseded_by": memory.superseded_by} if memory.superseded_by else ended


def text_mark(text: str) -> str:
    """A mark of what a file says; its own fingerprint line and line ends do not count."""
    return fingerprint(_plain(_MARK_LINE.sub("", text.replace("\r\n", "\n"), count=1)))


def read_entry(text: str) -> Entry:
    """What a file says; UsageError names the field that makes no sense."""
    if len(_CONFLICT.findall(text)) > 1:
        raise UsageError("There is a merge conflict in the file.", hint="Resolve it first.")
    front, body = read_front_matter(text)
    fields = {name.replace("-", "_"): value for name, value in front.items()}
    return Entry(
        content=body.strip(),
        id=_id(fields.get("id")),
        fingerprint=_read(fields, "fingerprint", str),
        updated_at=_read(fields, "updated_at", _moment),
        type=_read(fields, "type", lambda value: parse_type(str(value))),
        key=_read(fields, "key", str),
        tags=_read(fields, "tags", _strings),
        files=_read(fields, "files", _strings),
        modules=_read(fields, "modules", _strings),
        importance=_read(fields, "importance", _number),
        confidence=_read(fields, "confidence", _number),
        scope=_read(fields, "scope", lambda value: parse_choice(Scope, str(value), what="scope")),
        pinned=_read(fields, "pinned", _flag),
        user_verified=_read(fields, "user_verified", _flag),
        needs_review=_read(fields, "needs_review", _flag),
        citation=_read(fields, "citation", str),
    )


def differences(entry: Entry, memory: Memory) -> MemoryPatch:
    """What the file would change in a memory; an empty patch when it says the same."""
    changed = {name: getattr(entry, name) for name in _EDITABLE if _differs(entry, memory, name)}
    if not same_words(entry.content, memory.content):
        changed["content"] = entry.content
    return MemoryPatch(**changed)


def same_words(left: str, right: str) -> bool:
    """Whether two texts say the same but for line ends and space at either end."""
    return _plain(left) == _plain(right)


_EDITABLE = (
    "type", "key", "tags", "files", "modules", "importance", "confidence", "scope", "pinned",
    "user_verified", "needs_review", "citation",
)  # fmt: skip
_ROUNDED = frozenset({"importance", "confidence"})


def _differs(entry: Entry, memory: Memory, name: str) -> bool:
    said, known = getattr(entry, name), getattr(memory, name)
    if said is None:
        return False
    # The file has these to three places; the same figure there is no change.
    return said != (round(known, 3) if name in _ROUNDED else known)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _id(value: Json) -> str | None:
    """Only an id of ours counts; other tools use the same field for their own."""
    return value if isinstance(value, str) and is_full_id(value) else None


def _read(fields: dict[str, Json], name: str, convert: Callable[[Json], _Result]) -> _Result | None:
    value = fields.get(name)
    return None if value is None else convert(value)


def _moment(value: Json) -> datetime:
    try:
        return parse_moment(str(value))
    except OverflowError:
        raise UsageError(f"The time {value!r} is out of range.") from None


def _strings(value: Json) -> tuple[str, ...]:
    """A list, or words separated by commas."""
    items = value if isinstance(value, list) else str(value).split(",")
    return tuple(text for item in items if item is not None and (text := str(item).strip()))


def _number(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(f"{value!r} is not a number.")
    return float(value)


def _flag(value: Json) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{value!r} is neither true nor false.")
    return value
