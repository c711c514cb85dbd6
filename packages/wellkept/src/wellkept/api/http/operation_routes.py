"""Operations that are no verbs yet, over HTTP. The first call imports them and their models.

Every operation accepts POST with JSON; read-only operations also accept GET with a query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from wellkept.api.operations.access import access_of, require_access, require_one_project
from wellkept.api.server.requests import NamedRoute, arguments_in, let_in, project_in
from wellkept.core.verbs import Effect

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.api.operations.operation import Operation
    from wellkept.api.server.threads import WorkerThreads


def operation_route(workers: WorkerThreads, others: frozenset[str]) -> NamedRoute:
    """The route of all operations, by their names and those that MCP lists. `others` are paths that
    are there with another method."""

    async def handle(request: Request) -> Response:
        name = request.path_params.pop("operation")
        operation = await anyio.to_thread.run_sync(_find, name)
        if operation is None:
            raise HTTPException(405 if f"/{name}" in others else 404)
        request.scope["route"] = NamedRoute(f"/{name}", handle)
        if request.method != "POST" and operation.effect is not Effect.READS:
            raise HTTPException(405, headers={"Allow": "POST"})
        let_in(request)
        require_access(access_of(operation), what=operation.title)
        given = await arguments_in(request)
        project = project_in(request, given)
        arguments = operation.read(given)
        require_one_project(arguments.model_dump(include={"all_projects"}))

        def work(wk: Wellkept) -> str:
            return operation.call(wk, arguments).model_dump_json()

        return Response(await workers.run(project, work), media_type="application/json")

    return NamedRoute("/{operation}", handle, methods=["GET", "POST"])


def _find(name: str) -> Operation[Any, Any] | None:
    from wellkept.api.operations.table import OPERATIONS

    return next((one for one in OPERATIONS if name in (one.name, one.tool_name)), None)
