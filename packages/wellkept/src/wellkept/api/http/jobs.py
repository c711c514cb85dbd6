"""Long work with progress, as server-sent events: re-index and building the code graph.

The work runs in a thread and goes on when its listener leaves; what it has done stays.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Annotated, Any

import anyio

from wellkept.api.http.endpoints import EVENTS, Asked, endpoint, event, streamed
from wellkept.api.server.http_errors import Problem, problem_of
from wellkept.core.errors import WellkeptError
from wellkept.core.records import record
from wellkept.core.team.people import Role
from wellkept.core.verbs import Arg

if TYPE_CHECKING:
    from starlette.responses import StreamingResponse

    from wellkept.api import Wellkept

_LOOK_S = 0.2
_TOLD = "Server-sent events `progress`, then `done` or `problem`."


@record
class JobProgress:
    """Data of an event: how much of the total is done, and in the end the result."""

    done: int
    total: int
    result: dict[str, str | int | None]


class _Job:
    """Progress of one piece of work, written by its thread."""

    def __init__(self) -> None:
        self.done, self.total = 0, 0
        self.result: dict[str, Any] | None = None
        self.problem: Problem | None = None

    def progress(self, done: int, total: int) -> None:
        self.done, self.total = done, total


@endpoint(
    "POST",
    "/jobs/reindex",
    role=Role.ADMIN,
    on_files=True,
    gives=JobProgress,
    media=EVENTS,
    told=_TOLD,
)
async def reindex(
    asked: Asked, *, force: Annotated[bool, Arg("Also what is up to date.")] = False
) -> StreamingResponse:
    """Rebuild the search indexes for the model in use; progress as events."""

    def work(wk: Wellkept, job: _Job) -> dict[str, Any]:
        found = wk.reindex(force=force, progress=job.progress)
        return {"model_id": found.model_id, "indexed": found.indexed, "dropped": found.dropped}

    return streamed(_lines(asked, work))


@endpoint(
    "POST",
    "/jobs/graph",
    role=Role.ADMIN,
    on_files=True,
    gives=JobProgress,
    media=EVENTS,
    told=_TOLD,
)
async def build_graph(asked: Asked) -> StreamingResponse:
    """Build the code graph; progress as events."""

    def work(wk: Wellkept, job: _Job) -> dict[str, Any]:
        wk.graph.build(progress=job.progress)
        return {"files": wk.code_graph.status().files}

    return streamed(_lines(asked, work))


async def _lines(
    asked: Asked, work: Callable[[Wellkept, _Job], dict[str, Any]]
) -> AsyncGenerator[bytes]:
    job = _Job()

    def run(wk: Wellkept) -> None:
        try:
            job.result = work(wk, job)
        except WellkeptError as error:
            job.problem = problem_of(error)

    async with anyio.create_task_group() as group:
        finished = anyio.Event()

        async def worker() -> None:
            try:
                await asked.server.workers.run(asked.project, run)
            finally:
                finished.set()

        group.start_soon(worker)
        while not finished.is_set():
            yield event("progress", {"done": job.done, "total": job.total})
            with anyio.move_on_after(_LOOK_S):
                await finished.wait()
    if job.problem is not None:
        yield event("problem", job.problem)
    else:
        yield event("done", JobProgress(job.done, job.total, job.result or {}))
