"""The HTTP application: the page, operations, REST routes, live events, and MCP at `/mcp`.

Served behind `auth.guarded`. Errors become problem responses here; an internal error shows only its
type and request id.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager, nullcontext
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from wellkept import __version__
from wellkept.api.http.operation_routes import operation_routes
from wellkept.api.http.page_files import ASSETS, FOLDER, ROOT_FILES, add_page
from wellkept.api.http.readiness import READY_PATH, add_readiness, metrics_route
from wellkept.api.http.routes import HEALTH_PATH, page_routes
from wellkept.api.http.sse import EventFeed, FeedIntervals
from wellkept.api.operations.access import access_of_route, require_access
from wellkept.api.server.auth import REQUEST_ID, AccessPolicy, App, guarded, internal_error
from wellkept.api.server.caller import asked_in_this_task, principal_in
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
from wellkept.api.server.threads import Span, WorkerThreads
from wellkept.api.telemetry.metrics import ServerMetrics
from wellkept.api.telemetry.requests import OnFinished
from wellkept.core.doors import find_plugin, not_installed
from wellkept.core.errors import MemoryChangedError, WellkeptError
from wellkept.core.team.people import Principal

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from wellkept.api.plugins import TeamPlugin

PREFIX: Final = "/api"
OPENAPI_PATH: Final = f"{PREFIX}/openapi.json"
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

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Problem, "description": "The request cannot be done as it is."},
    "5XX": {"model": Problem, "description": "The server cannot do it."},
}
# Validation errors for a body that is not a JSON object, by type and depth.
_NOT_AN_OBJECT: Final = frozenset(
    {("json_invalid", 2), ("model_attributes_type", 1), ("missing", 1)}
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
    mcp: Server[dict[str, Any]] | None = None,
    stopping: threading.Event | None = None,
    pace: FeedIntervals | None = None,
    page: Path = FOLDER,
    metrics: ServerMetrics | None = None,
    span: Span = nullcontext,
) -> FastAPI:
    """The application, without access control. `page` is the folder of the built page, `span` opens
    a span of a trace."""
    app = FastAPI(
        title="Wellkept",
        version=__version__,
        summary="A memory for coding agents that outlives the session.",
        openapi_url=OPENAPI_PATH,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(mcp),
        responses=_PROBLEMS,
    )
    _add_problems(app)
    _add_docs(app)
    add_page(app, folder=page, not_built=_NOT_BUILT)
    _complete_openapi(app)
    workers = WorkerThreads(projects, span=span)
    stopping, metrics = stopping or threading.Event(), metrics or ServerMetrics()
    feed = EventFeed(workers, stopping=stopping, pace=pace)
    api = APIRouter(prefix=PREFIX, dependencies=[Depends(_let_in)])
    add_readiness(api, workers, metrics=metrics, stopping=stopping)
    api.include_router(page_routes(workers, feed))
    api.include_router(operation_routes(workers))
    team: TeamPlugin | None = find_plugin("team")
    if team is not None:
        team.add_routes(api, workers, projects)
    else:
        _add_missing(app, "/team", "/sync", extra="team")
    app.include_router(api)
    app.include_router(metrics_route(metrics), dependencies=[Depends(_let_in)])
    if mcp is not None:
        from wellkept.api.mcp.streamable_http import mcp_app

        app.router.routes.extend(mcp_app(mcp).routes)
    return app


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


def openapi_document() -> dict[str, Any]:
    """The OpenAPI document."""

    def never(folder: Path, project: str | None) -> Any:
        raise AssertionError(f"{folder} {project} is not asked for anything")

    return make_http_app(OpenProjects(never, folder=Path())).openapi()


def _add_missing(app: FastAPI, *prefixes: str, extra: str) -> None:
    """Routes of a distribution that is not installed say what to install."""

    async def missing(_: Request) -> Response:
        raise not_installed(extra)

    for prefix in prefixes:
        path = f"{PREFIX}{prefix}/{{rest:path}}"
        app.add_route(path, missing, ["GET", "POST", "PUT", "DELETE"], include_in_schema=False)


async def _let_in(request: Request) -> None:
    """Refuse who may not ask this, and hand on who asks; the same for every route of the API."""
    principal = principal_in(request.scope)
    asked_in_this_task(principal)
    if "all_projects" in request.query_params:
        principal.require_person("Looking into every project")
    route = request.scope["route"]
    require_access(access_of_route(route.operation_id), what=_title_of(route))


def _title_of(route: Any) -> str:
    return str(route.summary or route.operation_id).replace("_", " ").capitalize()


def _lifespan(mcp: Server[dict[str, Any]] | None) -> Any:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        if mcp is None:
            yield
            return
        async with mcp.session_manager.run():
            yield

    return lifespan


def _add_docs(app: FastAPI) -> None:
    @app.get(DOCS_PATH, include_in_schema=False)
    async def docs() -> HTMLResponse:
        from wellkept.api.http.docs_page import docs_page

        return HTMLResponse(docs_page(app.openapi()), headers=dict(DOCS_POLICY))


def _complete_openapi(app: FastAPI) -> None:
    """Add the token and problem media types to the OpenAPI document."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        bearer = {"type": "http", "scheme": "bearer", "description": "The token of `serve`."}
        document["components"]["securitySchemes"] = {"token": bearer}
        document["security"] = [{"token": []}]
        for path, methods in document["paths"].items():
            for operation in methods.values():
                _set_media_types(operation["responses"])
                if path in OPEN_PATHS:
                    operation["security"] = []
        return document

    app.openapi = openapi


