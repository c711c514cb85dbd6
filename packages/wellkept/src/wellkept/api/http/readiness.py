"""For whoever runs the server: is it ready for requests, and what has it done so far.

`/api/health` says that the process lives, `/api/ready` that its store answers and that it is not
stopping, `/metrics` has the counters. A proxy sends requests only to a process that is ready.
"""

from __future__ import annotations

import threading
from http import HTTPStatus
from typing import Final

import anyio
from fastapi import APIRouter
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from wellkept import __version__
from wellkept.api.http.records import AliveOutput
from wellkept.api.server.threads import WorkerThreads
from wellkept.api.telemetry.metrics import MEDIA_TYPE, ServerMetrics
from wellkept.core.errors import StoreError

READY_PATH: Final = "/ready"
METRICS_PATH: Final = "/metrics"
LIMIT_S: Final = 3.0


def add_readiness(
    router: APIRouter,
    workers: WorkerThreads,
    *,
    metrics: ServerMetrics,
    stopping: threading.Event,
) -> None:
    """Add the readiness route."""

    @router.get(READY_PATH, operation_id="ready", tags=["surroundings"])
    async def ready() -> AliveOutput:
        """Whether requests can be served now: the store answers and the server is not stopping.
        Needs no token; 503 otherwise."""
        reason = "The server is stopping." if stopping.is_set() else await _store_fault(workers)
        metrics.set_ready(ready=reason is None)
        if reason is not None:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, reason)
        behind_s = await workers.behind_s()
        metrics.set_behind(behind_s)
        return AliveOutput(version=__version__, upkeep=metrics.upkeep, behind_s=behind_s)


def metrics_route(metrics: ServerMetrics) -> APIRouter:
    """The counters, for a scrape with the token."""
    router = APIRouter()

    @router.get(METRICS_PATH, operation_id="metrics", include_in_schema=False)
    async def scrape() -> Response:
        return Response(metrics.text(), media_type=MEDIA_TYPE)

    return router


async def _store_fault(workers: WorkerThreads) -> str | None:
    """Why the store does not answer; None when it does. The reason names no address."""
    try:
        with anyio.fail_after(LIMIT_S):
            await workers.require_store()
    except TimeoutError:
        return f"The store did not answer within {LIMIT_S:g} s."
    except StoreError:
        return "The store does not answer."
    return None
