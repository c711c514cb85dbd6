"""The MCP server on the SDK, for streamable HTTP: the same methods as over stdio.

Built on the SDK's low-level server, because the operation table has its own schemas. Invariant:
methods that open a project run in worker threads, never on the event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

from wellkept import __version__
from wellkept.api.mcp import instructions
from wellkept.api.mcp.errors import RequestError
from wellkept.api.mcp.handlers import (
    Handlers,
    Params,
    Result,
    Roots,
    ServerLocation,
    ServerOptions,
    title_of,
)
from wellkept.api.mcp.roots import folders_of
from wellkept.api.mcp.stdio import PROGRESS_EVERY_S, ROOTS_WITHIN_S, THREADS
from wellkept.api.mcp.toolsets import all_tools
from wellkept.api.server.open_projects import OpenProjects
from wellkept.core.team.people import asked_by, principal_in

Request: TypeAlias = ServerRequestContext[dict[str, Any]]
_Result = TypeVar("_Result", bound=BaseModel)


def make_server(
    projects: OpenProjects, location: ServerLocation, options: ServerOptions | None = None
) -> Server[dict[str, Any]]:
    """An MCP server for these projects, for any transport of the SDK."""
    adapter = _Adapter(Handlers(projects, location, options or ServerOptions()))
    return Server(
        instructions.NAME,
        version=__version__,
        title=instructions.TITLE,
        instructions=instructions.INSTRUCTIONS,
        on_list_tools=adapter.list_tools,
        on_call_tool=adapter.call_tool,
        on_list_resources=adapter.list_resources,
        on_list_resource_templates=adapter.list_templates,
        on_read_resource=adapter.read_resource,
        on_list_prompts=adapter.list_prompts,
        on_get_prompt=adapter.get_prompt,
        get_tool_input_schema=_schema_of,
    )


def _schema_of(name: str) -> dict[str, Any] | None:
    return next((tool["inputSchema"] for _, tool in all_tools() if tool["name"] == name), None)


class _Adapter:
    """The handlers in the SDK's types."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        self._limit = anyio.CapacityLimiter(THREADS)

    async def list_tools(
        self, _: Request, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return _listed(types.ListToolsResult, self._handlers.list_tools, params)

    async def list_resources(
        self, _: Request, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return _listed(types.ListResourcesResult, self._handlers.list_resources, params)

    async def list_templates(
        self, _: Request, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return _listed(types.ListResourceTemplatesResult, self._handlers.list_templates, params)

    async def call_tool(
        self, request: Request, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        result = await self._run(request, self._handlers.call_tool, params)
        return types.CallToolResult.model_validate(result)

    async def read_resource(
        self, request: Request, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        result = await self._run(request, self._handlers.read_resource, params)
        return types.ReadResourceResult.model_validate(result)

    async def list_prompts(
        self, request: Request, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        result = await self._run(request, self._handlers.list_prompts, params)
        return types.ListPromptsResult.model_validate(result)

    async def get_prompt(
        self, request: Request, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        result = await self._run(request, self._handlers.get_prompt, params)
        return types.GetPromptResult.model_validate(result)

    async def _run(
        self,
        request: Request,
        method: Callable[[Params, Roots], Result],
        params: BaseModel | None,
    ) -> Result:
        """Run a method in a worker thread and report progress every second.

        Most calls end before the first report. Opening a large store, a migration or loading a
        model takes longer, and clients time out without progress.
        """
        given = _plain(params)
        # Of this message, and not of the one that began the session.
        principal = principal_in(getattr(request.request, "scope", None))

        def call() -> Result:
            with asked_by(principal):
                return method(given, lambda: anyio.from_thread.run(_roots, request))

        async def report() -> None:
            seconds = 0
            while True:
                await anyio.sleep(PROGRESS_EVERY_S)
                seconds += 1
                title = title_of(request.method, given)
                await request.session.report_progress(seconds, None, f"{title}: still running")

        done: list[Result] = []
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(report)
                done.append(await anyio.to_thread.run_sync(call, limiter=self._limit))
                tasks.cancel_scope.cancel()
        except* RequestError as failed:
            raise _sdk_error(failed) from None
        return done[0]


def _listed(
    kind: type[_Result], method: Callable[[Params], Result], params: BaseModel | None
) -> _Result:
    try:
        return kind.model_validate(method(_plain(params)))
    except RequestError as error:
        raise MCPError(error.code, error.message, error.data) from None


def _plain(params: BaseModel | None) -> dict[str, Any]:
    return {} if params is None else params.model_dump(mode="json", by_alias=True)


def _sdk_error(failed: BaseExceptionGroup[RequestError]) -> MCPError:
    error = failed.exceptions[0]
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return MCPError(error.code, error.message, error.data)


async def _roots(request: Request) -> list[Path]:
    """The client's root folders; empty when it has none or does not answer in time."""
    capabilities = request.session.client_capabilities
    if not (capabilities and capabilities.roots and request.session.can_send_request):
        return []
    try:
        with anyio.fail_after(ROOTS_WITHIN_S):
            listed = await request.session.send_request(
                types.ListRootsRequest(), types.ListRootsResult
            )
    except (TimeoutError, MCPError, ValidationError):
        return []
    return folders_of(listed.model_dump(mode="json", by_alias=True))
