"""Markdown structure: sections under their headings, and front matter.

Reads both heading styles, fenced code, and simple YAML front matter. Never fails on a text. Knows
nothing of memories.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import cast

from wellkept.core.codec import Json
from wellkept.core.records import record

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(?P<mark>=+|-+)[ \t]*$")
_NOT_A_TITLE = re.compile(r"\s*($|[-*+>|#]|\d+[.)]\s|`{3,}|~{3,})")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
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
            found.append(Section(path, joined, _unique(slugify(path[-1] if path else ""), slugs)))
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


def _unique(slug: str, seen: dict[str, int]) -> str:
    """A slug that comes again gets a number, as on the usual Markdown hosts."""
    seen[slug] = seen.get(slug, -1) + 1
    return f"{slug}-{seen[slug]}" if seen[slug] else slug


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
    return json.dumps(value, ensure_ascii=False)


def _is_word_of_yaml(text: str) -> bool:
    return text.lower() in {"true", "false", "null", "yes", "no", "on", "off", "nan", "infinity"}
