"""Requests and results of recall."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum

from wellkept.core.memory import Memory
from wellkept.core.query import Filter
from wellkept.core.records import record
from wellkept.core.types import Phase

DEFAULT_PROFILE = "default"
DEFAULT_MIN_SCORE = 0.05
"""Below this probability a memory is not given as an answer, unless the caller asks for less."""
BESIDE_SHARE = 0.4
"""Beside an answer, a turn of a session is given from this share of the least score on; while no
answer is clear, a note too."""
CLEAR_SCORE = 0.25
"""From here on a memory counts as an answer, and raw records are not searched for another."""
BESIDE_A_CLEAR_ONE = 0.1
"""Beside a clear answer, a note is given from this share of its score on."""
NOTHING_KNOWN = "Nothing known about that."


class SearchMode(StrEnum):
    """Which retrievers run: all (the default), words only, or vectors only."""

    HYBRID = "hybrid"
    WORDS = "words"
    VECTORS = "vectors"


@record(kw_only=True)
class RecallRequest:
    """One query.

    `files` are the files being worked on: memories linked to them are candidates too. Time modes:
    dates in the query (off with `read_dates=False`), `where.since/until`, `recent_sessions=n`, and
    `around`, a memory id whose session and time frame results must come from. `neighbours` is the
    number of memories before and after each hit in its session to return with it. Hits that score
    below `min_score` are left out; up to the default, turns beside an answer have a lower bar.
    `second_pass` lets a text model and a reranker help, if there are any; it may take seconds.
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
    min_score: float = 0.0
    second_pass: bool = True


@record
class ScorePart:
    """One term of a score: its value, its weight, and what it added or multiplied."""

    name: str
    value: float
    weight: float
    effect: float


@record(kw_only=True)
class RecallHit:
    """A memory found, which retrievers found it, the parts of its score, and its neighbours."""

    memory: Memory
    score: float
    retrievers: tuple[str, ...]
    parts: tuple[ScorePart, ...] = ()
    before: tuple[Memory, ...] = ()
    after: tuple[Memory, ...] = ()
    stale: bool = False


@record(kw_only=True)
class RecallResult:
    """Hits in order, the number of candidates considered, and notes for the caller."""

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
