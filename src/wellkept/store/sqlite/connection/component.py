"""What the parts of the engine share: the database they work on."""

from __future__ import annotations

from wellkept.core.clock import Clock
from wellkept.core.errors import UsageError
from wellkept.store.sqlite.connection.database import Database
from wellkept.store.sqlite.tables.access_counts import AccessBuffer

_LARGEST = 2**62


class Component:
    """One port's worth of the engine, over a database it does not own."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._accesses = AccessBuffer()


def require_limit(limit: int, *, least: int = 0) -> None:
    """UsageError for a limit that makes no sense, or that no column can hold."""
    if limit < least:
        raise UsageError(f"limit must be at least {least}, not {limit}.")
    if limit > _LARGEST:
        raise UsageError(f"A limit of {limit} is out of range.", hint="Ask for fewer.")
