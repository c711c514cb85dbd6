"""The one record everything turns on: `Memory`, and the draft and patch that make and change it.

Importance says how much a memory matters and fades with disuse; confidence says how sure we are
and moves with evidence; `work_tokens` is what it cost to find out. `valid_from`/`valid_to` say
when it was true: a memory that turned out wrong or out of date is closed and points to its
successor, never overwritten.
"""

from __future__ import annotations

from datetime import datetime

from wellkept.core.codec import Payload
from wellkept.core.ids import short_id
from wellkept.core.records import record
from wellkept.core.types import EvidenceKind, MemoryType, RelationType, Scope, Source

MAX_CONTENT_CHARS = 1_048_576


@record
class WorkUnitRef:
    """A unit of work in some methodology; the hierarchy is opaque to everyone but its plugin."""

    methodology: str
    hierarchy: tuple[str, ...]
    label: str


@record
class Relation:
    """A typed link to another memory or to a file: exactly one target is set."""

    type: RelationType
    target_id: str | None = None
    target_file: str | None = None
    confidence: float = 1.0
    auto_extracted: bool = False


@record
class Evidence:
    """What a memory rests on. `ref` names it; `note` keeps the words (e.g. of a merged text)."""

    kind: EvidenceKind
    ref: str
    note: str | None = None
    at: datetime | None = None


@record(kw_only=True)
class Memory:
    """One thing that is known, with where it came from and how long it held."""

    id: str
    project: str
    type: MemoryType
    content: str
    created_at: datetime
    updated_at: datetime
    valid_from: datetime
    accessed_at: datetime
    key: str | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 0.8
    scope: Scope = Scope.GLOBAL
    source: Source = Source.AGENT_EXPLICIT
    author: str | None = None
    session_id: str | None = None
    seq: int | None = None
    provenance_sessions: tuple[str, ...] = ()
    commit_sha: str | None = None
    work_unit: WorkUnitRef | None = None
    relations: tuple[Relation, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    graph_node: str | None = None
    half_life_days: float | None = None
    needs_review: bool = False
    user_verified: bool = False
    pinned: bool = False
    citation: str | None = None
    work_tokens: int | None = None
    payload: Payload | None = None
    valid_to: datetime | None = None
    superseded_by: str | None = None
    stale_at: datetime | None = None
    archived_at: datetime | None = None
    access_count: int = 0

    @property
    def short(self) -> str:
        """The id as people see and type it."""
        return short_id(self.id)

    @property
    def is_open(self) -> bool:
        """Whether this is still believed."""
        return self.valid_to is None


@record(kw_only=True)
class MemoryDraft:
    """What a caller says about a memory to be; everything else is filled in when it is kept."""

    content: str
    type: MemoryType = MemoryType.FACT
    key: str | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    importance: float | None = None
    confidence: float | None = None
    scope: Scope | None = None
    source: Source = Source.AGENT_EXPLICIT
    author: str | None = None
    session_id: str | None = None
    seq: int | None = None
    commit_sha: str | None = None
    work_unit: WorkUnitRef | None = None
    relations: tuple[Relation, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    graph_node: str | None = None
    half_life_days: float | None = None
    needs_review: bool = False
    pinned: bool = False
    citation: str | None = None
    work_tokens: int | None = None
    payload: Payload | None = None
    valid_from: datetime | None = None


@record(kw_only=True)
class MemoryPatch:
    """Changes to a memory; None means "leave as it is".

    A change of `content` or `type` is a correction: it closes the old memory and opens another.
    The rest is changed in place.
    """

    content: str | None = None
    type: MemoryType | None = None
    key: str | None = None
    tags: tuple[str, ...] | None = None
    files: tuple[str, ...] | None = None
    modules: tuple[str, ...] | None = None
    importance: float | None = None
    confidence: float | None = None
    scope: Scope | None = None
    needs_review: bool | None = None
    user_verified: bool | None = None
    pinned: bool | None = None
    citation: str | None = None
    relations: tuple[Relation, ...] | None = None
    half_life_days: float | None = None
    payload: Payload | None = None
