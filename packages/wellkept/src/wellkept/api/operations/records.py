"""Models of records that operations show, whole. Fields are named as in the library."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from wellkept.api.operations.record_models import RecordModel, record_model
from wellkept.core.memory import Evidence, Memory, Relation, WorkUnitRef
from wellkept.core.ports.injections import InjectedLine, Injection, LineScore
from wellkept.core.session.sessions import SessionRecord

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
    "closed": Field(description="Whether it is no longer believed."),
}


class MemoryRecord(record_model(Memory, models=_PARTS, extra=_SHORT)):
    """A memory, whole."""

    @classmethod
    def of(cls, memory: Memory) -> MemoryRecord:
        """The record of a memory."""
        return cls.model_validate(memory)


# -- Sessions and what they were given ------------------------------------------------------------


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
