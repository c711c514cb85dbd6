"""Long work with progress, as server-sent events: re-index and building the code graph.

The work runs in a thread and goes on when its listener leaves; what it has done stays.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

import anyio
from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import Field

from wellkept.api.http.operation_routes import ProjectHeader
from wellkept.api.operations.inputs import Model
from wellkept.api.server.http_errors import problem_of
from wellkept.api.server.threads import WorkerThreads
from wellkept.core.errors import WellkeptError

if TYPE_CHECKING:
    from wellkept.api import Wellkept

_LOOK_S = 0.2


class JobProgress(Model):
    """Data of an event: `progress` while it works, then `done` or `problem`."""

    done: int = Field(description="How much of the total is done.")
    total: int
    result: dict[str, str | int | None] = Field(default_factory=dict[str, str | int | None])


class _Job:
    """Progress of one piece of work, written by its thread."""

    def __init__(self) -> None:
        self.done, self.total = 0, 0
        self.result: dict[str, Any] | None = None
        self.problem: str | None = None

    def progress(self, done: int, total: int) -> None:
        self.done, self.total = done, total


_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "model": JobProgress,
        "description": "Server-sent events `progress`, then `done` or `problem`.",
        "content": {"text/event-stream": {}},
    }
}


def add_jobs(router: APIRouter, workers: WorkerThreads) -> None:
    """Add the routes."""
    tagged = APIRouter(prefix="/jobs", tags=["jobs"])

    @tagged.post(
        "/reindex",
        operation_id="reindex",
        response_class=StreamingResponse,
        responses=_RESPONSES,
    )
    async def reindex(
        project: Annotated[str, Query(description="Another project.")] = "",
        force: Annotated[bool, Query(description="Also what is up to date.")] = False,
        in_project: ProjectHeader = "",
    ) -> StreamingResponse:
        """Rebuild the search indexes for the model in use; progress as events."""

        def work(wk: Wellkept, job: _Job) -> dict[str, Any]:
            found = wk.reindex(force=force, progress=job.progress)
            return {"model_id": found.model_id, "indexed": found.indexed, "dropped": found.dropped}

        return await _streamed(workers, project or unquote(in_project), work)

    @tagged.post(
        "/graph",
        operation_id="build_graph",
        response_class=StreamingResponse,
        responses=_RESPONSES,
    )
    async def graph(
        project: Annotated[str, Query(description="Another project.")] = "",
        in_project: ProjectHeader = "",
    ) -> StreamingResponse:
        """Build the code graph; progress as events."""

        def work(wk: Wellkept, job: _Job) -> dict[str, Any]:
            wk.graph.build(progress=lambda one: job.progress(one.done, one.total))
            return {"files": wk.graph.status().files}

        return await _streamed(workers, project or unquote(in_project), work)

    router.include_router(tagged)


async def _streamed(
    workers: WorkerThreads, project: str, work: Callable[[Wellkept, _Job], dict[str, Any]]
) -> StreamingResponse:
    job = _Job()

    def run(wk: Wellkept) -> None:
        try:
            job.result = work(wk, job)
        except WellkeptError as error:
            job.problem = problem_of(error).model_dump_json()

    async def lines() -> AsyncGenerator[bytes]:
        async with anyio.create_task_group() as group:
            finished = anyio.Event()

            async def worker() -> None:
                try:
                    await workers.run(project, run)
                finally:
                    finished.set()

            group.start_soon(worker)
            while not finished.is_set():
                yield _event("progress", {"done": job.done, "total": job.total})
                with anyio.move_on_after(_LOOK_S):
                    await finished.wait()
        if job.problem is not None:
            yield f"event: problem\ndata: {job.problem}\n\n".encode()
        else:
            data = {"done": job.done, "total": job.total, "result": job.result or {}}
            yield _event("done", data)

    return StreamingResponse(
        lines(), media_type="text/event-stream", headers={"cache-control": "no-store"}
    )


def _event(kind: str, data: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
