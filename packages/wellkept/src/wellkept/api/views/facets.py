"""`wk.facets()`: how many memories each further filter would leave.

A facet is counted under all other filters but not its own, so that its other values stay visible
and several can be chosen. Only tags count under themselves: a memory must have all that are named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from wellkept.core.ports.reports import LabelCount, MemoryGroup
from wellkept.core.query import CONFIDENCE_BANDS, Filter, Validity
from wellkept.core.records import record, replace
from wellkept.core.types import TYPE_RULES

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
