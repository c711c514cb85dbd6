"""The default ranking: weighted features, then priors as bounded multipliers.

The weights were learned listwise (`weights.py`, `bench.fusion_train`). A score lies between 0 and
1: the probability that the query is answered at all (`answers.py`), times how close a candidate
comes to the best one, times its priors. Invariant: no prior takes more than a third (staleness:
half) of a score, so priors break ties and never bury a clear match. Equal scores are ordered by
id; the same candidates always give the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from wellkept.core.memory import Memory
from wellkept.core.query import Candidate
from wellkept.core.records import record, replace
from wellkept.core.types import Phase
from wellkept.memory.recall.answer_probability import Question, probability
from wellkept.memory.recall.features import Feature, FeatureTable, Form, Weights
from wellkept.memory.recall.query_plan import QueryPlan
from wellkept.memory.recall.requests import ScorePart
from wellkept.memory.recall.retrievers import CandidateSet
from wellkept.memory.recall.weights import load_rankings

READ_TEXTS = 48
STALE_FACTOR = 0.5
_SOFTNESS = 3.0
_CLARITY_FROM = 5
_RECENCY_MS = 30.0 * 86_400_000
_IMPORTANCE = 0.15
_CONFIDENCE = 0.15
_RECENCY = 0.05
_CLOSED = 0.8
_UNREVIEWED = 0.95
_PHASE_POWER = 0.25
_LABELS = tuple(signal.label for signal in Feature)
# Which texts are read is decided before the features that need them are known. Words and vectors
# count alike here, so that a text that only one of them finds is read too.
_BEFORE_READING = {
    Feature.WORDS: 1.5,
    Feature.MEANING: 2.0,
    Feature.WORDS_BEFORE: 0.5,
    Feature.WORDS_AFTER: 0.5,
    Feature.SESSION_WORDS: 1.5,
    Feature.SESSION_MEANING: 1.0,
    Feature.SPEAKER: 1.5,
    Feature.DATE: 1.5,
    Feature.FRAGMENTS: 2.0,
    Feature.LINKS: 2.0,
    Feature.CAUSAL: 1.0,
}
_CHOICE = tuple(_BEFORE_READING.get(feature, 0.0) for feature in Feature)
READ_FIRST = Weights(_CHOICE, _CHOICE, _CHOICE)

Read = Callable[[Sequence[str]], list[Memory]]
Contents = Callable[[Sequence[str]], Mapping[str, str]]
Matches = Callable[[str, Sequence[str]], list[float] | None]
WORD_VECTORS = "word_vectors"
"""The weights for all retrievers and an embedder that has vectors of words."""


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
    matches: Matches | None = None


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
    table = FeatureTable(pool, plan)
    first = table.weighed(READ_FIRST)
    read = setting.contents(best_of(first, READ_TEXTS))
    # A damaged index may lead to another memory than the one asked for.
    contents = {each: text for each, text in read.items() if each in first}
    table.read_texts(contents)
    matched = setting.matches(plan.meaning, list(contents.values())) if setting.matches else None
    if matched is not None:
        table.read_matches(dict(zip(contents, matched, strict=True)))
        setting = replace(setting, weight_set=WORD_VECTORS)
    learned = load_rankings()[setting.weight_set]
    sums = table.weighed(learned.weights)
    best = best_of({each: sums[each] for each in contents}, _CLARITY_FROM)
    clarity = _clarity(table, plan, pool, best, setting)
    top = max(sums.values(), default=0.0)

    each = zip(sums.values(), priors(pool.candidates, setting), strict=True)
    closeness = [math.exp((total - top) / _SOFTNESS) * prior for total, prior in each]

    def parts(c: Candidate) -> tuple[ScorePart, ...]:
        weights = learned.weights.of(table.form(c.id))
        signals = zip(_LABELS, table[c.id], weights, strict=True)
        return (
            ScorePart("clarity", clarity, 1.0, clarity),
            *(
                ScorePart(label, value, weight, value * weight)
                for label, value, weight in signals
                if value and weight
            ),
            *priors_of(c, setting),
        )

    return ranking_by(pool.candidates, closeness, parts, scale=clarity)


def _clarity(
    table: FeatureTable,
    plan: QueryPlan,
    pool: CandidateSet,
    best: Sequence[str],
    setting: RankingContext,
) -> float:
    """The probability that the best candidates answer at all. What is linked to a file at hand, or
    to one that changes together with it, needs no words in common."""
    at_hand = {**(pool.links or {}), **(pool.causal or {})}
    if not at_hand.keys().isdisjoint(best):
        return 1.0
    learned = load_rankings()[setting.weight_set]
    question = Question.of(plan, pool, near=setting.near)
    found = 0.0
    for memory in setting.read(best):
        features = table[memory.id]
        support = question.support(
            memory, covers=features[Feature.COVERS], met=features[Feature.MET]
        )
        if any(support):
            is_note = table.form(memory.id) is Form.NOTE
            clearness = learned.note if is_note else learned.turn
            found = max(found, probability(support, clearness))
    return found


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
        from wellkept.memory.recall.phase_weights import STRONGEST_PHASE_WEIGHT, phase_weight

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
