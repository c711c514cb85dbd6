"""A route for each operation of the table, made from the table: nothing here names one.

Every operation can be posted as JSON; those that only read can also be asked by query.
"""

from __future__ import annotations

import inspect
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Body, Header, Query

from wellkept.server.operations.inputs import Input
from wellkept.server.operations.outputs import Output
from wellkept.server.operations.table import OPERATIONS, Effect, Operation
from wellkept.server.threads import WorkerThreads

PROJECT_HEADER = "Wellkept-Project"

ProjectHeader = Annotated[
    str,
    Header(
        alias=PROJECT_HEADER,
        description="The project by name, folder or identity, percent-encoded where it is not "
        "ASCII. Default: the one that the server was started in.",
    ),
]


def operation_routes(crossing: WorkerThreads) -> APIRouter:
    """The routes of the whole table."""
    router = APIRouter(tags=["operations"])
    for operation in OPERATIONS:
        _add(router, crossing, operation)
    return router


def _add(router: APIRouter, crossing: WorkerThreads, operation: Operation[Any, Any]) -> None:
    shown: dict[str, Any] = {
        "response_model": operation.gives,
        "summary": operation.title,
        "description": operation.description,
    }
    path, takes = f"/{operation.name}", operation.takes
    posted = _endpoint(crossing, operation, Annotated[takes, Body()])
    router.add_api_route(path, posted, methods=["POST"], operation_id=operation.name, **shown)
    if operation.effect is Effect.READS:
        asked = _endpoint(crossing, operation, Annotated[takes, Query()])
        name = f"{operation.name}_by_query"
        router.add_api_route(path, asked, methods=["GET"], operation_id=name, **shown)


def _endpoint(crossing: WorkerThreads, operation: Operation[Any, Any], takes: object) -> Any:
    async def endpoint(asked: Input, in_project: str = "") -> Output:
        project = asked.project or unquote(in_project)
        return await crossing.ask(project, lambda wk: operation.run(wk, asked))

    # What the route takes is only known here, so it is said by value and not by annotation.
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("asked", kind, annotation=takes),
        inspect.Parameter("in_project", kind, annotation=ProjectHeader, default=""),
    ]
    endpoint.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return endpoint
