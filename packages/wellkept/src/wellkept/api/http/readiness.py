"""For whoever runs the server: is it ready for requests, and what has it done so far.

`/api/health` says that the process lives, `/api/ready` that its store answers and that it is not
stopping, `/metrics` has the counters. A proxy sends requests only to a process that is ready.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import anyio
from starlette.exceptions import HTTPException
from starlette.responses import Response

from wellkept import __version__
from wellkept.api.http.endpoints import Asked, endpoint
from wellkept.api.http.records import Alive
from wellkept.api.server.threads import WorkerThreads
from wellkept.api.telemetry.metrics import MEDIA_TYPE
from wellkept.core.errors import StoreError
from wellkept.core.team.people import Role

READY_PATH: Final = "/ready"
METRICS_PATH: Final = "/metrics"
LIMIT_S: Final = 3.0


@endpoint("GET", READY_PATH, role=None)
async def ready(asked: Asked) -> Alive:
    """Whether requests can be served now: the store answers and the server is not stopping. Needs
    no token; 503 otherwise."""
    server = asked.server
    stopping = server.stopping.is_set()
    reason = "The server is stopping." if stopping else await _store_fault(server.workers)
    server.metrics.set_ready(ready=reason is None)
    if reason is not None:
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, reason)
    behind_s = await server.workers.behind_s()
    server.metrics.set_behind(behind_s)
    return Alive(version=__version__, upkeep=server.metrics.upkeep, behind_s=behind_s)


@endpoint("GET", METRICS_PATH, role=Role.ADMIN)
async def metrics(asked: Asked) -> Response:
    """The counters, for a scrape with the token."""
    return Response(asked.server.metrics.text(), media_type=MEDIA_TYPE)


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
