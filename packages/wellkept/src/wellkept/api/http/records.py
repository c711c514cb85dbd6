"""Records as the HTTP API shows them, whole: what a page needs to show and correct a memory.

Fields are named as in the library. Knows no routes.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from wellkept.api.activity import ActivityItem
from wellkept.api.maintenance.doctor import DoctorReport
from wellkept.api.operations.inputs import MAX_ROWS, MemoryFilterInput, Model
from wellkept.api.server.record_models import RecordModel, memory_edit_model, record_model
from wellkept.context.start.session_view import SessionView
from wellkept.core.memory import Evidence, Memory, Relation, WorkUnitRef
from wellkept.core.ports.injections import InjectedLine, Injection, LineScore
from wellkept.core.query import Finding, Order, Page
from wellkept.core.session.activity import ActivityKind
from wellkept.core.session.sessions import SessionRecord
from wellkept.memory.arguments import EditArgs

MAX_OFFSET = 10_000


# -- Memories -------------------------------------------------------------------------------------


class WorkUnitRefRecord(record_model(WorkUnitRef)):
    """A unit of work in some methodology."""


class RelationRecord(record_model(Relation)):
    """A typed link to another memory or to a file."""


class EvidenceRecord(record_model(Evidence)):
    """What a memory rests on."""


_PARTS = {WorkUnitRef: WorkUnitRefRecord, Relation: RelationRecord, Evidence: EvidenceRecord}
_SHORT = {
    "short": Field(description="The id as people see and type it."),
    "told_by": Field(description="Whose words it holds: person, agent noted, document, tool."),
}


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


class MemoryQuery(MemoryFilterInput):
    """Which memories to list, in which order."""

    order: Order = Order.NEWEST
    limit: int = Field(default=50, ge=1, le=MAX_ROWS)
    cursor: str = Field(default="", description="next_cursor of the page before.")


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


class LineScoreRecord(record_model(LineScore)):
    """Why a line was chosen over others; null where nothing was ranked."""


class InjectedLineRecord(record_model(InjectedLine, models={LineScore: LineScoreRecord})):
    """A line as the agent was given it, and what came of it."""


class InjectionRecord(record_model(Injection, models={InjectedLine: InjectedLineRecord})):
    """What an agent was given at one moment."""


SHOWN_RECORDS: dict[Any, type[RecordModel]] = {
    **_PARTS,
    Memory: MemoryRecord,
    SessionRecord: SessionInfo,
    Injection: InjectionRecord,
}
"""Records of the library that have one form everywhere."""


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
    subject: str | None = Field(
        default=None, description="Skills by name, or the id of the injection."
    )

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
            subject=news.subject,
        )


class AliveOutput(Model):
    """That the server is up."""

    status: Literal["ok"] = "ok"
    version: str
    upkeep: str | None = Field(
        default=None,
        description="How the last round of a team's upkeep ended, `ok` or `failing`; the server"
        " answers requests either way. Told by `/api/ready` only.",
    )
    behind_s: float | None = Field(
        default=None,
        description="How many seconds the database's standby is behind that answers while the"
        " primary is away; null on the primary. Told by `/api/ready` only.",
    )


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
