"""Candidate sets made by hand, for ranking without a store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from wellkept.core.clock import to_ms
from wellkept.core.memory import Memory
from wellkept.core.query import Candidate
from wellkept.core.types import MemoryType
from wellkept.memory.recall.ranking import RankingContext
from wellkept.memory.recall.retrievers import CandidateSet, QueryPlan, plan_query

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOW_MS = to_ms(NOW)
DAY_MS = 86_400_000


def candidate(name: str, **changes: Any) -> Candidate:
    """A plain candidate; any field may be set."""
    plain = Candidate(
        id=name,
        type=MemoryType.FACT,
        session_id=None,
        seq=None,
        author=None,
        importance=0.5,
        confidence=0.8,
        valid_from_ms=NOW_MS,
        accessed_ms=NOW_MS,
        access_count=0,
        content_chars=100,
        stale=False,
        closed=False,
        needs_review=False,
    )
    return plain._replace(**changes)


def memory(name: str, content: str, **changes: Any) -> Memory:
    """The memory that a candidate stands for."""
    plain = Memory(
        id=name,
        project="name:here",
        type=MemoryType.FACT,
        content=content,
        created_at=NOW,
        updated_at=NOW,
        valid_from=NOW,
        accessed_at=NOW,
    )
    return replace(plain, **changes)


def setting(*memories: Memory, **changes: Any) -> RankingContext:
    """A setting that can read these memories."""
    by_id = {m.id: m for m in memories}
    plain = RankingContext(
        now_ms=NOW_MS,
        read=lambda ids: [by_id[each] for each in ids if each in by_id],
        contents=lambda ids: {each: by_id[each].content for each in ids if each in by_id},
        near=0.85,
        weight_set="words",
    )
    return replace(plain, **changes)


def plan(query: str = "where is the cache") -> QueryPlan:
    """A question, read."""
    return plan_query(query, now=NOW)


def pool(*candidates: Candidate, **arms: Any) -> CandidateSet:
    """A pool with what the arms found."""
    return CandidateSet(candidates=candidates, **arms)
