"""Ranking profiles: the default, and the formulas `balanced` and `phase`.

`balanced` and `phase` use no learned weights and no bounded priors. Stale memories are held back in
every profile. Without vectors, similarity is the share of the best word score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.query import Candidate
from wellkept.core.text import jaccard, keywords
from wellkept.memory.recall.phase_weights import phase_weight
from wellkept.memory.recall.ranking import (
    STALE_FACTOR,
    RankedCandidates,
    RankingContext,
    rank_by_weights,
    ranking_by,
)
from wellkept.memory.recall.requests import DEFAULT_PROFILE, ScorePart
from wellkept.memory.recall.retrievers import CandidateSet, QueryPlan

_DAY_MS = 86_400_000

Profile: TypeAlias = Callable[[CandidateSet, QueryPlan, RankingContext], RankedCandidates]


def balanced_score(
    *, similarity: float, keyword_overlap: float, importance: float, days_since_access: float
) -> float:
    """0.40 similarity + 0.25 keyword overlap + 0.20 importance + 0.15 recency."""
    recency = 1.0 / (1.0 + 0.1 * days_since_access)
    return 0.40 * similarity + 0.25 * keyword_overlap + 0.20 * importance + 0.15 * recency


def phase_score(
    *,
    similarity: float,
    days_since_access: float,
    access_count: int,
    max_access_count: int,
    weight: float,
) -> float:
    """(0.6 similarity + 0.25 recency + 0.15 access frequency) x the phase's weight of the type."""
    recency = math.exp(-days_since_access / 30)
    used = frequency(access_count, max_access_count)
    return (0.6 * similarity + 0.25 * recency + 0.15 * used) * weight


def frequency(access_count: int, max_access_count: int) -> float:
    """How often a memory was used, on a log scale against the most used one."""
    return math.log1p(access_count) / math.log1p(max_access_count) if max_access_count > 0 else 0.0


def rank_balanced(pool: CandidateSet, plan: QueryPlan, setting: RankingContext) -> RankedCandidates:
    """The `balanced` profile."""
    similarity = _similarities(pool)
    asked = set(keywords(plan.query))
    overlap = {m.id: jaccard(asked, _keywords_of(m)) for m in setting.read(list(similarity))}

    def parts(c: Candidate) -> tuple[ScorePart, ...]:
        days = _days_since_access(c, setting)
        return (
            _added("similarity", similarity[c.id], 0.40),
            _added("keyword overlap", overlap.get(c.id, 0.0), 0.25),
            _added("importance", c.importance, 0.20),
            _added("recency", 1.0 / (1.0 + 0.1 * days), 0.15),
            *_staleness(c),
        )

    def score(c: Candidate) -> float:
        plain = balanced_score(
            similarity=similarity[c.id],
            keyword_overlap=overlap.get(c.id, 0.0),
            importance=c.importance,
            days_since_access=_days_since_access(c, setting),
        )
        return plain * _held_back(c)

    return ranking_by(pool.candidates, list(map(score, pool.candidates)), parts)


def rank_phase(pool: CandidateSet, plan: QueryPlan, setting: RankingContext) -> RankedCandidates:
    """The `phase` profile; without a phase every type weighs 1."""
    del plan
    similarity = _similarities(pool)
    most = max((c.access_count for c in pool.candidates), default=0)

    def weight(c: Candidate) -> float:
        return phase_weight(setting.phase, c.type) if setting.phase else 1.0

    def parts(c: Candidate) -> tuple[ScorePart, ...]:
        days = _days_since_access(c, setting)
        return (
            _added("similarity", similarity[c.id], 0.6),
            _added("recency", math.exp(-days / 30), 0.25),
            _added("access frequency", frequency(c.access_count, most), 0.15),
            ScorePart(f"phase {setting.phase or 'none'}", 1.0, weight(c), weight(c)),
            *_staleness(c),
        )

    def score(c: Candidate) -> float:
        plain = phase_score(
            similarity=similarity[c.id],
            days_since_access=_days_since_access(c, setting),
            access_count=c.access_count,
            max_access_count=most,
            weight=weight(c),
        )
        return plain * _held_back(c)

    return ranking_by(pool.candidates, list(map(score, pool.candidates)), parts)


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {DEFAULT_PROFILE: rank_by_weights, "balanced": rank_balanced, "phase": rank_phase}
)


def profile_named(name: str) -> Profile:
    """The profile of that name."""
    try:
        return PROFILES[name]
    except KeyError:
        raise UsageError(
            f"Unknown ranking profile {name!r}.", hint=f"Choose one of: {', '.join(PROFILES)}."
        ) from None


def _days_since_access(c: Candidate, setting: RankingContext) -> float:
    return max(0, setting.now_ms - c.accessed_ms) / _DAY_MS


def _similarities(pool: CandidateSet) -> dict[str, float]:
    """Cosine of each candidate, or its share of the best word score when there are no vectors."""
    words = pool.words or {}
    best = max(words.values(), default=0.0) or 1.0
    if pool.meaning is None:
        return {c.id: max(0.0, words.get(c.id, 0.0) / best) for c in pool.candidates}
    return {c.id: pool.meaning.get(c.id, 0.0) for c in pool.candidates}


def _keywords_of(memory: Memory) -> set[str]:
    return {*memory.tags, *keywords(memory.content)}


def _added(name: str, value: float, weight: float) -> ScorePart:
    return ScorePart(name, value, weight, value * weight)


def _held_back(c: Candidate) -> float:
    return STALE_FACTOR if c.stale else 1.0


def _staleness(c: Candidate) -> tuple[ScorePart, ...]:
    return (ScorePart("stale", 1.0, STALE_FACTOR, STALE_FACTOR),) if c.stale else ()
