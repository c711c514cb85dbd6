"""Activity log of an engine, numbered in commit order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from wellkept.core.session.activity import Activity, ActivityRange


class ActivityLog(Protocol):
    """Log entries. `apply` writes them in the same transaction as its changes."""

    def activity(self, *, after: int, project: str | None, limit: int) -> list[Activity]:
        """The first entries after a number, in order; with a project, those visible from it."""
        ...

    def activity_range(self) -> ActivityRange:
        """First and last stored number: at least the latest `ACTIVITY_RETENTION` entries."""
        ...
