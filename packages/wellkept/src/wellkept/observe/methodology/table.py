"""A methodology defined by tables: phases, hierarchy levels, relays and state fields.

The four built-in ones use it, and plugins without code of their own can. Work units are found in
explicit ids, else in the branch name, else in the request, outermost level first. Missing levels
are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from wellkept.core.codec import Json
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.records import record
from wellkept.core.text import first_line
from wellkept.core.types import Phase
from wellkept.observe.methodology.protocol import CustomType, Relay, WorkContext

MAX_TEXT_CHARS = 200_000
MAX_ITEMS = 20
MAX_ITEM_CHARS = 200


@record
class Level:
    """One level of a hierarchy: `epic` is found in `epic-3`, `epic_3`, `Epic 3`.

    `words` are aliases. With `slug` any name matches, not only a number, but only in branch names:
    in a sentence the next word would match.
    """

    name: str
    words: tuple[str, ...] = ()
    slug: bool = False

    def found(self, text: str) -> str | None:
        """The id of this level in a branch name or request."""
        names = "|".join(map(re.escape, (self.name, *self.words)))
        value = (
            r"[/_-]([a-z0-9][\w.-]*)" if self.slug else r"[\s/_#-]?([a-z]{0,4}-?\d+(?:[._]\d+)*)"
        )
        match = re.search(rf"(?<![a-z0-9])(?:{names}){value}", text, re.IGNORECASE | re.ASCII)
        return match[1].rstrip("._-") or None if match else None

    def label(self, value: str) -> str:
        """The level and its id as text."""
        return f"{self.name.replace('_', ' ').capitalize()} {value}"


@record
class StateField:
    """One field of a work state: name, label, and a function that reads it from text."""

    name: str
    label: str
    read: Callable[[str], Json]


@record(kw_only=True)
class TableMethodology:
    """A `Methodology` defined by tables."""

    id: str
    title: str
    phases: Mapping[str, Phase]
    levels: tuple[Level, ...]
    relays: tuple[Relay, ...] = ()
    custom_types: tuple[CustomType, ...] = ()
    state: tuple[StateField, ...] = ()

    def work_unit(self, at: WorkContext) -> WorkUnitRef | None:
        """The current work unit; None when unknown."""
        for found in (
            {level.name: at.named.get(level.name) or None for level in self.levels},
            self._read(at.branch, self.levels),
            self._read(at.request, [level for level in self.levels if not level.slug]),
        ):
            if unit := self._unit(found):
                return unit
        return None

    def relay_text(self, memories: Sequence[Memory], *, to: str) -> str:
        """One line per memory, with the id to cite."""
        if not memories:
            return ""
        lines = [f"- {m.type.value}: {first_line(m.content)} [m:{m.short}]" for m in memories]
        return "\n".join([f"Handed on to {to.replace('_', ' ')}:", *lines])

    def work_state(self, text: str) -> dict[str, Json]:
        """The fields with a value."""
        text = text[:MAX_TEXT_CHARS]
        read = ((one.name, one.read(text)) for one in self.state)
        return {name: value for name, value in read if value not in (None, [], {}, "", 0)}

    def state_text(self, state: Mapping[str, Json]) -> str:
        """The state as text: known fields by label, others by name."""
        labels = {one.name: one.label for one in self.state}
        lines = [f"{labels.get(key, key)}: {_as_text(value)}" for key, value in state.items()]
        return "\n".join(lines)

    def _read(self, text: str | None, levels: Sequence[Level]) -> dict[str, str | None]:
        plain = (text or "")[:MAX_TEXT_CHARS]
        return {level.name: level.found(plain) for level in levels}

    def _unit(self, found: Mapping[str, str | None]) -> WorkUnitRef | None:
        """The work unit of the levels found, outermost first."""
        named = [(level, value) for level in self.levels if (value := found.get(level.name))]
        if not named:
            return None
        hierarchy = tuple(_unit_id(level, value) for level, value in named)
        label = " / ".join(level.label(value) for level, value in named)
        return WorkUnitRef(self.id, hierarchy, label)


def _unit_id(level: Level, value: str) -> str:
    return value if value.lower().startswith(level.name) else f"{level.name}_{value}"


def _as_text(value: Json) -> str:
    if isinstance(value, list):
        return "; ".join(map(_as_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_as_text(inner)}" for key, inner in value.items())
    return "" if value is None else str(value)


# -- Readers for state fields ---------------------------------------------------------------------


def checked(text: str) -> Json:
    """Checked list items: `- [x] Write the parser`."""
    return _items(re.findall(r"^\s*[-*+]\s*\[[xX✓]\]\s*(.+)$", text, re.MULTILINE))


def unchecked(text: str) -> Json:
    """Unchecked list items."""
    return _items(re.findall(r"^\s*[-*+]\s*\[ \]\s*(.+)$", text, re.MULTILINE))


def next_unchecked(text: str) -> Json:
    """The first unchecked list item."""
    left = unchecked(text)
    return left[0] if isinstance(left, list) and left else None


def text_after(*words: str) -> Callable[[str], Json]:
    """The text after one of the words and a colon, on the line or listed below."""
    heading = re.compile(
        rf"^[ \t#*_-]*(?:{'|'.join(words)})[ \t*_]*:[ \t*_]*(.*)$", re.IGNORECASE | re.MULTILINE
    )

    def read(text: str) -> Json:
        found: list[str] = []
        for match in heading.finditer(text):
            on_line = match[1].strip(" *_")
            found += [on_line] if on_line else _listed_below(text[match.end() :])
        return _items(found)

    return read


def last_number(*patterns: str) -> Callable[[str], Json]:
    """The number in the last match of the patterns."""
    compiled = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]

    def read(text: str) -> Json:
        found = [(m.start(), int(m[1])) for p in compiled for m in p.finditer(text)]
        return max(found)[1] if found else None

    return read


def count_of(pattern: str) -> Callable[[str], Json]:
    """How often a pattern matches."""
    compiled = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    return lambda text: sum(1 for _ in compiled.finditer(text))


def _listed_below(text: str) -> list[str]:
    lines = text.lstrip("\n").split("\n")
    listed = takewhile(lambda line: re.match(r"\s*[-*+]\s+\S", line), lines)
    return [line.strip().lstrip("-*+").strip() for line in listed]


def _items(found: Sequence[str]) -> list[Json]:
    short = (item.strip()[:MAX_ITEM_CHARS] for item in found)
    return list[Json](dict.fromkeys(item for item in short if item))[:MAX_ITEMS]
