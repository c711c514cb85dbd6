"""Queries and results of a store: filters, pages, hits, candidates, findings.

Plain data. An engine translates a `Filter` into its own query language.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.types import MemoryType, Scope, Severity, Source

_Item = TypeVar("_Item")
RAW_TYPES = (MemoryType.OBSERVATION, MemoryType.PROMPT, MemoryType.TIMELINE)
"""Types written by capture."""
CONFIDENCE_BANDS = 5
"""Confidence is shown as one to five dots."""


def confidence_band(confidence: float) -> int:
    """The dots of a confidence: 1 below 0.2, 5 from 0.8 on."""
    return min(CONFIDENCE_BANDS, int(confidence * CONFIDENCE_BANDS) + 1)


class Validity(StrEnum):
    """Still valid, no longer valid, or both."""

    OPEN = "open"
    CLOSED = "closed"
    ANY = "any"


class Order(StrEnum):
    """How a listing is sorted; ties always break by id."""

    NEWEST = "newest"
    OLDEST = "oldest"
    UPDATED = "updated"
    IMPORTANCE = "importance"
    ACCESSED = "accessed"
    EVENT = "event"  # by the time of the event, earliest first
    EVENT_LATEST = "event-latest"


@record(kw_only=True)
class Filter:
    """Which memories may be seen. Empty tuples and None mean "no condition".

    `project=None` looks at every project and is only for whole-store maintenance. With a project,
    `include_user` adds the memories of scope `user` wherever they were taught.
    Within one field any of the values fits, except `tags`: all of them must be there.
    `since`/`until` bound the time of the event (`valid_from`), half open. `as_of` asks what was
    believed at that moment and overrides `validity`. `methodologies` are those of the work unit;
    `bands` the dots of confidence, 1 to 5 (`confidence_band`). `raw` are observations,
    prompts and summaries as capture wrote them, as long as nobody confirmed or pinned them.
    """

    project: str | None
    include_user: bool = True
    types: tuple[MemoryType, ...] = ()
    scopes: tuple[Scope, ...] = ()
    sources: tuple[Source, ...] = ()
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    methodologies: tuple[str, ...] = ()
    bands: tuple[int, ...] = ()
    min_confidence: float = 0.0
    min_importance: float = 0.0
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    validity: Validity = Validity.OPEN
    stale: bool | None = None
    archived: bool | None = False
    needs_review: bool | None = None
    user_verified: bool | None = None
    pinned: bool | None = None
    raw: bool | None = None

    def __post_init__(self) -> None:
        """NaN compares false with everything and would disable the filter."""
        if math.isnan(self.min_confidence) or math.isnan(self.min_importance):
            raise UsageError("min_confidence and min_importance must be numbers, not NaN.")


@record
class Page(Generic[_Item]):
    """One page of a listing. `next_cursor` is None on the last page."""

    items: tuple[_Item, ...]
    total: int
    next_cursor: str | None = None

    def __iter__(self) -> Iterator[_Item]:
        return iter(self.items)

    def __len__(self) -> int:
        """How many items this page has; `total` counts all pages."""
        return len(self.items)


class SessionPosition(NamedTuple):
    """A position in a session; several memories may share one."""

    session_id: str
    seq: int


class Candidate(NamedTuple):
    """The fields of a memory that ranking needs."""

    id: str
    type: MemoryType
    session_id: str | None
    seq: int | None
    author: str | None
    importance: float
    confidence: float
    valid_from_ms: int
    accessed_ms: int
    access_count: int
    content_chars: int
    stale: bool
    closed: bool
    needs_review: bool

    @property
    def place(self) -> SessionPosition | None:
        """Where it stands in its session, if it has one."""
        if self.session_id is None or self.seq is None:
            return None
        return SessionPosition(self.session_id, self.seq)


class RetrieverHit(NamedTuple):
    """A memory found by one retriever, with that retriever's score."""

    candidate: Candidate
    score: float

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.candidate.id


@record
class Stats:
    """Counts of the memories that match a filter."""

    total: int
    by_type: dict[str, int]
    by_scope: dict[str, int]
    by_source: dict[str, int]
    closed: int
    stale: int
    archived: int
    needs_review: int
    pinned: int
    oldest: datetime | None
    newest: datetime | None


@record
class VectorModelCount:
    """Number of stored vectors of one embedding model."""

    model_id: str
    dimension: int
    count: int


@record
class FileLink:
    """Two files that change or are read together; the weight is between 0 and 1."""

    file_a: str
    file_b: str
    weight: float
    count: int = 1


@record
class Finding:
    """One result of a store check. `repairable`: a rebuild fixes it."""

    check: str
    message: str
    severity: Severity
    repairable: bool
    count: int = 1


@record(kw_only=True)
class StoreContents:
    """Summary of a database file, to recognise it by."""

    schema: int
    size_bytes: int
    memories: int
    oldest_at: datetime | None = None
    newest_at: datetime | None = None
    projects: tuple[tuple[str, int], ...] = ()
