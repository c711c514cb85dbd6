"""Keeps what was settled in conversation as decisions, through the write path of every memory.

A later restatement in the same exchange takes the place of the earlier one. A settlement that says
that it amends is tied to the older one nearest in words: that one is closed, and the new one is
found by the words of both.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import datetime

from wellkept.core.changes import Close
from wellkept.core.errors import ConflictError
from wellkept.core.memory import Evidence, Memory, MemoryDraft, Relation
from wellkept.core.payloads import Decision
from wellkept.core.query import Filter
from wellkept.core.text import content_words, stem
from wellkept.core.types import EvidenceKind, MemoryType, RelationType, Source
from wellkept.memory.engine import Engine
from wellkept.memory.remember import remember
from wellkept.observe.session.exchange import Settlement
from wellkept.text.memory_commands.rules import FindNamed

AGREED_TAG = "agreed"
_IMPORTANCE, _CONFIDENCE = 0.6, 0.8
_NEAREST = 5
_MIN_SHARED = 0.25
"""Of the words of an amendment, how many the amended one has to share."""


def keep_settlement(
    engine: Engine,
    settled: Settlement,
    *,
    project: str,
    session_id: str,
    at: datetime,
    find_named: FindNamed,
) -> Memory:
    """Store a settlement; returns its memory."""
    older = _amended(engine, settled, project=project, session_id=session_id)
    named = find_named(settled.text)
    subject = settled.subject
    relations: tuple[Relation, ...] = ()
    if older is not None:
        subject = f"{subject} {_subject(older)}"
        relations = (Relation(RelationType.SUPERSEDES, older.id, auto_extracted=True),)
    draft = MemoryDraft(
        content=settled.text,
        type=MemoryType.DECISION,
        key=f"settled:{session_id}:{settled.number}",
        tags=(AGREED_TAG, *named.tags),
        files=named.files,
        graph_node=named.symbol,
        importance=_IMPORTANCE,
        confidence=_CONFIDENCE,
        source=Source.OBSERVER_INFERRED,
        session_id=session_id,
        relations=relations,
        evidence=(Evidence(EvidenceKind.SESSION, session_id, at=at),),
        valid_from=at,
        payload=Decision(subject=subject),
    )
    kept = remember(engine, draft, project=project, merge_similar=False).memory
    if older is not None and older.id != kept.id:
        ended = max(older.valid_from, min(engine.clock(), kept.valid_from))
        with suppress(ConflictError):  # closed meanwhile, by whoever
            engine.store.apply([Close(older.id, ended, kept.id, older.updated_at)])
    return kept


def _amended(
    engine: Engine, settled: Settlement, *, project: str, session_id: str
) -> Memory | None:
    """The older settlement that an amendment is about."""
    if not settled.amends:
        return None
    where = Filter(project=project, types=(MemoryType.DECISION,), tags=(AGREED_TAG,))
    terms = list(dict.fromkeys(content_words(settled.text)))
    hits = engine.store.search_fulltext(terms, where, limit=_NEAREST)
    mine = Counter(map(stem, content_words(settled.text)))
    for memory in engine.store.get([hit.id for hit in hits]):
        theirs = set(map(stem, content_words(f"{memory.content} {_subject(memory)}")))
        shared = sum(word in theirs for word in mine)
        if memory.session_id != session_id and shared >= _MIN_SHARED * len(mine):
            return memory
    return None


def _subject(memory: Memory) -> str:
    return memory.payload.subject if isinstance(memory.payload, Decision) else ""
