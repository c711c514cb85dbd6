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

KEPT_NEWS: Final = 10_000
"""How many of the latest news a store keeps."""


class NewsKind(StrEnum):
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
class News:
    """One thing that is new. `everywhere` means that it is about the person, not one project.

    `subject` names what is neither a memory nor a session: skills, parted by commas.
    """

    number: int
    kind: NewsKind
    at: datetime
    project: str
    everywhere: bool = False
    memory_id: str | None = None
    session_id: str | None = None
    subject: str | None = None


@record
class NewsSpan:
    """The numbers of the first and the last news that are kept; both 0 while there are none."""

    oldest: int
    newest: int


def memory_news(change: Change) -> NewsKind | None:
    """What a change of a memory is called, if it is news."""
    match change:
        case Insert(memory):
            is_observation = memory.type is MemoryType.OBSERVATION
            return NewsKind.OBSERVATION_STORED if is_observation else NewsKind.MEMORY_STORED
        case Replace() | Mark():
            return NewsKind.MEMORY_CHANGED
        case Close():
            return NewsKind.MEMORY_CLOSED
        case Delete():
            return NewsKind.MEMORY_DELETED
        case _:
            return None


def session_news(session: SessionRecord, *, was_open: bool) -> list[NewsKind]:
    """What writing a session brings, by whether it was open before; a new one was not."""
    is_new = session.revision == 0
    began = not was_open and (is_new or session.is_open)
    ended = not session.is_open and (is_new or was_open)
    return [NewsKind.SESSION_STARTED] * began + [NewsKind.SESSION_ENDED] * ended


def place_in_write(kind: NewsKind) -> int:
    """Where news stand among those of one write: a session's start first, its end last."""
    return {NewsKind.SESSION_STARTED: 0, NewsKind.SESSION_ENDED: 2}.get(kind, 1)
