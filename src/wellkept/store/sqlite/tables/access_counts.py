"""Accesses waiting to be written, so that a read never turns into a write.

Invariant: bounded. When it is full, the ids that were touched longest ago are forgotten first;
a lost access costs a little ranking, never a memory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from wellkept.store.sqlite.connection.database import Connection

_MAX_IDS = 10_000


class AccessCount(NamedTuple):
    """How often a memory was read since the last flush, and when last."""

    times: int
    at_ms: int


class AccessBuffer:
    """Counts accesses by id until they are taken out and written."""

    def __init__(self, *, max_ids: int = _MAX_IDS) -> None:
        self._max_ids = max_ids
        self._waiting: dict[str, AccessCount] = {}
        self._lock = threading.Lock()

    def add(self, accesses: Iterable[tuple[str, AccessCount]]) -> None:
        """Count accesses; the later moment wins."""
        with self._lock:
            for full_id, access in accesses:
                before = self._waiting.pop(full_id, AccessCount(0, access.at_ms))
                self._waiting[full_id] = AccessCount(
                    before.times + access.times, max(before.at_ms, access.at_ms)
                )
            while len(self._waiting) > self._max_ids:
                del self._waiting[next(iter(self._waiting))]

    def take(self) -> dict[str, AccessCount]:
        """Everything that waits, leaving nothing."""
        with self._lock:
            taken, self._waiting = self._waiting, {}
            return taken


def write_accesses(db: Connection, accesses: dict[str, AccessCount]) -> None:
    """Add accesses to the rows; ids that vanished are passed over."""
    db.executemany(
        "UPDATE memories SET access_count = access_count + ?,"
        " accessed_ms = max(accessed_ms, ?) WHERE id = ?",
        [(access.times, access.at_ms, full_id) for full_id, access in accesses.items()],
    )
