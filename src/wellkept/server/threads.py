"""The one place where servers cross over from the event loop to memory, which is synchronous.

Invariant: a store is never touched on the event loop, and at most `THREADS` calls run at once;
the rest wait their turn. A call that has begun is finished, also when its client has gone away.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from wellkept.server.open_projects import OpenProjects

if TYPE_CHECKING:
    from wellkept.app import Wellkept

THREADS = 16

_Answer = TypeVar("_Answer")


class WorkerThreads:
    """Runs work on the memories of a server, in threads."""

    def __init__(self, memories: OpenProjects) -> None:
        self._memories = memories
        self._limit = anyio.CapacityLimiter(THREADS)

    async def ask(
        self, project: str, work: Callable[[Wellkept], _Answer], *, folder: Path | None = None
    ) -> _Answer:
        """What the work makes of the memory of a project, by name or folder."""

        def done() -> _Answer:
            with self._memories.of(project, folder=folder) as memory:
                return work(memory)

        return await anyio.to_thread.run_sync(done, limiter=self._limit)
