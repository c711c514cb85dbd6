"""What is new in a store: sessions that begin and end, memories that come, change and go, skills
that a project calls for or that were made.

News are numbered by the store in the order of its commits, across all processes that write, so
whoever knows the last number they saw can ask for what came after it. They name things and hold
none of their text: what was deleted for good is not kept here. Fading and the moving of
confidence are no news; they happen to everything, every day.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from wellkept.core.changes import Change, Close, Delete, Insert, Mark, Replace
from wellkept.core.records import record
from wellkept.core.types import MemoryType

if TYPE_CHECKING:
    from wellkept.core.sessions import SessionRecord

ACTIVITY_RETENTION: Final = 10_000
"""How many of the latest news a store keeps."""


class ActivityKind(StrEnum):
    """What can be new."""

    SESSION_STARTED = "session_started"
    SESSION_ENDED = "session_ended"
    OBSERVATION_STORED = "observation_stored"
    MEMORY_STORED = "memory_stored"
    MEMORY_CHANGED = "memory_changed"
    MEMORY_CLOSED = "memory_closed"
    MEMORY_DELETED = "memory_deleted"
    SKILLS_DETECTED = "skills_detected"
    SKILL_GENERATED = "skill_generated"


@record(kw_only=True)
class Activity:
    """One thing that is new. `everywhere` means that it is about the person, not one project.

    `subject` names what is neither a memory nor a session: skills, parted by commas.
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
    """The numbers of the first and the last news that are kept; both 0 while there are none."""

    oldest: int
    newest: int


def memory_activity(change: Change) -> ActivityKind | None:
    """What a change of a memory is called, if it is news."""
    match change:
        case Insert(memory):
            is_observation = memory.type is MemoryType.OBSERVATION
            return ActivityKind.OBSERVATION_STORED if is_observation else ActivityKind.MEMORY_STORED
        case Replace() | Mark():
            return ActivityKind.MEMORY_CHANGED
        case Close():
            return ActivityKind.MEMORY_CLOSED
        case Delete():
            return ActivityKind.MEMORY_DELETED
        case _:
            return None


def session_activity(session: SessionRecord, *, was_open: bool) -> list[ActivityKind]:
    """What writing a session brings, by whether it was open before; a new one was not."""
    is_new = session.revision == 0
    began = not was_open and (is_new or session.is_open)
    ended = not session.is_open and (is_new or was_open)
    return [ActivityKind.SESSION_STARTED] * began + [ActivityKind.SESSION_ENDED] * ended


def write_order(kind: ActivityKind) -> int:
    """Where news stand among those of one write: a session's start first, its end last."""
    return {ActivityKind.SESSION_STARTED: 0, ActivityKind.SESSION_ENDED: 2}.get(kind, 1)
