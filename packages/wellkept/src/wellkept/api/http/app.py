"""The HTTP application: the page, operations, REST routes, live events, and MCP at `/mcp`.

Served behind `auth.guarded`. Errors become problem responses here; an internal error shows only its
type and request id.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager, nullcontext
from functools import cache
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount

from wellkept import __version__
from wellkept.api.http import chat, export, jobs, page_api, readiness, routes
from wellkept.api.http.endpoints import Endpoint, ServerParts, endpoint_route, endpoints_in
from wellkept.api.http.page_files import ASSETS, FOLDER, ROOT_FILES, page_routes
from wellkept.api.http.readiness import READY_PATH
from wellkept.api.http.routes import HEALTH_PATH
from wellkept.api.http.sse import EventFeed, FeedIntervals
from wellkept.api.server.auth import REQUEST_ID, AccessPolicy, App, guarded, internal_error
from wellkept.api.server.http_errors import (
    MEDIA_TYPE,
    ConflictProblem,
    Problem,
    headers_of,
    problem,
    problem_of,
)
from wellkept.api.server.limits import ClientLimits
from wellkept.api.server.open_projects import OpenProjects
from wellkept.api.server.requests import NamedRoute, arguments_in
from wellkept.api.server.threads import Span, WorkerThreads
from wellkept.api.telemetry.metrics import ServerMetrics
from wellkept.api.telemetry.requests import OnFinished
from wellkept.api.verbs.as_json import encoded
from wellkept.api.verbs.routes import verb_routes
from wellkept.core.doors import find_plugin, not_installed
from wellkept.core.errors import MemoryChangedError, WellkeptError
from wellkept.core.team.people import Principal

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from wellkept.api.plugins import TeamPlugin

PREFIX: Final = "/api"
_OPENAPI: Final = "/openapi.json"
OPENAPI_PATH: Final = f"{PREFIX}{_OPENAPI}"
DOCS_PATH: Final = "/docs"
OPEN_PATHS: Final = frozenset(
    {
        "/",
        DOCS_PATH,
        OPENAPI_PATH,
        f"{PREFIX}{HEALTH_PATH}",
        f"{PREFIX}{READY_PATH}",
        *(f"/{name}" for name in ROOT_FILES),
    }
)
"""What can be seen without a token: nothing of anybody's memory."""

DOCS_POLICY: Final = MappingProxyType(
    {
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline';"
        " frame-ancestors 'none'"
    }
)

_ENDPOINTS: Final = (
    *endpoints_in({"ready": readiness.ready}),
    *(one for part in (routes, page_api, jobs, chat, export) for one in endpoints_in(vars(part))),
)
_NOT_BUILT = f"""<!doctype html>
<meta charset="utf-8"><title>Wellkept</title>
<h1>Wellkept {__version__}</h1>
<p>The page is not built in this installation. From a clone, run <code>make page</code> and load
this again; the command line (<code>wellkept --help</code>) shows and does the same.
<p>The memory is served here. Programs ask it under <code>{PREFIX}</code> and by MCP at
<code>/mcp</code>, with the token that <code>wellkept serve</code> names when it starts.
<p><a href="{DOCS_PATH}">What can be asked</a>, as a page; for programs
<a href="{OPENAPI_PATH}">{OPENAPI_PATH}</a>
"""


def make_http_app(
    projects: OpenProjects,
    *,
    mcp: Callable[[], Server[dict[str, Any]]] | None = None,
    stopping: threading.Event | None = None,
    pace: FeedIntervals | None = None,
    page: Path = FOLDER,
    metrics: ServerMetrics | None = None,
    span: Span = nullcontext,
) -> Starlette:
    """The application, without access control. `mcp` makes the MCP server once it is asked for;
    `page` is the folder of the built page, `span` opens a span of a trace."""
    workers, stopping = WorkerThreads(projects, span=span), stopping or threading.Event()
    server = ServerParts(
        projects=projects,
        workers=workers,
        feed=EventFeed(workers, stopping=stopping, pace=pace),
        metrics=metrics or ServerMetrics(),
        stopping=stopping,
    )
    own = [endpoint_route(one, server) for one in all_endpoints()]
    api: list[BaseRoute] = [*verb_routes(workers), *own, NamedRoute(_OPENAPI, _openapi)]
    if find_plugin("team") is None:
        api += _missing("/team", "/sync", extra="team")
    found: list[BaseRoute] = [
        *page_routes(page, not_built=_NOT_BUILT),
        NamedRoute(DOCS_PATH, _docs),
        *(endpoint_route(one, server) for one in endpoints_in({"metrics": readiness.metrics})),
        Mount(PREFIX, routes=api),
    ]
    running: Callable[[], Any] = nullcontext
    if mcp is not None:
        from wellkept.api.mcp.streamable_http import PATH, McpApp

        mcp_app = McpApp(mcp)
        found.append(NamedRoute(PATH, mcp_app))
        running = mcp_app.running

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with running():
            yield

    return Starlette(routes=found, exception_handlers=_PROBLEMS, lifespan=lifespan)


