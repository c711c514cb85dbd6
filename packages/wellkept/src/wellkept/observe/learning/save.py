"""Weighs lessons, and saves them as memories with their explanation.

Frequency is n / (n + 1). Recency halves every 30 days before the project's latest session, so an
idle project loses nothing. Novelty is the distance to the nearest known statement.

The key of a lesson is made of its rule and subject. Seen again, the memory under that key is
strengthened in place and keeps its id. Text that a person changed is never overwritten, and a
memory that a person removed does not come back on the same evidence.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.core.changes import Close, PutExplanation, Replace
from wellkept.core.clock import days_between
from wellkept.core.errors import ProviderError
from wellkept.core.memory import Memory, MemoryDraft
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept.core.text import content_words, jaccard
from wellkept.core.types import TYPE_RULES, EvidenceKind, MemoryType
from wellkept.memory.draft import compose
from wellkept.memory.engine import Engine, Thresholds
from wellkept.memory.remember import reinforced, remember, with_retries
from wellkept.observe import thresholds as t
from wellkept.observe.learning.rules import Lesson
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
_SESSION_COUNTS = "observer_promoted"
_MAX_EVIDENCE = 30


Saved: TypeAlias = tuple[Literal["promoted", "confirmed", "unchanged", "forgotten"], "str | None"]
"""What happened to a lesson, and the id of its memory."""


def save_lesson(engine: Engine, lesson: Lesson) -> Saved:
    """Save a lesson, or strengthen the memory that already says it; the id of that memory."""
    project, sessions = lesson.why.project, len(lesson.sessions)
    if engine.store.find_key(lesson.key, project=project, user_scope=False) is not None:
        return _confirm(engine, lesson)
    if was_removed_by_user(engine, lesson.key, sessions, project=project):
        return "forgotten", None
    if lesson.known is not None:
        return _add_evidence(engine, lesson.known, lesson)
    saved = remember(
        engine,
        lesson.draft,
        project=project,
        merge_similar=False,
        beside=lambda memory: (
            Replace(_with_sessions(memory, lesson), None, memory.updated_at),
            PutExplanation(replace(lesson.why, memory_id=memory.id)),
        ),
    )
    record_session_count(engine, lesson.key, sessions, project=project)
    return "promoted", saved.memory.id


def put_running_record(engine: Engine, draft: MemoryDraft, *, project: str) -> Memory:
    """Write a record that is updated in place under its key: a cost, outcome or work state."""

    def attempt() -> Memory:
        new = compose(draft, project=project, id=engine.new_id(), now=engine.clock())
        old = engine.store.find_key(draft.key or "", project=project, user_scope=False)
        if old is None:
            return remember(engine, draft, project=project, merge_similar=False).memory
        if (old.content, old.payload) == (new.content, new.payload) or old.user_verified:
            return old
        updated = replace(
            reinforced(old, new, now=engine.clock()),
            content=new.content,
            payload=new.payload,
            files=new.files,
            confidence=new.confidence,
        )
        engine.store.apply([Replace(updated, engine.index_entry(updated), old.updated_at)])
        return updated

    return with_retries(attempt)


def close_running_record(engine: Engine, key: str, *, project: str) -> None:
    """Close a running record that no longer applies. It may come back: no person removed it."""
    old = engine.store.find_key(key, project=project, user_scope=False)
    if old is not None and not old.user_verified and not old.pinned:
        engine.store.apply([Close(old.id, max(engine.clock(), old.valid_from))])
        engine.store.put_value(_SESSION_COUNTS, f"{project} {key}", None)


def _confirm(engine: Engine, lesson: Lesson) -> Saved:
    """Strengthen the memory under the key of a lesson; what a person changed keeps its text."""
    key, project = lesson.key, lesson.why.project

    def attempt() -> Saved:
        old = engine.store.find_key(key, project=project, user_scope=False)
        if old is None:
            return "unchanged", None
        record_session_count(engine, key, len(lesson.sessions), project=project)
        if set(lesson.sessions) <= set(old.provenance_sessions):
            return "unchanged", old.id
        now = engine.clock()
        new = compose(lesson.draft, project=project, id=old.id, now=now)
        updated = _with_sessions(reinforced(old, new, now=now), lesson)
        if not old.user_verified and old.type is lesson.draft.type:
            updated = replace(updated, content=new.content, payload=new.payload)
        card = engine.index_entry(updated) if updated.content != old.content else None
        why = replace(lesson.why, memory_id=old.id)
        engine.store.apply([Replace(updated, card, old.updated_at), PutExplanation(why)])
        return "confirmed", old.id

    return with_retries(attempt)


def _add_evidence(engine: Engine, old: Memory, lesson: Lesson) -> Saved:
    """Add the sessions of a lesson to a memory that already says it."""

    def attempt() -> Saved:
        found, now = engine.store.get([old.id]), engine.clock()
        if not found or set(lesson.sessions) <= set(found[0].provenance_sessions):
            return "unchanged", old.id
        draft = replace(lesson.draft, key=None)
        new = compose(draft, project=lesson.why.project, id=engine.new_id(), now=now)
        updated = _with_sessions(reinforced(found[0], new, now=now), lesson)
        engine.store.apply([Replace(updated, None, found[0].updated_at)])
        return "confirmed", old.id

    return with_retries(attempt)


def _with_sessions(memory: Memory, lesson: Lesson) -> Memory:
    sessions = dict.fromkeys((*memory.provenance_sessions, *lesson.sessions))
    return limit_evidence(replace(memory, provenance_sessions=tuple(sessions)))


def limit_evidence(memory: Memory) -> Memory:
    """The memory with only the latest sessions and commits as evidence; other kinds stay."""
    limited = (EvidenceKind.SESSION, EvidenceKind.COMMIT)
    latest = {
        id(one)
        for kind in limited
        for one in [e for e in memory.evidence if e.kind is kind][-_MAX_EVIDENCE:]
    }
    return replace(
        memory,
        provenance_sessions=memory.provenance_sessions[-_MAX_EVIDENCE:],
        evidence=tuple(e for e in memory.evidence if e.kind not in limited or id(e) in latest),
    )


def record_session_count(engine: Engine, key: str, sessions: int, *, project: str) -> None:
    """Store how many sessions back a memory; `was_removed_by_user` compares with it."""
    before = engine.store.get_value(_SESSION_COUNTS, f"{project} {key}")
    if not isinstance(before, int) or before < sessions:
        engine.store.put_value(_SESSION_COUNTS, f"{project} {key}", sessions)


def was_removed_by_user(engine: Engine, key: str, sessions: int, *, project: str) -> bool:
    """Whether a memory was removed; it may come back once twice as many sessions back it."""
    before = engine.store.get_value(_SESSION_COUNTS, f"{project} {key}")
    return isinstance(before, int) and sessions < 2 * before


# -- Scores ---------------------------------------------------------------------------------------


def weigh(engine: Engine, lesson: Lesson, *, latest: datetime) -> Lesson:
    """The lesson with its score; `latest` is the time of the project's latest session."""
    nearest, similarity = _nearest(engine, lesson)
    age = max(0.0, days_between(lesson.last_seen, latest))
    # What an agent noted counts at once.
    seen = 1.0 if lesson.why.rule == "agent_note" else 1 - 1 / (1 + len(lesson.sessions))
    recency, novelty = 0.5 ** (age / t.RECENCY_HALF_LIFE_DAYS), max(0.0, 1.0 - similarity)
    weighed = replace(
        lesson.why,
        score=round(
            seen * t.FREQUENCY_WEIGHT + recency * t.RECENCY_WEIGHT + novelty * t.NOVELTY_WEIGHT, 6
        ),
        frequency=round(seen, 3),
        recency=round(recency, 3),
        novelty=round(novelty, 3),
    )
    return replace(lesson, why=weighed, known=nearest if similarity >= _NOMINAL.known else None)


