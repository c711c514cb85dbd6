"""Routes beyond the verbs: streams, the server's own health, and what a team's server adds.

    @endpoint("GET", "/sessions", role=Role.READER)
    def sessions(wk: Wellkept, *, limit: Annotated[int, Arg("How many.", 1, 200)] = 50) -> Page:
        "Sessions, the latest active first."

Arguments come in path, query or body and are checked as those of a verb. A plain function works on
the project, in a thread, and returns a record. An async one is given what was asked (`Asked`), and
returns a record or a response.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from wellkept.api.server.access import Access, require_access, require_one_project
from wellkept.api.server.requests import NamedRoute, arguments_in, let_in, project_in
from wellkept.api.verbs.as_json import encoded
from wellkept.api.verbs.check import read
from wellkept.api.verbs.params import params_of
from wellkept.core.records import record
from wellkept.core.team.people import Role

if TYPE_CHECKING:
    from wellkept.api.http.sse import EventFeed
    from wellkept.api.server.open_projects import OpenProjects
    from wellkept.api.server.threads import WorkerThreads
    from wellkept.api.telemetry.metrics import ServerMetrics

EVENTS = "text/event-stream"
_Function = TypeVar("_Function", bound=Callable[..., Any])


@record(kw_only=True)
class ServerParts:
    """What a route may use of its server."""

    projects: OpenProjects
    workers: WorkerThreads
    feed: EventFeed
    metrics: ServerMetrics
    stopping: threading.Event


@record(kw_only=True)
class Asked:
    """A request: the server, the name of the project, and the headers."""

    server: ServerParts
    project: str
    headers: Mapping[str, str]


Runs: TypeAlias = Callable[[Asked, Callable[[Any], bytes]], Awaitable[bytes]]
"""Runs work in a thread."""


async def on_project(asked: Asked, work: Callable[[Any], bytes]) -> bytes:
    """Run work on the project."""
    return await asked.server.workers.run(asked.project, work)


@record(kw_only=True)
class Endpoint:
    """A declared route. `gives` is what a stream is made of, of the type `media`; `told` describes
    it."""

    method: str
    path: str
    function: Callable[..., Any]
    role: Role | None
    on_files: bool
    runs: Runs
    gives: Any
    media: str
    told: str
    reads: None = None

    @property
    def name(self) -> str:
        """The id of the operation."""
        return self.function.__name__

    @property
    def words(self) -> str:
        """How it is called in errors."""
        return self.name.replace("_", " ")

    @property
    def access(self) -> Access:
        """What it needs."""
        return Access(role=self.role, on_files=self.on_files)


def endpoint(
    method: str,
    path: str,
    *,
    role: Role | None,
    on_files: bool = False,
    runs: Runs = on_project,
    gives: Any = None,
    media: str = "application/json",
    told: str = "Done.",
) -> Callable[[_Function], _Function]:
    """Declare a function as a route."""

    def declared(function: _Function) -> _Function:
        function.endpoint = Endpoint(  # type: ignore[attr-defined]
            method=method,
            path=path,
            function=function,
            role=role,
            on_files=on_files,
            runs=runs,
            gives=gives,
            media=media,
            told=told,
        )
        return function

    return declared


def endpoints_in(names: Mapping[str, Any]) -> list[Endpoint]:
    """The routes that a module declares, in order."""
    found = (getattr(one, "endpoint", None) for one in names.values())
    return [one for one in found if isinstance(one, Endpoint)]


def endpoint_route(one: Endpoint, server: ServerParts) -> NamedRoute:
    """The route of an endpoint."""

    async def handle(request: Request) -> Response:
        let_in(request)
        require_access(one.access, what=one.words.capitalize())
        given = await arguments_in(request)
        meant = given.get("project")
        asked = Asked(server=server, project=project_in(request, given), headers=request.headers)
        if any(param.name == "project" for param in params_of(one.function)):
            given["project"] = meant
        arguments, _ = read(one, given)
        require_one_project(arguments)
        if iscoroutinefunction(one.function):
            made = await one.function(asked, **arguments)
            if isinstance(made, Response):
                return made
            body = encoded(made)
        else:
            body = await one.runs(asked, lambda part: encoded(one.function(part, **arguments)))
        return Response(body, media_type="application/json")

    return NamedRoute(one.path, handle, methods=one.method.split())


def streamed(lines: Any, *, media: str = EVENTS, **headers: str) -> StreamingResponse:
    """A response that is sent as it is made, and kept nowhere."""
    return StreamingResponse(
        lines, media_type=media, headers={"cache-control": "no-store", **headers}
    )


def event(kind: str, data: object) -> bytes:
    """A server-sent event; JSON has no raw line breaks, so one data line holds it all."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), encoded(data))
