"""`Listed`: memories in order of time or weight, with counts for further filters where asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from wellkept.core.memory import Memory
from wellkept.core.ports.reports import LabelCount, MemoryGroup
from wellkept.core.query import CONFIDENCE_BANDS, Filter, Validity
from wellkept.core.records import record, replace
from wellkept.core.session.injected_text import quoted
from wellkept.core.text import first_line, shorten
from wellkept.core.types import TYPE_RULES
from wellkept.core.verbs import Table
from wellkept.memory.as_text import brief_line

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store

DEFAULT_LABELS: Final = 50
NO_METHODOLOGY: Final = ""
"""Stands for memories that belong to no work unit."""


@record
class FacetValue:
    """A value of a facet and how many memories have it."""

    value: str
    count: int


@record(kw_only=True)
class Facets:
    """Counts for each filter. `total` is how many memories fit all of them.

    `confidence` has one to five dots; `validity` is open or closed; `review` is waiting, confirmed
    or neither; `state` is current, stale or archived. Tags, files and modules are the most
    frequent ones.
    """

    total: int
    types: tuple[FacetValue, ...]
    badges: tuple[FacetValue, ...]
    sources: tuple[FacetValue, ...]
    confidence: tuple[FacetValue, ...]
    methodologies: tuple[FacetValue, ...]
    validity: tuple[FacetValue, ...]
    review: tuple[FacetValue, ...]
    state: tuple[FacetValue, ...]
    tags: tuple[FacetValue, ...]
    files: tuple[FacetValue, ...]
    modules: tuple[FacetValue, ...]


_Fits = Callable[[MemoryGroup], bool]


def facets(store: Store, where: Filter, *, labels: int = DEFAULT_LABELS) -> Facets:
    """The counts under a filter."""
    total, counts = 0, {name: dict[str, int]() for name, _ in _VALUES}
    conditions = _conditions(where)
    for one in store.memory_groups(_relaxed(where)):
        against = [facet for facet, fits in conditions.items() if not fits(one)]
        total += 0 if against else one.count
        # A memory that only one facet's own filter leaves out still counts for that facet.
        for name, (facet, value) in _VALUES if len(against) < 2 else ():
            if not against or against == [facet]:
                known = counts[name]
                known[value(one)] = known.get(value(one), 0) + one.count
    return Facets(
        total=total,
        types=_ordered(counts["types"]),
        badges=_ordered(counts["badges"]),
        sources=_ordered(counts["sources"]),
        confidence=_every_band(counts["confidence"]),
        methodologies=_ordered(counts["methodologies"]),
        validity=_ordered(counts["validity"]),
        review=_ordered(counts["review"]),
        state=_ordered(counts["state"]),
        tags=_labelled(store.label_counts(where, "tag", limit=labels)),
        files=_labelled(store.label_counts(replace(where, files=()), "file", limit=labels)),
        modules=_labelled(store.label_counts(replace(where, modules=()), "module", limit=labels)),
    )


def _relaxed(where: Filter) -> Filter:
    """The filter without what groups tell apart; they are narrowed down afterwards."""
    return replace(
        where,
        types=(),
        sources=(),
        bands=(),
        methodologies=(),
        # What was believed at a moment is decided by rows alone.
        validity=where.validity if where.as_of is not None else Validity.ANY,
        needs_review=None,
        user_verified=None,
        stale=None,
        archived=None,
    )


def _conditions(where: Filter) -> dict[str, _Fits]:
    """What each facet asks of a group."""
    as_of = where.as_of is not None
    return {
        "types": lambda one: not where.types or one.type in where.types,
        "sources": lambda one: not where.sources or one.source in where.sources,
        "bands": lambda one: not where.bands or one.band in where.bands,
        "methodologies": lambda one: (
            not where.methodologies or one.methodology in where.methodologies
        ),
        "validity": lambda one: (
            as_of
            or where.validity is Validity.ANY
            or one.closed is (where.validity is Validity.CLOSED)
        ),
        "review": lambda one: (
            where.needs_review in (None, one.needs_review)
            and where.user_verified in (None, one.user_verified)
        ),
        "state": lambda one: (
            where.stale in (None, one.stale) and where.archived in (None, one.archived)
        ),
    }


def _review(one: MemoryGroup) -> str:
    if one.needs_review:
        return "waiting"
    return "confirmed" if one.user_verified else "neither"


def _state(one: MemoryGroup) -> str:
    if one.archived:
        return "archived"
    return "stale" if one.stale else "current"


_VALUES: Final[tuple[tuple[str, tuple[str, Callable[[MemoryGroup], str]]], ...]] = (
    ("types", ("types", lambda one: one.type.value)),
    ("badges", ("types", lambda one: TYPE_RULES[one.type].badge)),
    ("sources", ("sources", lambda one: one.source.value)),
    ("confidence", ("bands", lambda one: str(one.band))),
    ("methodologies", ("methodologies", lambda one: one.methodology or NO_METHODOLOGY)),
    ("validity", ("validity", lambda one: "closed" if one.closed else "open")),
    ("review", ("review", _review)),
    ("state", ("state", _state)),
)
"""For each count the facet whose own filter it does not obey, and its values."""


def _ordered(counts: Mapping[str, int]) -> tuple[FacetValue, ...]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(FacetValue(name, count) for name, count in ordered)


def _every_band(counts: Mapping[str, int]) -> tuple[FacetValue, ...]:
    bands = [str(band) for band in range(CONFIDENCE_BANDS, 0, -1)]
    return tuple(FacetValue(band, counts.get(band, 0)) for band in bands)


def _labelled(found: Sequence[LabelCount]) -> tuple[FacetValue, ...]:
    return tuple(FacetValue(one.value, one.count) for one in found)


_TITLE_CHARS = 100
_SHOWN_COUNTS = 20
_COUNTS = (
    *("types", "sources", "confidence", "methodologies", "validity", "review", "state"),
    *("tags", "files", "modules"),
)
NONE = (
    "No memories found. Add one with `wellkept remember`, or import this project with"
    " `wellkept init`."
)


@record(kw_only=True)
class Listed:
    """One page of memories. `next_cursor` is None on the last page; `total` counts all pages.
    `anchor` is the memory that they stand around, `counts` has those for each further filter."""

    items: tuple[Memory, ...]
    total: int
    next_cursor: str | None = None
    anchor: str | None = None
    counts: Facets | None = None

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.items)

    def __len__(self) -> int:
        """How many memories this page has."""
        return len(self.items)

    @property
    def found(self) -> bool:
        """Whether there are any."""
        return bool(self.items) or self.counts is not None

    @property
    def ids(self) -> list[str]:
        """Short ids, in order."""
        return [memory.short for memory in self.items]

    @property
    def more(self) -> dict[str, str]:
        """The arguments of the next page."""
        return {} if self.next_cursor is None else {"cursor": self.next_cursor}

    @property
    def notes(self) -> tuple[str, ...]:
        """How many of how many these are."""
        return (f"{len(self.items)} of {self.total}",) if self.items and not self.anchor else ()

    def as_text(self) -> str:
        """One line each; the one they stand around is marked."""
        if self.counts is not None:
            return _counts_text(self.counts)
        lines = [
            f"{'> ' if memory.id == self.anchor else ''}{brief_line(memory)}"
            for memory in self.items
        ]
        return "\n".join(lines) or NONE

    def as_table(self) -> Table:
        """The same for a terminal."""
        if self.counts is not None:
            return _counts_table(self.counts)
        has_closed = any(not memory.is_open for memory in self.items)
        headings = ["id", "type", "date", "weight", "memory"]
        rows = [_cells(memory) for memory in self.items]
        if has_closed:
            headings.insert(3, "closed")
            for row, memory in zip(rows, self.items, strict=True):
                row.insert(3, f"{memory.valid_to:%Y-%m-%d}" if memory.valid_to else "")
        if self.anchor:
            headings.insert(0, "")
            for row, memory in zip(rows, self.items, strict=True):
                row.insert(0, "→" if memory.id == self.anchor else "")
        if len({memory.project for memory in self.items}) > 1:
            headings.append("project")
            for row, memory in zip(rows, self.items, strict=True):
                row.append(memory.project)
        return Table(headings, rows, NONE)


def _cells(memory: Memory) -> list[str]:
    title = shorten(quoted(first_line(memory.content, limit=_TITLE_CHARS)), limit=_TITLE_CHARS)
    return [
        memory.short,
        memory.type.value,
        f"{memory.valid_from:%Y-%m-%d}",
        f"{memory.importance:.2f}",
        title,
    ]


def _counts_text(found: Facets) -> str:
    def told(name: str) -> str:
        values = getattr(found, name)[:_SHOWN_COUNTS]
        counts = ", ".join(f"{quoted(one.value) or 'none'} {one.count}" for one in values)
        return f"{name}: {counts or 'none'}"

    return "\n".join([f"{found.total} memories", *(told(name) for name in _COUNTS)])


def _counts_table(found: Facets) -> Table:
    rows = [
        (name, quoted(one.value) or "none", str(one.count))
        for name in _COUNTS
        for one in getattr(found, name)
        if one.count
    ]
    return Table(("filter", "value", "memories"), [*rows, ("total", "", str(found.total))])
