"""What another tool kept, in the words that all of them share."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from wellkept.core.codec import Payload
from wellkept.core.records import record


@record(kw_only=True)
class ToolNote:
    """One thing that another tool kept. `ref` names it there and never changes."""

    ref: str
    content: str
    kind: str = "note"
    at: datetime | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    project: str | None = None
    session_id: str | None = None
    payload: Payload | None = None


@record
class DamagedRow:
    """A row that could not be read, and why."""

    ref: str
    reason: str


Notes = Iterator["ToolNote | DamagedRow"]


def moment(value: object) -> datetime | None:
    """A moment told as text, or as seconds or milliseconds since 1970; without zone it is UTC."""
    try:
        if isinstance(value, str) and value:
            at = datetime.fromisoformat(value)
            return at if at.tzinfo else at.replace(tzinfo=UTC)
        if isinstance(value, (int, float)) and value > 0:
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None
