"""Activity log of a store: what happened to sessions, memories and skills.

The store numbers entries in commit order across all processes, so a follower asks for entries after
the last number it saw. Entries hold ids, never text. Decay and confidence updates are not logged.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from wellkept.core.changes import Change, Close, Delete, Insert, Mark, Replace, RequestReview
from wellkept.core.records import record
from wellkept.core.types import MemoryType

if TYPE_CHECKING:
    from wellkept.core.session.sessions import SessionRecord

ACTIVITY_RETENTION: Final = 10_000
"""How many of the latest entries a store keeps."""


class ActivityKind(StrEnum):
    """Kinds of log entries."""

    SESSION_STARTED = "session_started"
    SESSION_ENDED = "session_ended"
    OBSERVATION_STORED = "observation_stored"
    MEMORY_STORED = "memory_stored"
    MEMORY_CHANGED = "memory_changed"
    MEMORY_CLOSED = "memory_closed"
    MEMORY_DELETED = "memory_deleted"
    MEMORIES_ARCHIVED = "memories_archived"
    SKILLS_DETECTED = "skills_detected"
    SKILL_GENERATED = "skill_generated"
    LINES_GIVEN = "lines_given"
    LINES_JUDGED = "lines_judged"


@record(kw_only=True)
class Activity:
    """One log entry. `everywhere`: visible from every project (a memory of scope `user`).

    `subject` names skills, separated by commas, the injection whose lines were given or judged, or
    how many memories were archived and the step that takes it back.
    """

    number: int
    kind: ActivityKind
    at: datetime
    project: str
    everywhere: bool = False
    memory_id: str | None = None
    session_id: str | None = None
    subject: str | None = None


@record
class ActivityRange:
    """First and last stored number; both 0 while the log is empty."""

    oldest: int
    newest: int


def memory_activity(change: Change) -> ActivityKind | None:
    """The kind of entry for a change of a memory, if it is logged."""
    match change:
        case Insert(memory):
            is_observation = memory.type is MemoryType.OBSERVATION
            return ActivityKind.OBSERVATION_STORED if is_observation else ActivityKind.MEMORY_STORED
        case Replace() | Mark() | RequestReview():
            return ActivityKind.MEMORY_CHANGED
        case Close():
            return ActivityKind.MEMORY_CLOSED
        case Delete():
            return ActivityKind.MEMORY_DELETED
        case _:
            return None


def session_activity(session: SessionRecord, *, was_open: bool) -> list[ActivityKind]:
    """The entries for writing a session; `was_open` is False for a new one."""
    is_new = session.revision == 0
    began = not was_open and (is_new or session.is_open)
    ended = not session.is_open and (is_new or was_open)
    return [ActivityKind.SESSION_STARTED] * began + [ActivityKind.SESSION_ENDED] * ended


def write_order(kind: ActivityKind) -> int:
    """Sort key of entries of one write: a session's start first, its end last."""
    return {ActivityKind.SESSION_STARTED: 0, ActivityKind.SESSION_ENDED: 2}.get(kind, 1)