def _set_media_types(responses: dict[str, Any]) -> None:
    """Name what a response really is: a problem, or the other type that a route names."""
    for status, response in responses.items():
        content = response["content"]
        others = [name for name in content if name != "application/json"]
        real = MEDIA_TYPE if status in {*_PROBLEMS, "409"} else next(iter(others), None)
        if real is not None:
            schema = content.pop("application/json", None) or content[real]
            response["content"] = {real: schema}


def _add_problems(app: FastAPI) -> None:
    """Convert every error to a problem response."""

    @app.exception_handler(WellkeptError)
    async def failed(request: Request, error: WellkeptError) -> Response:
        return _response(problem_of(error, request_id=_id(request)))

    @app.exception_handler(MemoryChangedError)
    async def changed(request: Request, error: MemoryChangedError) -> Response:
        from wellkept.api.http.records import MemoryRecord

        try:
            sent: object = await request.json()
        except ValueError:
            sent = {}
        details = ConflictProblem(
            **problem_of(error, request_id=_id(request)).model_dump(),
            current=MemoryRecord.of(error.current).model_dump(mode="json"),
            yours=cast("dict[str, Any]", sent) if isinstance(sent, dict) else {},
        )
        return _response(details)

    @app.exception_handler(RequestValidationError)
    async def unfit(request: Request, error: RequestValidationError) -> Response:
        details = problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"This cannot be taken: {_validation_text(error)}.",
            hint=f"{OPENAPI_PATH} says what can be asked.",
            request_id=_id(request),
        )
        return _response(details)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        details = problem(
            HTTPStatus(error.status_code),
            str(error.detail),
            hint=f"{OPENAPI_PATH} says what can be asked.",
            request_id=_id(request),
        )
        return _response(details)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        return _response(internal_error(error, request_id=_id(request)))


def _id(request: Request) -> str:
    return str(request.scope.get(REQUEST_ID, ""))


def _validation_text(error: RequestValidationError) -> str:
    """The invalid fields and reasons, without the sent values."""
    found = error.errors()[:5]
    if any((one["type"], len(one["loc"])) in _NOT_AN_OBJECT for one in found):
        return "the body must be a JSON object, sent with Content-Type: application/json"
    details = [
        f"{'.'.join(str(part) for part in one['loc'][1:]) or one['loc'][0]}: {one['msg']}"
        for one in found
    ]
    return "; ".join(details) or "it is empty"


def _response(details: Problem) -> Response:
    return Response(
        details.model_dump_json(),
        status_code=details.status,
        media_type=MEDIA_TYPE,
        headers=headers_of(details),
    )
