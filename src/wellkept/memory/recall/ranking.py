"""The default ranking: weighted features, then priors as bounded multipliers.

The weights were learned listwise on conversations (`data/fusion.json`, `bench.fusion_train`). A
score lies between 0 and 1: how well the query is answered at all, times how close a candidate comes
to the best one, times its priors. Invariant: no prior takes more than a third (staleness: half) of
a score, so priors break ties and never bury a clear match. Equal scores are ordered by id; the same
candidates always give the same order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from wellkept.core.memory import Memory
from wellkept.core.query import Candidate
from wellkept.core.records import record
from wellkept.core.text import content_words, stem
from wellkept.core.types import Phase
from wellkept.memory.recall.features import READ_CHARS, TEXT_FEATURES, Feature, FeatureTable
from wellkept.memory.recall.phase_weights import STRONGEST_PHASE_WEIGHT, phase_weight
from wellkept.memory.recall.query_plan import QueryPlan
from wellkept.memory.recall.requests import ScorePart
from wellkept.memory.recall.retrievers import CandidateSet

WEIGHTS_FILE = Path(__file__).parent / "data" / "fusion.json"
READ_TEXTS = 32
STALE_FACTOR = 0.5
_SOFTNESS = 3.0
_CLARITY_FROM = 5
_FEWEST_WORDS = 3
_GUESSED = 0.3  # clarity of a plain word found inside an identifier
_RECENCY_MS = 30.0 * 86_400_000
_IMPORTANCE = 0.15
_CONFIDENCE = 0.15
_RECENCY = 0.05
_CLOSED = 0.8
_UNREVIEWED = 0.95
_PHASE_POWER = 0.25
_LABELS = tuple(signal.label for signal in Feature)

Read = Callable[[Sequence[str]], list[Memory]]
Contents = Callable[[Sequence[str]], Mapping[str, str]]


@record(kw_only=True)
class RankingContext:
    """What ranking needs besides the candidates and the query plan."""

    now_ms: int
    read: Read
    contents: Contents
    near: float
    phase: Phase | None = None
    past: bool = False
    weight_set: str = "hybrid"


class Ranked(NamedTuple):
    """A candidate with its score."""

    candidate: Candidate
    score: float


@record
class RankedCandidates:
    """Candidates, best first, with the parts of each score on request."""

    order: tuple[Ranked, ...]
    parts: Callable[[str], tuple[ScorePart, ...]]


def rank_by_weights(
    pool: CandidateSet, plan: QueryPlan, setting: RankingContext
) -> RankedCandidates:
    """The default profile: learned weights over the features, then the priors."""
    weights = load_weights()[setting.weight_set]
    table = FeatureTable(pool, plan)
    sums = table.weighed(weights)
    read = setting.contents(best_of(sums, READ_TEXTS))
    # A damaged index may lead to another memory than the one asked for.
    contents = {each: text for each, text in read.items() if each in sums}
    table.read_texts(contents)
    for each, added in table.weighed(weights, only=TEXT_FEATURES).items():
        sums[each] += added
    best = best_of({each: sums[each] for each in contents}, _CLARITY_FROM)
    clarity = _clarity(plan, pool, best, setting)
    top = max(sums.values(), default=0.0)

    each = zip(sums.values(), priors(pool.candidates, setting), strict=True)
    closeness = [math.exp((total - top) / _SOFTNESS) * prior for total, prior in each]

    def parts(c: Candidate) -> tuple[ScorePart, ...]:
        signals = zip(_LABELS, table[c.id], weights, strict=True)
        return (
            ScorePart("clarity", clarity, 1.0, clarity),
            *(
                ScorePart(label, value, weight, value * weight)
                for label, value, weight in signals
                if value
            ),
            *priors_of(c, setting),
        )

    return ranking_by(pool.candidates, closeness, parts, scale=clarity)


def best_of(sums: Mapping[str, float], count: int) -> list[str]:
    """The ids with the highest sums, best first."""
    best = sorted((-total, memory_id) for memory_id, total in sums.items())
    return [memory_id for _, memory_id in best[:count]]


def ranking_by(
    candidates: Sequence[Candidate],
    scores: Sequence[float],
    parts: Callable[[Candidate], tuple[ScorePart, ...]],
    *,
    scale: float = 1.0,
) -> RankedCandidates:
    """Best first, ids decide between equals; `scale` applies to all and changes no order."""
    scored = sorted((-score, c.id, c) for score, c in zip(scores, candidates, strict=True))
    by_id = {c.id: c for c in candidates}
    order = tuple([Ranked(c, -negative * scale) for negative, _, c in scored])
    return RankedCandidates(order, lambda memory_id: parts(by_id[memory_id]))


@lru_cache(maxsize=1)
def load_weights() -> Mapping[str, tuple[float, ...]]:
    """The shipped weights by set, in the order of `Feature`; a missing one is 0."""
    sets = json.loads(WEIGHTS_FILE.read_text("utf-8"))["weights"]
    return {
        name: tuple(float(weights.get(signal.label, 0.0)) for signal in Feature)
        for name, weights in sets.items()
    }


# -- Priors ---------------------------------------------------------------------------------------


def priors(candidates: Sequence[Candidate], setting: RankingContext) -> list[float]:
    """Query-independent weight of each memory: a product of multipliers of at most 1."""
    now_ms = setting.now_ms
    # Inlined: a call per candidate would take longer than the arithmetic.
    products = [
        (1.0 - _IMPORTANCE * (1.0 - c.importance))
        * (1.0 - _CONFIDENCE * (1.0 - c.confidence))
        * (1.0 - _RECENCY * (1.0 - math.exp(min(0, c.valid_from_ms - now_ms) / _RECENCY_MS)))
        for c in candidates
    ]
    for number, c in enumerate(candidates):
        if setting.phase is not None or c.closed or c.needs_review or c.stale:
            products[number] *= math.prod(part.effect for part in _special_priors(c, setting))
    return products


def priors_of(c: Candidate, setting: RankingContext) -> tuple[ScorePart, ...]:
    """The same multipliers one by one."""
    recency = _recency(c, setting)
    return (
        ScorePart(
            "importance", c.importance, _IMPORTANCE, 1.0 - _IMPORTANCE * (1.0 - c.importance)
        ),
        ScorePart(
            "confidence", c.confidence, _CONFIDENCE, 1.0 - _CONFIDENCE * (1.0 - c.confidence)
        ),
        ScorePart("recency", recency, _RECENCY, 1.0 - _RECENCY * (1.0 - recency)),
        *_special_priors(c, setting),
    )


def _recency(c: Candidate, setting: RankingContext) -> float:
    return math.exp(min(0, c.valid_from_ms - setting.now_ms) / _RECENCY_MS)


def _special_priors(c: Candidate, setting: RankingContext) -> list[ScorePart]:
    """Priors that apply only to some memories or requests."""
    found: list[ScorePart] = []
    if setting.phase is not None:
        weight = phase_weight(setting.phase, c.type)
        share = (weight / STRONGEST_PHASE_WEIGHT) ** _PHASE_POWER
        found.append(ScorePart(f"phase {setting.phase.value}", weight, _PHASE_POWER, share))
    if c.closed and not setting.past:
        found.append(ScorePart("no longer valid", 1.0, _CLOSED, _CLOSED))
    if c.needs_review:
        found.append(ScorePart("needs review", 1.0, _UNREVIEWED, _UNREVIEWED))
    if c.stale:
        found.append(ScorePart("stale", 1.0, STALE_FACTOR, STALE_FACTOR))
    return found


# -- Clarity --------------------------------------------------------------------------------------


def _clarity(
    plan: QueryPlan, pool: CandidateSet, best: Sequence[str], setting: RankingContext
) -> float:
    """How well the best candidates answer at all, independent of the others.

    Texts are read only when the scores of the retrievers leave it open.
    """
    terms = {stem(word) for word in content_words(plan.meaning)}
    one_word = 1 / max(len(terms), 1)
    fragment = min(one_word, _GUESSED) if pool.fragments_guessed else 1.0
    found = max(
        (
            max(
                one_word if pool.words and each in pool.words else 0.0,
                _similarity(pool, each, near=setting.near),
                float(pool.links is not None and each in pool.links),
                fragment if pool.fragments and each in pool.fragments else 0.0,
            )
            for each in best
        ),
        default=0.0,
    )
    if found >= 1.0:
        return found
    return max([found, *(_overlap(terms, memory) for memory in setting.read(best))])


def _similarity(pool: CandidateSet, memory_id: str, *, near: float) -> float:
    """1 where two texts of this model would count as saying the same; falls with the square."""
    cosine = max(0.0, (pool.meaning or {}).get(memory_id, 0.0))
    return min(1.0, (cosine / near) ** 2) if near > 0 else 0.0


def _overlap(terms: set[str], memory: Memory) -> float:
    """Shared words over the shorter side, so that a long prompt can match a short memory."""
    text = " ".join((memory.content[:READ_CHARS], *memory.tags, memory.key or "", *memory.files))
    held = {stem(word) for word in content_words(text)}
    shared = len(terms & held)
    return shared / max(min(len(terms), len(held)), min(_FEWEST_WORDS, len(terms)), 1)
