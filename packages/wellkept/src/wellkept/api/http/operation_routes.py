"""HTTP routes generated from the operation table.

Every operation accepts POST with JSON; read-only operations also accept GET with a query.
"""

from __future__ import annotations

import inspect
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Body, Header, Query

from wellkept.api.operations.inputs import Input
from wellkept.api.operations.outputs import Output
from wellkept.api.operations.table import OPERATIONS, Effect, Operation
from wellkept.api.server.http_errors import ConflictProblem
from wellkept.api.server.threads import WorkerThreads

PROJECT_HEADER = "Wellkept-Project"

ProjectHeader = Annotated[
    str,
    Header(
        alias=PROJECT_HEADER,
        description="The project by name, folder or identity, percent-encoded where it is not "
        "ASCII. Default: the one that the server was started in.",
    ),
]


CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": ConflictProblem, "description": "It was changed since it was seen."}
}


def operation_routes(workers: WorkerThreads) -> APIRouter:
    """The routes of all operations."""
    router = APIRouter(tags=["operations"])
    for operation in OPERATIONS:
        _add(router, workers, operation)
    return router


def _add(router: APIRouter, workers: WorkerThreads, operation: Operation[Any, Any]) -> None:
    shown: dict[str, Any] = {
        "response_model": operation.gives,
        "summary": operation.title,
        "description": operation.description,
        "responses": CONFLICT if operation.accepts("if_updated_at") else None,
    }
    takes = operation.takes
    # The name that MCP lists is answered too; the document has each operation once.
    for name in dict.fromkeys((operation.name, operation.tool_name)):
        listed: dict[str, Any] = {**shown, "include_in_schema": name == operation.name}
        posted = _endpoint(workers, operation, Annotated[takes, Body()])
        router.add_api_route(f"/{name}", posted, methods=["POST"], operation_id=name, **listed)
        if operation.effect is Effect.READS:
            asked = _endpoint(workers, operation, Annotated[takes, Query()])
            by_query = f"{name}_by_query"
            router.add_api_route(
                f"/{name}", asked, methods=["GET"], operation_id=by_query, **listed
            )


def _endpoint(workers: WorkerThreads, operation: Operation[Any, Any], takes: object) -> Any:
    async def endpoint(request: Input, in_project: str = "") -> Output:
        project = request.project or unquote(in_project)
        return await workers.run(project, lambda wk: operation.call(wk, request))

    # The input type is only known at runtime, so the signature is set explicitly.
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("request", kind, annotation=takes),
        inspect.Parameter("in_project", kind, annotation=ProjectHeader, default=""),
    ]
    endpoint.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return endpoint
