"""A methodology made of tables: phases, levels of its hierarchy, relays, and what a state holds.

The four that come with Wellkept are made of it, and so can others be that need no code of their
own. Units of work are recognised by rule in ids that were given, in the branch name, else in the
request, outermost level first; a level that is missing is left out.
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

MAX_SAID_CHARS = 200_000
MAX_ITEMS = 20
MAX_ITEM_CHARS = 200


@record
class Level:
    """One level of a hierarchy: `epic` is found in `epic-3`, `epic_3`, `Epic 3`.

    `words` are other names of it. With `slug` any name counts and not only a number, but only in a
    branch name: in a sentence whatever word comes next would.
    """

    name: str
    words: tuple[str, ...] = ()
    slug: bool = False

    def found(self, text: str) -> str | None:
        """The id of this level in a branch name or a request."""
        names = "|".join(map(re.escape, (self.name, *self.words)))
        value = (
            r"[/_-]([a-z0-9][\w.-]*)" if self.slug else r"[\s/_#-]?([a-z]{0,4}-?\d+(?:[._]\d+)*)"
        )
        match = re.search(rf"(?<![a-z0-9])(?:{names}){value}", text, re.IGNORECASE | re.ASCII)
        return match[1].rstrip("._-") or None if match else None

    def label(self, value: str) -> str:
        """The level with its id, for people."""
        return f"{self.name.replace('_', ' ').capitalize()} {value}"


@record
class StateField:
    """One part of a work state: what it is called and how it is read from what was said."""

    name: str
    label: str
    read: Callable[[str], Json]


@record(kw_only=True)
class TableMethodology:
    """A `Methodology` made of tables."""

    id: str
    title: str
    phases: Mapping[str, Phase]
    levels: tuple[Level, ...]
    relays: tuple[Relay, ...] = ()
    custom_types: tuple[CustomType, ...] = ()
    state: tuple[StateField, ...] = ()

    def work_unit(self, at: WorkContext) -> WorkUnitRef | None:
        """The unit of work at hand; None when nothing tells."""
        for found in (
            {level.name: at.named.get(level.name) or None for level in self.levels},
            self._read(at.branch, self.levels),
            self._read(at.request, [level for level in self.levels if not level.slug]),
        ):
            if unit := self._unit(found):
                return unit
        return None

    def relay_text(self, memories: Sequence[Memory], *, to: str) -> str:
        """What came before, one line each, with the id to cite."""
        if not memories:
            return ""
        lines = [f"- {m.type.value}: {first_line(m.content)} [m:{m.short}]" for m in memories]
        return "\n".join([f"Handed on to {to.replace('_', ' ')}:", *lines])

    def work_state(self, said: str) -> dict[str, Json]:
        """What the fields read; those that find nothing are left out."""
        text = said[:MAX_SAID_CHARS]
        read = ((one.name, one.read(text)) for one in self.state)
        return {name: value for name, value in read if value not in (None, [], {}, "", 0)}

    def state_text(self, state: Mapping[str, Json]) -> str:
        """The state in words: known fields by their labels, others by their names."""
        labels = {one.name: one.label for one in self.state}
        lines = [f"{labels.get(key, key)}: {_in_words(value)}" for key, value in state.items()]
        return "\n".join(lines)

    def _read(self, text: str | None, levels: Sequence[Level]) -> dict[str, str | None]:
        plain = (text or "")[:MAX_SAID_CHARS]
        return {level.name: level.found(plain) for level in levels}

    def _unit(self, found: Mapping[str, str | None]) -> WorkUnitRef | None:
        """The units that were found, outermost first."""
        named = [(level, value) for level in self.levels if (value := found.get(level.name))]
        if not named:
            return None
        hierarchy = tuple(_unit_id(level, value) for level, value in named)
        label = " / ".join(level.label(value) for level, value in named)
        return WorkUnitRef(self.id, hierarchy, label)


def _unit_id(level: Level, value: str) -> str:
    return value if value.lower().startswith(level.name) else f"{level.name}_{value}"


def _in_words(value: Json) -> str:
    if isinstance(value, list):
        return "; ".join(map(_in_words, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_in_words(inner)}" for key, inner in value.items())
    return "" if value is None else str(value)


# -- Ways to read a part of a state ---------------------------------------------------------------


def ticked(said: str) -> Json:
    """Items of a list that are ticked off: `- [x] Write the parser`."""
    return _items(re.findall(r"^\s*[-*+]\s*\[[xX✓]\]\s*(.+)$", said, re.MULTILINE))


def unticked(said: str) -> Json:
    """Items of a list that are not ticked off yet."""
    return _items(re.findall(r"^\s*[-*+]\s*\[ \]\s*(.+)$", said, re.MULTILINE))


def next_unticked(said: str) -> Json:
    """The first item of a list that is not ticked off yet."""
    left = unticked(said)
    return left[0] if isinstance(left, list) and left else None


def text_after(*words: str) -> Callable[[str], Json]:
    """Everything that stands after one of the words and a colon, on its line or listed below."""
    heading = re.compile(
        rf"^[ \t#*_-]*(?:{'|'.join(words)})[ \t*_]*:[ \t*_]*(.*)$", re.IGNORECASE | re.MULTILINE
    )

    def read(said: str) -> Json:
        found: list[str] = []
        for match in heading.finditer(said):
            on_line = match[1].strip(" *_")
            found += [on_line] if on_line else _listed_below(said[match.end() :])
        return _items(found)

    return read


def last_number(*patterns: str) -> Callable[[str], Json]:
    """The number in the last place that one of the patterns fits."""
    compiled = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]

    def read(said: str) -> Json:
        found = [(m.start(), int(m[1])) for p in compiled for m in p.finditer(said)]
        return max(found)[1] if found else None

    return read


def count_of(pattern: str) -> Callable[[str], Json]:
    """How many times a pattern fits."""
    compiled = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    return lambda said: sum(1 for _ in compiled.finditer(said))


def _listed_below(text: str) -> list[str]:
    lines = text.lstrip("\n").split("\n")
    listed = takewhile(lambda line: re.match(r"\s*[-*+]\s+\S", line), lines)
    return [line.strip().lstrip("-*+").strip() for line in listed]


def _items(found: Sequence[str]) -> list[Json]:
    short = (item.strip()[:MAX_ITEM_CHARS] for item in found)
    return list[Json](dict.fromkeys(item for item in short if item))[:MAX_ITEMS]
