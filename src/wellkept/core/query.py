"""What can be asked of a store: filters, pages, hits and the slim view of a candidate.

Everything here is plain data. A store turns a `Filter` into its own query language; nothing of
that language shows here.
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
"""What capture writes down as it happens."""


class Validity(StrEnum):
    """Which memories in time: still believed, no longer believed, or both."""

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
    believed at that moment and overrides `validity`. `raw` are observations, prompts and summaries
    as capture wrote them, as long as nobody confirmed or pinned them.
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
        """What is no number cannot be compared with; it would let everything through."""
        if math.isnan(self.min_confidence) or math.isnan(self.min_importance):
            raise UsageError("A least confidence or importance must be a number, not NaN.")


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
    """A place in a session; several memories may share one."""

    session_id: str
    seq: int


class Candidate(NamedTuple):
    """What ranking needs to know of a memory without loading it whole."""

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
    """A memory that one arm of the search found, and how well by that arm's own measure."""

    candidate: Candidate
    score: float

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.candidate.id


@record
class Stats:
    """Counts over the memories that a filter lets through."""

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
    """How many vectors of one embedding model the store holds."""

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
    """One thing that a check of the store found. `repairable` means a rebuild mends it."""

    check: str
    message: str
    severity: Severity
    repairable: bool
    count: int = 1


@record(kw_only=True)
class StoreContents:
    """What a database file holds, told from its rows: enough to know it by."""

    schema: int
    size_bytes: int
    memories: int
    oldest_at: datetime | None = None
    newest_at: datetime | None = None
    projects: tuple[tuple[str, int], ...] = ()
