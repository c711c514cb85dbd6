"""Finds the stored statements that a new one may repeat or contradict.

By vector where there is one, and by words: equal statements, and rules that contradict each other.
"""

from __future__ import annotations

from wellkept.core.changes import IndexEntry
from wellkept.core.memory import Memory
from wellkept.core.query import Filter
from wellkept.core.text import content_words
from wellkept.core.types import MemoryType, Scope
from wellkept.memory.engine import Engine
from wellkept.text.contradictions.cues import former_words
from wellkept.text.contradictions.opposites import related_terms
from wellkept.text.contradictions.supersedes import MAX_STATEMENT_CHARS, supersedes
from wellkept.text.similarity import TextRelation, compare

_NEIGHBOURS = 8
_LOG_TYPES = frozenset(
    {
        MemoryType.EPISODE,
        MemoryType.TIMELINE,
        MemoryType.WORK_UNIT_OUTCOME,
        MemoryType.OBSERVATION,
        MemoryType.PROMPT,
    }
)
# Of these the newest holds: an older one that it contradicts is closed.
_RULE_TYPES = frozenset(
    {
        MemoryType.PREFERENCE,
        MemoryType.CONVENTION,
        MemoryType.CORRECTION,
        MemoryType.REQUIREMENT,
        MemoryType.FACT,
        MemoryType.DECISION,
    }
)
_WORD_HITS = 24


def is_mergeable(memory: Memory) -> bool:
    """Statements are merged; raw session records and memories with a payload are not."""
    return memory.seq is None and memory.type not in _LOG_TYPES and memory.payload is None


def near_statements(engine: Engine, memory: Memory, entry: IndexEntry) -> list[tuple[Memory, bool]]:
    """Open statements of the same project and scope that are near by vector, nearest first, each
    with whether it is near enough to be the same statement.

    Without vectors only equal words count as near, and rules that contradict each other by words.
    """
    where = Filter(
        project=memory.project, include_user=memory.scope is Scope.USER, scopes=(memory.scope,)
    )
    by_words = _near_by_words(engine, memory, where)
    if entry.vector is None or entry.model_id is None:
        return by_words
    cuts = engine.thresholds()
    hits = engine.store.search_vectors(
        entry.vector, model_id=entry.model_id, where=where, limit=_NEIGHBOURS
    )
    scores = {hit.id: hit.score for hit in hits if hit.score >= cuts.related}
    found = filter(is_mergeable, engine.store.get(list(scores)))
    near = [(m, scores[m.id] >= cuts.duplicate) for m in found]
    return [*near, *((m, same) for m, same in by_words if m.id not in scores)]


def _near_by_words(engine: Engine, memory: Memory, where: Filter) -> list[tuple[Memory, bool]]:
    """Statements in equal words, and rules that this one contradicts."""
    is_rule = _is_rule(memory)
    also = [*former_words(memory.content), *related_terms(memory.content)] if is_rule else []
    terms = list(dict.fromkeys([*also, *content_words(memory.content)]))[:32]
    hits = engine.store.search_fulltext(terms, where, limit=_WORD_HITS if is_rule else _NEIGHBOURS)
    found: list[tuple[Memory, bool]] = []
    for old in filter(is_mergeable, engine.store.get([hit.id for hit in hits])):
        relation = compare(old.content, memory.content)
        if relation is TextRelation.SAME:
            found.append((old, True))
        elif is_rule and _is_rule(old) and supersedes(old.content, memory.content):
            found.append((old, False))
    return found


def _is_rule(memory: Memory) -> bool:
    return memory.type in _RULE_TYPES and len(memory.content) <= MAX_STATEMENT_CHARS
