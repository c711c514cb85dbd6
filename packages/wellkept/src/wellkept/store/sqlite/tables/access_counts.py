"""Buffer of access counts, so that a read never becomes a write.

Invariant: bounded. When full, the least recently accessed ids are dropped; a lost access costs a
little ranking accuracy only.
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
    """Counts accesses by id until they are written."""

    def __init__(self, *, max_ids: int = _MAX_IDS) -> None:
        self._max_ids = max_ids
        self._pending: dict[str, AccessCount] = {}
        self._lock = threading.Lock()

    def add(self, accesses: Iterable[tuple[str, AccessCount]]) -> None:
        """Add accesses; the later time wins."""
        with self._lock:
            for full_id, access in accesses:
                before = self._pending.pop(full_id, AccessCount(0, access.at_ms))
                self._pending[full_id] = AccessCount(
                    before.times + access.times, max(before.at_ms, access.at_ms)
                )
            while len(self._pending) > self._max_ids:
                del self._pending[next(iter(self._pending))]

    def take_all(self) -> dict[str, AccessCount]:
        """Remove and return all buffered accesses."""
        with self._lock:
            buffered, self._pending = self._pending, {}
            return buffered


def write_accesses(db: Connection, accesses: dict[str, AccessCount]) -> None:
    """Add accesses to the rows; unknown ids are skipped."""
    db.executemany(
        "UPDATE memories SET access_count = access_count + ?,"
        " accessed_ms = max(accessed_ms, ?) WHERE id = ?",
        [(access.times, access.at_ms, full_id) for full_id, access in accesses.items()],
    )
