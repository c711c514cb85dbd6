"""Markdown structure: sections under their headings, and front matter.

Reads both heading styles, fenced code, and simple YAML front matter. Never fails on a text. Knows
nothing of memories.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, cast, get_args

from wellkept.core.clock import parse_moment
from wellkept.core.codec import Json, to_json
from wellkept.core.errors import UsageError
from wellkept.core.ids import is_full_id
from wellkept.core.memory import Memory, MemoryPatch
from wellkept.core.records import record
from wellkept.core.text import first_line
from wellkept.core.types import MemoryType, parse_choice, parse_type
from wellkept.memory.exchange.passages import fingerprint
from wellkept.memory.fields import IN_MARKDOWN, MemoryField

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(?P<mark>=+|-+)[ \t]*$")
_NOT_A_TITLE = re.compile(r"\s*($|[-*+>|#]|\d+[.)]\s|`{3,}|~{3,})")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_FRONT = re.compile(r"---[ \t]*\n(?P<inner>.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_FIELD = re.compile(r"(?P<name>[A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(?P<value>.*))?$")
_ITEM = re.compile(r"\s*-[ \t]+(?P<value>.*)$")
_PLAIN = re.compile(r"[A-Za-z][^:#\[\]{}\"'\n]*[^\s:#\[\]{}\"']|[A-Za-z]")


@record
class Section:
    """The text under one heading. `titles` are the headings above it, outermost first."""

    titles: tuple[str, ...]
    body: str
    slug: str


def split_sections(text: str) -> list[Section]:
    """The sections of a document in order; text before the first heading has no titles."""
    found: list[Section] = []
    titles: dict[int, str] = {}
    body: list[str] = []
    slugs: dict[str, int] = {}

    def finish() -> None:
        path = tuple(titles[level] for level in sorted(titles))
        joined = "\n".join(body).strip("\n").rstrip()
        if joined.strip() or path:
            # A slug that comes again gets a number, as on the usual Markdown hosts.
            slug = slugify(path[-1] if path else "")
            slugs[slug] = slugs.get(slug, -1) + 1
            found.append(Section(path, joined, f"{slug}-{slugs[slug]}" if slugs[slug] else slug))
        body.clear()

    for heading, line in _marked_lines(text):
        if heading is None:
            body.append(line)
            continue
        finish()
        level, title = heading
        for deeper in [known for known in titles if known >= level]:
            del titles[deeper]
        titles[level] = title
    finish()
    return found


def slugify(title: str, *, limit: int = 60) -> str:
    """A title as the end of a link: lower case, words joined by hyphens."""
    folded = unicodedata.normalize("NFKC", title).lower()
    words = re.sub(r"[^\w]+", "-", folded).strip("-_")
    return words[:limit].strip("-_")


def plain(title: str) -> str:
    """A heading without link targets and emphasis marks."""
    return re.sub(r"[*`]+", "", _LINK.sub(r"\1", title)).strip()


def _marked_lines(text: str) -> list[tuple[tuple[int, str] | None, str]]:
    """Each line with the heading it is, if it is one; lines in fences never are."""
    marked: list[tuple[tuple[int, str] | None, str]] = []
    fence = ""
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        opening = _FENCE.match(line)
        if fence:
            closes = opening and opening["mark"].startswith(fence)
            fence = "" if closes and line.strip() == line.strip()[0] * len(line.strip()) else fence
            marked.append((None, line))
        elif opening:
            fence = opening["mark"]
            marked.append((None, line))
        elif atx := _ATX.match(line):
            marked.append(((len(atx["marks"]), plain(atx["title"] or "")), line))
        elif (setext := _SETEXT.match(line)) and _is_title(marked):
            title = marked.pop()[1]
            marked.append(((1 if setext["mark"][0] == "=" else 2, plain(title.strip())), line))
        else:
            marked.append((None, line))
    return marked


def _is_title(marked: list[tuple[tuple[int, str] | None, str]]) -> bool:
    """Whether the line above an underline is a heading: a paragraph of its own, not a list."""
    if not marked or marked[-1][0] is not None or _NOT_A_TITLE.match(marked[-1][1]):
        return False
    return len(marked) == 1 or marked[-2][0] is not None or not marked[-2][1].strip()


# -- Front matter ---------------------------------------------------------------------------------


def read_front_matter(text: str) -> tuple[dict[str, Json], str]:
    """The fields at the head of a document and the text after them; no fields is fine."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    match = _FRONT.match(text)
    if match is None:
        return {}, text
    return _fields(match["inner"] or ""), text[match.end() :]


def write_front_matter(fields: Mapping[str, Json]) -> str:
    """Fields as front matter that every YAML reader understands."""
    lines = [f"{name}: {_scalar(value)}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---", ""])


def _fields(inner: str) -> dict[str, Json]:
    found: dict[str, Json] = {}
    name = ""
    for line in inner.split("\n"):
        if match := _FIELD.match(line):
            name = match["name"]
            found[name] = _value(match["value"] or "")
        elif name and (item := _ITEM.match(line)):
            before = found[name]
            items = before if isinstance(before, list) else []
            found[name] = [*items, _value(item["value"])]
    return found


def _value(text: str) -> Json:
    """A JSON value where it is one, else the bare text; nothing is None."""
    text = text.strip()
    if not text or text == "~":
        return None
    try:
        return cast("Json", json.loads(text))
    except (ValueError, RecursionError):
        pass
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if text.startswith("[") and text.endswith("]"):
        return [_value(item) for item in text[1:-1].split(",") if item.strip()]
    return text


def _scalar(value: Json) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _is_word_of_yaml(value):
        return value
    return _ENCODER.encode(value)


def _is_word_of_yaml(text: str) -> bool:
    return text.lower() in {"true", "false", "null", "yes", "no", "on", "off", "nan", "infinity"}


# -- A memory as a document ------------------------------------------------------------------------


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
    front: dict[str, Json] = {}
    for row in IN_MARKDOWN:
        always, value = row.markdown == "always", getattr(memory, row.name)
        if (always or value) and ((shown := _shown(row, value)) or always):
            front[row.name] = shown
    if memory.is_open:
        front.pop("superseded_by", None)
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
        # A list, or words separated by commas.
        items = value if isinstance(value, list) else str(value).split(",")
        return tuple(text for item in items if item is not None and (text := str(item).strip()))
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
