"""The arms of recall: independent searches whose findings make one pool to rank.

Every arm is capped and already inside the filter. The best findings bring their neighbours in the
session with them, because the answer often stands one turn before or after the words that match.
Knows nothing of how a pool is ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from wellkept.core.records import record, replace
from wellkept.core.types import MemoryType

if TYPE_CHECKING:
    from wellkept.core.ports.models import Vector
    from wellkept.core.ports.store import Store
    from wellkept.core.query import Candidate, Filter, RetrieverHit
    from wellkept.memory.recall.query_plan import QueryPlan

ARM_CAP = 48
SPAN = 2
WITH_NEIGHBOURS = 20
_LINKS_CAP = 40
_CAUSAL_CAP = 5
_CAUSAL_WEIGHT = 0.6
_CAUSAL_FILES = 5
_CAUSAL_TYPES = (
    MemoryType.GOTCHA,
    MemoryType.PATTERN,
    MemoryType.ERROR_PATTERN,
    MemoryType.DEAD_END,
)


class QueryVector(NamedTuple):
    """The meaning of a question as one model sees it."""

    vector: Vector
    model_id: str


Embed: TypeAlias = Callable[[str], QueryVector | None]
"""Gives the meaning of a text, or None when vectors take no part."""


@record
class CandidateSet:
    """Candidates, and what each arm made of them by its own measure.

    `meaning` is None when no vectors took part, or none was there to be found; otherwise it holds
    the cosine of every candidate that has a vector.
    """

    candidates: tuple[Candidate, ...] = ()
    words: Mapping[str, float] | None = None
    meaning: Mapping[str, float] | None = None
    fragments: Mapping[str, float] | None = None
    links: Mapping[str, float] | None = None
    causal: Mapping[str, float] | None = None

    def arms_of(self, memory_id: str, *, near: float) -> tuple[str, ...]:
        """Which arms found a memory; a vector counts as a finding from the cosine `near` on."""
        found = [
            name
            for name, hits in (
                ("words", self.words),
                ("fragments", self.fragments),
                ("links", self.links),
                ("causal", self.causal),
            )
            if hits and memory_id in hits
        ]
        if self.meaning and self.meaning.get(memory_id, -1.0) >= near:
            found.append("vectors")
        return tuple(found) or ("context",)


def gather(
    store: Store,
    plan: QueryPlan,
    *,
    where: Filter,
    embed: Embed,
    use_words: bool = True,
    files: Sequence[str] = (),
    cap: int = ARM_CAP,
) -> tuple[QueryPlan, CandidateSet]:
    """Search with every arm and lay the findings together.

    Words come first: who speaks in what they find tells which words of the question are names,
    and the plan that comes back knows it. With `use_words=False` they serve for that alone, and
    only where the question may hold a name.
    """
    wanted = plan.terms if use_words or plan.may_name else ()
    by_words = store.search_fulltext(wanted, where, limit=cap) if wanted else []
    found: dict[str, Candidate] = {}
    _add_best(found, by_words, store, where)
    plan = plan.knowing({c.author for c in found.values() if c.author})
    if not use_words:
        by_words, found = [], {}
    by_fragments = _fragments(store, plan, by_words, where, cap) if use_words else []
    vector = embed(plan.meaning)
    near = _near(store, vector, where, cap) if vector else []
    links = _links(store, files, where)
    causal = _causal(store, files, where)
    for hits in (near, by_fragments, links, causal):
        _add_best(found, hits, store, where)
    for candidate, _ in (*by_words, *near, *by_fragments):
        found.setdefault(candidate.id, candidate)
    pool = CandidateSet(
        candidates=tuple(found.values()),
        words=_scores(by_words),
        meaning=_meanings(store, found, near, vector) if vector and near else None,
        fragments=_scores(by_fragments),
        links=_scores(links),
        causal=_scores(causal),
    )
    return plan, pool


def _near(store: Store, vector: QueryVector, where: Filter, cap: int) -> list[RetrieverHit]:
    return store.search_vectors(vector.vector, model_id=vector.model_id, where=where, limit=cap)


def _links(store: Store, files: Sequence[str], where: Filter) -> list[RetrieverHit]:
    if not files:
        return []
    return store.search_links(files=files, modules=(), where=where, limit=_LINKS_CAP)


def _fragments(
    store: Store, plan: QueryPlan, by_words: Sequence[RetrieverHit], where: Filter, cap: int
) -> list[RetrieverHit]:
    """Substrings are looked for when the question holds code or unspaced text, and as the last
    resort when no whole word was found."""
    wanted = plan.fragments or (() if by_words else plan.terms)
    return store.search_substrings(wanted, where, limit=cap) if wanted else []


def _causal(store: Store, files: Sequence[str], where: Filter) -> list[RetrieverHit]:
    """Warnings tied to files that change together with those at hand."""
    if not files or where.project is None:
        return []
    links = store.linked_files(where.project, files, min_weight=_CAUSAL_WEIGHT, limit=_CAUSAL_FILES)
    others = [link.file_b for link in links if link.weight > _CAUSAL_WEIGHT]
    types = tuple(t for t in _CAUSAL_TYPES if not where.types or t in where.types)
    if not others or not types:
        return []
    narrowed = replace(where, types=types)
    return store.search_links(files=others, modules=(), where=narrowed, limit=_CAUSAL_CAP)


def _add_best(
    found: dict[str, Candidate], hits: Sequence[RetrieverHit], store: Store, where: Filter
) -> None:
    """Add the best of these hits, and what stands around those that were not found before."""
    best = [c for c, _ in hits[:WITH_NEIGHBOURS] if c.id not in found]
    places = [place for place in (c.place for c in best) if place is not None]
    around = store.session_neighbours(places, where, span=SPAN) if places else []
    for candidate in (*best, *around):
        found[candidate.id] = candidate


def _meanings(
    store: Store, found: Iterable[str], near: Sequence[RetrieverHit], vector: QueryVector
) -> dict[str, float]:
    """The cosine of every candidate, not only of those that the vector arm itself found."""
    known = _scores(near)
    missing = [each for each in found if each not in known]
    if missing:
        known |= store.similarities(vector.vector, model_id=vector.model_id, ids=missing)
    return known


def _scores(hits: Iterable[RetrieverHit]) -> dict[str, float]:
    return {candidate.id: score for candidate, score in hits}
