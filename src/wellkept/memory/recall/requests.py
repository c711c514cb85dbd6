"""The questions and answers of recall, as plain data shared by every edge."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum

from wellkept.core.memory import Memory
from wellkept.core.query import Filter
from wellkept.core.records import record
from wellkept.core.types import Phase

DEFAULT_PROFILE = "default"


class SearchMode(StrEnum):
    """Which arms may look: both (the default), words only, or vectors only."""

    HYBRID = "hybrid"
    WORDS = "words"
    VECTORS = "vectors"


@record(kw_only=True)
class RecallRequest:
    """One question to memory.

    `files` are files at hand: memories tied to them are candidates too. Temporal modes: dates in
    the query (switched off with `read_dates=False`), `where.since/until`, `recent_sessions=n`, and
    `around`, a memory id whose session and time frame the answer should come from.
    `neighbours` memories before and after each hit in its session travel along.
    """

    query: str
    where: Filter
    limit: int = 10
    offset: int = 0
    phase: Phase | None = None
    profile: str = DEFAULT_PROFILE
    mode: SearchMode = SearchMode.HYBRID
    files: tuple[str, ...] = ()
    read_dates: bool = True
    recent_sessions: int | None = None
    around: str | None = None
    neighbours: int = 0
    count_access: bool = True


@record
class ScorePart:
    """One term of a score: what was measured, its weight, and what it added or multiplied."""

    name: str
    value: float
    weight: float
    effect: float


@record(kw_only=True)
class RecallHit:
    """A memory that answers, why it ranks where it does, and what stands around it."""

    memory: Memory
    score: float
    arms: tuple[str, ...]
    parts: tuple[ScorePart, ...] = ()
    before: tuple[Memory, ...] = ()
    after: tuple[Memory, ...] = ()
    stale: bool = False


@record(kw_only=True)
class RecallResult:
    """The answer: hits in order, how many there were to choose from, and honest remarks."""

    hits: tuple[RecallHit, ...]
    considered: int
    notes: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    next_offset: int | None = None

    def __iter__(self) -> Iterator[RecallHit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> RecallHit:
        return self.hits[index]
