"""The servers of a session: connect gives their tools, disconnect takes them away.

Tools stand in the session's registry as `mcp:server:tool` and follow the server: they change when
it says so, and go when it is given up. Prompts are kept for skills (`prompts` makes no request).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.errors import ConflictError, NotFoundError, ProviderError, WellkeptError
from wellkept.core.ports.skills import PromptArgument, PromptDefinition
from wellkept.core.records import record
from wellkept.core.text import strip_invisible
from wellkept_agent.mcp_client.connection import McpConnection, ServerState
from wellkept_agent.mcp_client.results import prompt_text
from wellkept_agent.mcp_client.settings import McpSettings
from wellkept_agent.mcp_client.tools import McpTool, is_usable

if TYPE_CHECKING:
    import mcp_types as types

    from wellkept_agent.mcp_client.config import McpServer
    from wellkept_agent.tools.registry import ToolRegistry

Report = Callable[[str, str], None]
_MAX_PROMPTS = 200


@record(kw_only=True)
class _Connected:
    connection: McpConnection
    tools: dict[str, McpTool]
    prompts: tuple[PromptDefinition, ...]


class McpToolset:
    """Servers by name. `report` is told (source, problem)."""

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        root: Path,
        settings: McpSettings | None = None,
        environment: Mapping[str, str] | None = None,
        report: Report | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._registry = registry
        self._root = root
        self._settings = settings or McpSettings()
        self._environment = environment or {}
        self._report = report or _ignore
        self._sleep = sleep
        self._servers: dict[str, _Connected] = {}
        self._lock = asyncio.Lock()

    async def connect(self, server: McpServer) -> list[McpTool]:
        """Connect to a server and register its tools. ConflictError when it is connected."""
        name = server.name
        if name in self._servers:
            raise ConflictError(f"The MCP server {name!r} is connected already.")
        connection = McpConnection(
            server,
            settings=self._settings,
            environment=self._environment,
            root=self._root,
            report=lambda problem: self._report(f"mcp:{name}", problem),
            on_change=lambda: self._refresh(name),
            sleep=self._sleep,
        )
        await connection.open()
        try:
            tools, prompts = await connection.tools(), await connection.prompts()
        except (WellkeptError, asyncio.CancelledError):
            await connection.close()
            raise
        if name in self._servers:
            await connection.close()
            raise ConflictError(f"The MCP server {name!r} is connected already.")
        self._servers[name] = _Connected(connection=connection, tools={}, prompts=())
        self._take(name, tools, prompts)
        return list(self._servers[name].tools.values())

    async def disconnect(self, name: str) -> None:
        """Unregister a server's tools and end it. NotFoundError when it is not connected."""
        known = self._servers.pop(name, None)
        if known is None:
            raise NotFoundError(f"There is no MCP server {name!r}.")
        for tool in known.tools:
            self._registry.unregister(tool)
        await known.connection.close()

    async def close(self) -> None:
        """Disconnect all."""
        await asyncio.gather(*(self.disconnect(name) for name in list(self._servers)))

    def states(self) -> dict[str, ServerState]:
        """How each server is."""
        return {name: known.connection.state for name, known in self._servers.items()}

    def tools(self) -> list[McpTool]:
        """The tools of all servers."""
        return [tool for known in self._servers.values() for tool in known.tools.values()]

    def prompts(self) -> Sequence[PromptDefinition]:
        """The prompts of all servers, without a request; a `PromptSource` for skills."""
        return [prompt for known in self._servers.values() for prompt in known.prompts]

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> str:
        """The text of a prompt, requested from its server."""
        known = self._servers.get(server)
        if known is None:
            raise NotFoundError(f"There is no MCP server {server!r}.")
        result = await known.connection.prompt(name, arguments)
        return prompt_text(result, max_chars=self._settings.max_result_chars)

    # -- Following a server -----------------------------------------------------------------------

    async def _refresh(self, name: str) -> None:
        """Take over what a server offers now."""
        known = self._servers.get(name)
        if known is None:
            return
        if known.connection.state is ServerState.GIVEN_UP:
            self._take(name, [], [])
            return
        try:
            tools = await known.connection.tools()
            prompts = await known.connection.prompts()
        except ProviderError as error:
            # One that ended meanwhile is reported as such.
            if error.cause != "busy":
                self._report(f"mcp:{name}", str(error))
            return
        if name in self._servers:
            self._take(name, tools, prompts)

    def _take(
        self, name: str, tools: Sequence[types.Tool], prompts: Sequence[types.Prompt]
    ) -> None:
        known = self._servers[name]
        for old in known.tools:
            self._registry.unregister(old)
        registered: dict[str, McpTool] = {}
        for tool in self._usable(name, tools):
            made = McpTool(known.connection, tool, max_chars=self._settings.max_result_chars)
            try:
                self._registry.register(made)
                registered[made.name] = made
            except ConflictError as error:
                self._report(f"mcp:{name}", str(error))
        self._servers[name] = _Connected(
            connection=known.connection,
            tools=registered,
            prompts=tuple(_prompt(name, one) for one in prompts[:_MAX_PROMPTS]),
        )

    def _usable(self, name: str, tools: Sequence[types.Tool]) -> list[types.Tool]:
        """Tools with names that can be used, at most so many."""
        usable = [tool for tool in tools if is_usable(tool.name)]
        if len(usable) < len(tools):
            self._report(f"mcp:{name}", f"{len(tools) - len(usable)} tools have unusable names.")
        if len(usable) > self._settings.max_tools:
            left_out = len(usable) - self._settings.max_tools
            self._report(f"mcp:{name}", f"{left_out} of {len(usable)} tools are left out.")
        return usable[: self._settings.max_tools]


def _prompt(server: str, prompt: types.Prompt) -> PromptDefinition:
    return PromptDefinition(
        server=server,
        name=prompt.name,
        description=strip_invisible(prompt.description or prompt.title or "")[:1_024],
        arguments=tuple(
            PromptArgument(
                name=one.name,
                description=strip_invisible(one.description or "")[:1_024],
                required=bool(one.required),
            )
            for one in prompt.arguments or ()
        ),
    )


def _ignore(_source: str, _problem: str) -> None:
    pass
