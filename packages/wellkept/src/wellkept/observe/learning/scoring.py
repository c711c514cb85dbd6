"""Scores conclusions by frequency, recency and novelty, each from 0 to 1.

Frequency is n / (n + 1). Recency halves every 30 days before the project's latest session, so an
idle project loses nothing. Novelty is the distance to the nearest known statement.
"""

from __future__ import annotations

from datetime import datetime

from wellkept.core.clock import days_between
from wellkept.core.errors import ProviderError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter
from wellkept.core.records import record
from wellkept.core.text import content_words, jaccard
from wellkept.core.types import TYPE_RULES, MemoryType
from wellkept.memory.engine import Engine, Thresholds
from wellkept.observe import thresholds as t
from wellkept.observe.learning.rules import Conclusion, key_of
from wellkept.text.similarity import TextRelation, compare

_NEIGHBOURS = 8
_NOMINAL = Thresholds()
_LOGS = frozenset(
    {
        MemoryType.OBSERVATION,
        MemoryType.PROMPT,
        MemoryType.TIMELINE,
        MemoryType.EPISODE,
        MemoryType.WORK_UNIT_OUTCOME,
        MemoryType.WORK_STATE,
        MemoryType.CONTEXT_COST,
    }
)
_STATEMENTS = tuple(kind for kind in TYPE_RULES if kind not in _LOGS)


@record
class Score:
    """The score of a conclusion, and the nearest known memory."""

    frequency: float
    recency: float
    novelty: float
    nearest: Memory | None = None
    is_known: bool = False

    @property
    def total(self) -> float:
        """The weighted sum."""
        return (
            self.frequency * t.FREQUENCY_WEIGHT
            + self.recency * t.RECENCY_WEIGHT
            + self.novelty * t.NOVELTY_WEIGHT
        )


def score_conclusion(
    engine: Engine, conclusion: Conclusion, *, project: str, latest: datetime
) -> Score:
    """The score of a conclusion; `latest` is the time of the project's latest session."""
    nearest, similarity = _nearest(engine, conclusion, project=project)
    return Score(
        frequency=frequency(conclusion),
        recency=0.5
        ** (max(0.0, days_between(conclusion.last_seen, latest)) / t.RECENCY_HALF_LIFE_DAYS),
        novelty=max(0.0, 1.0 - similarity),
        nearest=nearest,
        is_known=similarity >= _NOMINAL.known,
    )


def frequency(conclusion: Conclusion) -> float:
    """n / (n + 1) for n sessions or counts; 1 for explicit notes."""
    if conclusion.rule.name == "agent_note":
        return 1.0
    seen = max(len(conclusion.sessions), conclusion.count if conclusion.rule.min_count > 1 else 1)
    return seen / (seen + 1)


def _nearest(
    engine: Engine, conclusion: Conclusion, *, project: str
) -> tuple[Memory | None, float]:
    """The most similar other statement about the same files, on the nominal scale."""
    where = Filter(project=project, types=_STATEMENTS, stale=False)
    best: tuple[Memory | None, float] = (None, 0.0)
    for memory, similarity in _neighbours(engine, conclusion, where):
        is_same = memory.key == key_of(conclusion)
        if is_same or (conclusion.files and not set(conclusion.files) & set(memory.files)):
            continue
        if similarity > best[1]:
            best = (memory, similarity)
    return best


def _neighbours(
    engine: Engine, conclusion: Conclusion, where: Filter
) -> list[tuple[Memory, float]]:
    try:
        embedder = engine.embedder()
        vector = embedder.embed_documents([conclusion.content])[0] if embedder is not None else None
    except ProviderError:
        embedder, vector = None, None
    if embedder is None or vector is None:
        return _by_words(engine, conclusion, where)
    hits = engine.store.search_vectors(
        vector, model_id=embedder.model_id, where=where, limit=_NEIGHBOURS
    )
    scores = {hit.id: hit.score for hit in hits}
    known = engine.thresholds().known
    return [
        (memory, _adjusted(_nominal(scores[memory.id], known=known), memory, conclusion))
        for memory in engine.store.get(list(scores))
    ]


def _adjusted(similarity: float, memory: Memory, conclusion: Conclusion) -> float:
    """Rule texts are all similar, so a statement about other files is never a duplicate."""
    same_files = set(memory.files) == set(conclusion.files)
    is_different = compare(memory.content, conclusion.content) is TextRelation.DIFFERENT
    if is_different or not same_files:
        return min(similarity, _NOMINAL.known - 0.01)
    return similarity


def _by_words(engine: Engine, conclusion: Conclusion, where: Filter) -> list[tuple[Memory, float]]:
    """Similarity by shared words, when there is no embedder."""
    mine = content_words(conclusion.content)
    hits = engine.store.search_fulltext(mine[:24], where, limit=_NEIGHBOURS)
    found = engine.store.get([hit.id for hit in hits])
    return [
        (memory, _adjusted(jaccard(mine, content_words(memory.content)), memory, conclusion))
        for memory in found
    ]


def _nominal(score: float, *, known: float) -> float:
    """Map a cosine of the current model to the scale of the nominal thresholds."""
    if score >= known:
        rest = 1.0 - known
        return _NOMINAL.known + (1.0 - _NOMINAL.known) * ((score - known) / rest if rest else 1.0)
    return max(0.0, score) * _NOMINAL.known / known if known > 0 else 0.0
