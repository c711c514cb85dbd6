"""Records as the HTTP API shows them, whole: what a page needs to show and correct a memory.

Fields are named as in the library. Knows no routes.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from wellkept.app.activity import ActivityItem
from wellkept.app.maintenance.doctor import DoctorReport
from wellkept.app.session_view import SessionView
from wellkept.app.wiring.keyword_types import EditArgs, FilterArgs
from wellkept.core.activity import ActivityKind
from wellkept.core.memory import Evidence, Memory, Relation, WorkUnitRef
from wellkept.core.query import Finding, Order, Page, Validity
from wellkept.core.sessions import SessionRecord
from wellkept.server.operations.inputs import MAX_ROWS, FilteredInput, Model, Texts
from wellkept.server.record_models import RecordModel, memory_edit_model, record_model

MAX_OFFSET = 10_000


# -- Memories -------------------------------------------------------------------------------------


class WorkUnitRecord(record_model(WorkUnitRef)):
    """A unit of work in some methodology."""


class RelationRecord(record_model(Relation)):
    """A typed link to another memory or to a file."""


class EvidenceRecord(record_model(Evidence)):
    """What a memory rests on."""


_PARTS = {WorkUnitRef: WorkUnitRecord, Relation: RelationRecord, Evidence: EvidenceRecord}
_SHORT = {"short": Field(description="The id as people see and type it.")}


class MemoryRecord(record_model(Memory, models=_PARTS, extra=_SHORT)):
    """A memory, whole."""

    @classmethod
    def of(cls, memory: Memory) -> MemoryRecord:
        """The record of a memory."""
        return cls.model_validate(memory)


class MemoryPage(Model):
    """One page of memories."""

    items: list[MemoryRecord]
    total: int
    next_cursor: str | None = None

    @classmethod
    def of(cls, page: Page[Memory]) -> MemoryPage:
        """The page as it is shown."""
        items = [MemoryRecord.of(memory) for memory in page.items]
        return cls(items=items, total=page.total, next_cursor=page.next_cursor)


class MemoryQuery(FilteredInput):
    """Which memories to list, in which order."""

    scopes: Texts = Field(default_factory=list, description="Only these scopes.")
    sources: Texts = Field(default_factory=list, description="Only from these sources.")
    modules: Texts = Field(default_factory=list, description="Only tied to these modules.")
    sessions: Texts = Field(default_factory=list, description="Only from these sessions.")
    authors: Texts = Field(default_factory=list, description="Only by these authors.")
    min_confidence: float = Field(default=0.0, ge=0, le=1)
    min_importance: float = Field(default=0.0, ge=0, le=1)
    as_of: str = Field(default="", description="What was believed then: ISO date, or 7d, 12h.")
    validity: Validity = Field(
        default=Validity.OPEN, description="Still believed, no longer, or any."
    )
    stale: bool = Field(default=True, description="Also memories whose files are gone.")
    archived: bool = Field(default=False, description="Archived ones instead.")
    needs_review: bool | None = None
    user_verified: bool | None = None
    pinned: bool | None = None
    all_projects: bool = Field(default=False, description="Look in every project.")
    order: Order = Order.NEWEST
    limit: int = Field(default=50, ge=1, le=MAX_ROWS)
    cursor: str = Field(default="", description="next_cursor of the page before.")

    def filters(self) -> FilterArgs:
        return {
            **super().filters(),
            "scopes": self.scopes,
            "sources": self.sources,
            "modules": self.modules,
            "sessions": self.sessions,
            "authors": self.authors,
            "min_confidence": self.min_confidence,
            "min_importance": self.min_importance,
            "as_of": self.as_of or None,
            "validity": self.validity.value,
            "include_stale": self.stale,
            "archived": self.archived,
            "needs_review": self.needs_review,
            "user_verified": self.user_verified,
            "pinned": self.pinned,
            "all_projects": self.all_projects,
        }


class MemoryEdit(memory_edit_model()):
    """What shall change about a memory; what is left out or null stays. New content or a new type
    closes the memory and opens its successor."""

    if_updated_at: datetime | None = Field(
        default=None, description="Refuse when the memory was changed since that moment."
    )

    def changes(self) -> EditArgs:
        """The same, as the library takes it."""
        given = self.model_dump(exclude_none=True, exclude={"if_updated_at"})
        return EditArgs(**given)


# -- Sessions, projects, events, health -----------------------------------------------------------


class SessionInfo(record_model(SessionRecord, leave_out=("summarised_turn", "revision", "work"))):
    """A session and how far it got."""

    @classmethod
    def of(cls, session: SessionRecord) -> SessionInfo:
        """The session as it is shown."""
        return cls.model_validate(session)


class SessionPage(Model):
    """Sessions, the latest active first."""

    items: list[SessionInfo]
    next_offset: int | None = None


class SessionDetail(Model):
    """A session with everything that was kept of it."""

    session: SessionInfo
    summary: MemoryRecord | None
    prompts: list[MemoryRecord]
    observations: list[MemoryRecord]

    @classmethod
    def of(cls, view: SessionView) -> SessionDetail:
        """The session as it is shown."""
        return cls(
            session=SessionInfo.of(view.record),
            summary=MemoryRecord.of(view.summary) if view.summary else None,
            prompts=[MemoryRecord.of(memory) for memory in view.prompts],
            observations=[MemoryRecord.of(memory) for memory in view.observations],
        )


class ProjectInfo(Model):
    """A project that holds memories."""

    project: str
    memories: int
    here: bool = Field(description="Whether it is the one that is meant when none is named.")


class Projects(Model):
    """Every project that holds memories, most first."""

    items: list[ProjectInfo]
    here: str


class NewsRecord(Model):
    """One thing that is new. Its number is the id of the event."""

    number: int
    kind: ActivityKind
    at: datetime
    project: str
    memory_id: str | None = None
    session_id: str | None = None
    type: str | None = Field(default=None, description="The type of the memory.")
    short: str | None = Field(default=None, description="The short id of the memory.")
    title: str | None = Field(default=None, description="None when it is gone by now.")

    @classmethod
    def of(cls, item: ActivityItem) -> NewsRecord:
        """The item as it is shown."""
        news = item.news
        return cls(
            number=news.number,
            kind=news.kind,
            at=news.at,
            project=news.project,
            memory_id=news.memory_id,
            session_id=news.session_id,
            type=item.type,
            short=item.short,
            title=item.title,
        )


class AliveOutput(Model):
    """That the server is up."""

    status: Literal["ok"] = "ok"
    version: str


class FindingRecord(record_model(Finding)):
    """One thing that a check found."""


class TierRecord(RecordModel):
    """An embedder that may or may not be available."""

    name: str
    model_id: str
    available: bool
    reason: str


class HealthReport(Model):
    """What a look at the store and its surroundings found."""

    healthy: bool
    facts: dict[str, str]
    findings: list[FindingRecord]
    embedders: list[TierRecord]
    model_id: str | None

    @classmethod
    def of(cls, health: DoctorReport) -> HealthReport:
        """The report as it is shown."""
        return cls(
            healthy=health.healthy,
            facts=health.facts,
            findings=[FindingRecord.model_validate(finding) for finding in health.findings],
            embedders=[TierRecord.model_validate(tier) for tier in health.tiers],
            model_id=health.model.model_id if health.model else None,
        )
