"""`Memory`, the central record, and the draft and patch that create and change it.

Importance decays while a memory is not used; confidence changes with evidence; `work_tokens` is
what finding it out cost. `valid_from`/`valid_to` say when it was true: an outdated or wrong memory
is closed and points to its successor, never overwritten. `memory.fields` describes each field.
"""

from __future__ import annotations

from datetime import datetime

from wellkept.core.codec import Payload
from wellkept.core.errors import UsageError
from wellkept.core.ids import short_id
from wellkept.core.records import record
from wellkept.core.types import (
    PROVENANCE,
    EvidenceKind,
    MemoryType,
    Provenance,
    RelationType,
    Scope,
    Source,
)

MAX_CONTENT_CHARS = 1_048_576


@record
class WorkUnitRef:
    """A unit of work in some methodology; only its plugin understands the hierarchy."""

    methodology: str
    hierarchy: tuple[str, ...]
    label: str

    @classmethod
    def from_text(cls, text: str) -> WorkUnitRef:
        """`native:spec-7/story-2`: the methodology, then the units, outermost first."""
        methodology, colon, units = text.partition(":")
        if not colon:
            raise UsageError(
                f"No methodology in work unit {text!r}.",
                hint="For example native:spec-7/story-2.",
            )
        hierarchy = tuple(units.split("/"))
        return cls(methodology, hierarchy, hierarchy[-1])


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
    """What supports a memory. `ref` names it; `note` has text, e.g. of a merged memory."""

    kind: EvidenceKind
    ref: str
    note: str | None = None
    at: datetime | None = None


@record(kw_only=True)
class Memory:
    """One stored statement, with its origin and validity."""

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

    also_shown = ("short", "told_by", "closed")

    @property
    def short(self) -> str:
        """The short id that people see and type."""
        return short_id(self.id)

    @property
    def is_open(self) -> bool:
        """Whether it is still valid."""
        return self.valid_to is None

    @property
    def closed(self) -> bool:
        """Whether it is no longer valid."""
        return self.valid_to is not None

    @property
    def provenance(self) -> Provenance:
        """Whose words it holds; a captured prompt is the person's own."""
        is_prompt = self.type is MemoryType.PROMPT and self.source is not Source.AGENT_EXPLICIT
        return Provenance.PERSON if is_prompt else PROVENANCE[self.source]

    @property
    def has_persons_word(self) -> bool:
        """Whether a person said it, or said yes to it."""
        return self.source is Source.USER_TAUGHT or self.user_verified

    @property
    def is_agent_note(self) -> bool:
        """Whether only an agent says so: told as its note, never as a rule, never elsewhere."""
        return self.provenance is Provenance.AGENT and not self.user_verified

    @property
    def told_by(self) -> str:
        """Whose words it holds, in words for people and agents."""
        if self.provenance is not Provenance.AGENT:
            return self.provenance.value
        return "agent noted" if self.is_agent_note else "agent noted, a person agreed"

    @property
    def period(self) -> str:
        """The day from which it holds and, when it no longer does, the day on which it ended."""
        ended = f" until {self.valid_to:%Y-%m-%d}" if self.valid_to else ""
        return f"{self.valid_from:%Y-%m-%d}{ended}"


@record(kw_only=True)
class MemoryDraft:
    """What a caller gives for a new memory; the rest is filled in when it is stored."""

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
    """Changes to a memory; None leaves a field as it is.

    A change of `content` or `type` closes the memory and opens a successor. The rest is changed in
    place.
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
