"""The timeline entry of a compaction: what was talked about, kept as memory of low importance.

Written in the background; a store that is slow or fails does not hold compaction up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias
from uuid import uuid4

from wellkept.core.clock import Clock, system_clock
from wellkept.core.records import record

IMPORTANCE = 0.3
_WAIT_AT_END_S = 5.0


@record(kw_only=True)
class TimelineEntry:
    """An entry of type timeline: unique key, text, importance, and the session it is from."""

    key: str
    session: str
    content: str
    importance: float = IMPORTANCE


TimelineWriter: TypeAlias = Callable[[TimelineEntry], None]
"""Keeps an entry. Synchronous; called in a thread."""


class Timeline:
    """Writes entries in the background."""

    def __init__(
        self,
        write: TimelineWriter,
        *,
        report: Callable[[str, str], None],
        clock: Clock = system_clock,
    ) -> None:
        self._write = write
        self._report = report
        self._clock = clock
        self._pending: set[asyncio.Task[None]] = set()

    def add(self, session: str, *, segments: int, summary: str) -> None:
        """Write an entry about `segments` messages that a summary replaced."""
        when = f"{self._clock():%Y-%m-%d %H:%M}"
        entry = TimelineEntry(
            key=f"ctx_compressed_{uuid4()}",
            session=session,
            content=f"[{when}] Compressed {segments} conversation segments:\n{summary}",
        )
        task = asyncio.ensure_future(self._written(entry))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def settled(self) -> None:
        """Give pending entries a moment before the session ends."""
        if self._pending:
            await asyncio.wait(set(self._pending), timeout=_WAIT_AT_END_S)

    async def _written(self, entry: TimelineEntry) -> None:
        try:
            await asyncio.to_thread(self._write, entry)
        except Exception as error:  # noqa: BLE001 - the store is somebody else's code
            self._report("compaction", f"The timeline entry was not kept: {error}")
