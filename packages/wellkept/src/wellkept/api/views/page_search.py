"""`wk.find()`: recall for people, with the parts of each score. Looking counts as no use."""

from __future__ import annotations

from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING

from wellkept.core.memory import Memory
from wellkept.core.records import record
from wellkept.memory.recall.requests import ScorePart

if TYPE_CHECKING:
    from wellkept.memory.recall.requests import RecallResult


@record(kw_only=True)
class FoundMemory:
    """A memory that was found, by which retrievers, and the parts of its score."""

    memory: Memory
    score: float
    retrievers: tuple[str, ...]
    parts: tuple[ScorePart, ...]
    stale: bool


@record(kw_only=True)
class FoundMemories:
    """What was found, best first. `considered` is the number of candidates; `since` and `until`
    are the dates that were read in the query."""

    hits: tuple[FoundMemory, ...]
    considered: int
    notes: tuple[str, ...]
    since: datetime | None
    until: datetime | None
    next_offset: int | None
    took_ms: float


def found_memories(found: RecallResult, *, started_s: float) -> FoundMemories:
    """A recall as people see it; `started_s` is when it began."""
    return FoundMemories(
        hits=tuple(
            FoundMemory(
                memory=hit.memory,
                score=hit.score,
                retrievers=hit.retrievers,
                parts=hit.parts,
                stale=hit.stale,
            )
            for hit in found
        ),
        considered=found.considered,
        notes=found.notes,
        since=found.since,
        until=found.until,
        next_offset=found.next_offset,
        took_ms=round((perf_counter() - started_s) * 1000, 1),
    )