def all_endpoints() -> list[Endpoint]:
    """Every route beyond verbs and operations."""
    team: TeamPlugin | None = find_plugin("team")
    return [*_ENDPOINTS, *(team.endpoints() if team is not None else ())]


def guarded_app(
    app: App,
    *,
    token: str | Callable[[], str] | None,
    hosts: frozenset[str],
    people: Callable[[str], Principal | None] | None = None,
    limits: ClientLimits | None = None,
    on_finished: Iterable[OnFinished] = (),
) -> App:
    """The application with access control: by the one token of this machine, or by those of
    `people`, for whom there is no cookie."""
    access = AccessPolicy(
        token=token,
        people=people,
        hosts=hosts,
        open_paths=OPEN_PATHS,
        open_folder=ASSETS,
        takes_cookies=people is None,
    )
    return guarded(app, access, limits=limits, on_finished=on_finished)


@cache
def openapi_document() -> dict[str, Any]:
    """The OpenAPI document; made once, for anybody may ask for it."""
    from wellkept.api.http.openapi import make_document

    return make_document(all_endpoints(), prefix=PREFIX, open_paths=OPEN_PATHS)


async def _openapi(_: Request) -> Response:
    document = await anyio.to_thread.run_sync(openapi_document)
    return Response(encoded(document), media_type="application/json")


async def _docs(_: Request) -> Response:
    from wellkept.api.http.docs_page import docs_page

    document = await anyio.to_thread.run_sync(openapi_document)
    return HTMLResponse(docs_page(document), headers=dict(DOCS_POLICY))


def _missing(*prefixes: str, extra: str) -> Iterable[NamedRoute]:
    """Routes of a distribution that is not installed say what to install."""

    async def missing(_: Request) -> Response:
        raise not_installed(extra)

    for prefix in prefixes:
        yield NamedRoute(
            f"{prefix}/{{rest:path}}", missing, methods=["GET", "POST", "PUT", "DELETE"]
        )


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, WellkeptError)
    return _response(problem_of(error, request_id=_id(request)))


async def _changed(request: Request, error: Exception) -> Response:
    assert isinstance(error, MemoryChangedError)
    known = problem_of(error, request_id=_id(request))
    sent = await arguments_in(request)
    return _response(
        ConflictProblem(
            title=known.title,
            status=known.status,
            detail=known.detail,
            hint=known.hint,
            request_id=known.request_id,
            current=error.current,
            yours={name: value for name, value in sent.items() if name not in request.path_params},
        )
    )


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    details = problem(
        HTTPStatus(error.status_code),
        str(error.detail),
        hint=f"{OPENAPI_PATH} says what can be asked.",
        request_id=_id(request),
    )
    return _response(details)


async def _unexpected(request: Request, error: Exception) -> Response:
    return _response(internal_error(error, request_id=_id(request)))


_PROBLEMS: Final = {
    WellkeptError: _failed,
    MemoryChangedError: _changed,
    HTTPException: _refused,
    Exception: _unexpected,
}
"""Every error as a problem response."""


def _id(request: Request) -> str:
    return str(request.scope.get(REQUEST_ID, ""))


def _response(details: Problem) -> Response:
    return Response(
        encoded(details),
        status_code=details.status,
        media_type=MEDIA_TYPE,
        headers=headers_of(details),
    )
