"""Worker threads: run synchronous memory operations outside the event loop.

Invariant: the store is never used on the event loop, and at most `THREADS` calls run at once. A
started call is finished even when its client disconnects.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio
import anyio.to_thread

from wellkept.api.server.open_projects import OpenProjects

if TYPE_CHECKING:
    from wellkept.api import Wellkept

THREADS = 16

_Result = TypeVar("_Result")

Span: TypeAlias = Callable[[str], AbstractContextManager[Any]]
"""Opens a span of a trace."""


class WorkerThreads:
    """Runs work on the open projects of a server, in threads."""

    def __init__(self, projects: OpenProjects, *, span: Span = nullcontext) -> None:
        self._projects = projects
        self._span = span
        self._limit = anyio.CapacityLimiter(THREADS)

    async def run(
        self, project: str, work: Callable[[Wellkept], _Result], *, folder: Path | None = None
    ) -> _Result:
        """Run the work with the project of this name or folder and return its result."""

        def call() -> _Result:
            with self._span("memory"), self._projects.of(project, folder=folder) as wk:
                return work(wk)

        return await anyio.to_thread.run_sync(call, limiter=self._limit)

    def activity_count(self, tenant: str) -> int | None:
        """How often activity of a tenant was told so far; None where nobody tells."""
        return self._projects.activity_count(tenant)

    async def behind_s(self) -> float | None:
        """How far the copy of the store that answers is behind; None on the store itself."""
        return await anyio.to_thread.run_sync(self._projects.behind_s, limiter=self._limit)

    async def require_store(self) -> None:
        """StoreError when the store does not answer."""
        await anyio.to_thread.run_sync(self._projects.require_store, limiter=self._limit)
