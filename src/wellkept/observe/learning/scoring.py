"""How much a conclusion is worth keeping: frequency, recency and novelty, each from 0 to 1.

Frequency is n / (n + 1) of how often it was seen. Recency halves every thirty days of the
project's own time, counted back from its latest session, so that a project that rested is not
forgotten. Novelty is how far the nearest known statement is away.
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
from wellkept.memory.text.similarity import TextRelation, compare
from wellkept.observe import thresholds as t
from wellkept.observe.learning.rules import Conclusion, key_of

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
    """What a conclusion scored, and the nearest thing that is known already."""

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


def scored(engine: Engine, made: Conclusion, *, project: str, latest: datetime) -> Score:
    """The score of a conclusion; `latest` is when the project was last worked on."""
    nearest, likeness = _nearest(engine, made, project=project)
    return Score(
        frequency=frequency(made),
        recency=0.5 ** (max(0.0, days_between(made.last_seen, latest)) / t.RECENCY_HALF_LIFE_DAYS),
        novelty=max(0.0, 1.0 - likeness),
        nearest=nearest,
        is_known=likeness >= _NOMINAL.known,
    )


def frequency(made: Conclusion) -> float:
    """How often something was seen, as a share; what was said outright counts in full."""
    if made.rule.name == "agent_note":
        return 1.0
    seen = max(len(made.sessions), made.count if made.rule.min_count > 1 else 1)
    return seen / (seen + 1)


def _nearest(engine: Engine, made: Conclusion, *, project: str) -> tuple[Memory | None, float]:
    """The nearest other statement about the same files, and how near on the nominal scale."""
    where = Filter(project=project, types=_STATEMENTS, stale=False)
    best: tuple[Memory | None, float] = (None, 0.0)
    for memory, likeness in _neighbours(engine, made, where):
        is_itself = memory.key == key_of(made)
        if is_itself or (made.files and not set(made.files) & set(memory.files)):
            continue
        if likeness > best[1]:
            best = (memory, likeness)
    return best


def _neighbours(engine: Engine, made: Conclusion, where: Filter) -> list[tuple[Memory, float]]:
    try:
        embedder = engine.embedder()
        vector = embedder.embed_documents([made.content])[0] if embedder is not None else None
    except ProviderError:
        embedder, vector = None, None
    if embedder is None or vector is None:
        return _by_words(engine, made, where)
    hits = engine.store.search_vectors(
        vector, model_id=embedder.model_id, where=where, limit=_NEIGHBOURS
    )
    scores = {hit.id: hit.score for hit in hits}
    known = engine.thresholds().known
    return [
        (memory, _judged(_nominal(scores[memory.id], known=known), memory, made))
        for memory in engine.store.get(list(scores))
    ]


def _judged(likeness: float, memory: Memory, made: Conclusion) -> float:
    """Sentences of one mould are near each other; about other files they are other facts."""
    same_matter = set(memory.files) == set(made.files)
    told_apart = compare(memory.content, made.content) is TextRelation.DIFFERENT
    if told_apart or not same_matter:
        return min(likeness, _NOMINAL.known - 0.01)
    return likeness


def _by_words(engine: Engine, made: Conclusion, where: Filter) -> list[tuple[Memory, float]]:
    """Without vectors, shared words tell how near two statements are."""
    mine = content_words(made.content)
    hits = engine.store.search_words(mine[:24], where, limit=_NEIGHBOURS)
    found = engine.store.get([hit.id for hit in hits])
    return [
        (memory, _judged(jaccard(mine, content_words(memory.content)), memory, made))
        for memory in found
    ]


def _nominal(score: float, *, known: float) -> float:
    """A cosine of the model in use on the scale that the nominal thresholds are given in."""
    if score >= known:
        room = 1.0 - known
        return _NOMINAL.known + (1.0 - _NOMINAL.known) * ((score - known) / room if room else 1.0)
    return max(0.0, score) * _NOMINAL.known / known if known > 0 else 0.0