def _nearest(engine: Engine, lesson: Lesson) -> tuple[Memory | None, float]:
    """The most similar other statement about the same files, on the nominal scale."""
    where = Filter(project=lesson.why.project, types=_STATEMENTS, stale=False)
    files = {*lesson.draft.files}
    best: tuple[Memory | None, float] = (None, 0.0)
    for memory, similarity in _neighbours(engine, lesson.draft, where):
        if memory.key == lesson.key or (files and not files & {*memory.files}):
            continue
        if similarity > best[1]:
            best = (memory, similarity)
    return best


def _neighbours(engine: Engine, draft: MemoryDraft, where: Filter) -> list[tuple[Memory, float]]:
    try:
        embedder = engine.embedder()
        vector = embedder.embed_documents([draft.content])[0] if embedder is not None else None
    except ProviderError:
        embedder, vector = None, None
    if embedder is None or vector is None:
        return _by_words(engine, draft, where)
    hits = engine.store.search_vectors(
        vector, model_id=embedder.model_id, where=where, limit=_NEIGHBOURS
    )
    scores = {hit.id: hit.score for hit in hits}
    known = engine.thresholds().known
    return [
        (memory, _adjusted(_nominal(scores[memory.id], known=known), memory, draft))
        for memory in engine.store.get(list(scores))
    ]


def _adjusted(similarity: float, memory: Memory, draft: MemoryDraft) -> float:
    """Rule texts are all similar, so a statement about other files is never a duplicate."""
    same_files = set(memory.files) == set(draft.files)
    is_different = compare(memory.content, draft.content) is TextRelation.DIFFERENT
    if is_different or not same_files:
        return min(similarity, _NOMINAL.known - 0.01)
    return similarity


def _by_words(engine: Engine, draft: MemoryDraft, where: Filter) -> list[tuple[Memory, float]]:
    """Similarity by shared words, when there is no embedder."""
    mine = content_words(draft.content)
    hits = engine.store.search_fulltext(mine[:24], where, limit=_NEIGHBOURS)
    found = engine.store.get([hit.id for hit in hits])
    return [
        (memory, _adjusted(jaccard(mine, content_words(memory.content)), memory, draft))
        for memory in found
    ]


def _nominal(score: float, *, known: float) -> float:
    """Map a cosine of the current model to the scale of the nominal thresholds."""
    if score >= known:
        rest = 1.0 - known
        return _NOMINAL.known + (1.0 - _NOMINAL.known) * ((score - known) / rest if rest else 1.0)
    return max(0.0, score) * _NOMINAL.known / known if known > 0 else 0.0
