"""The servers of a session: connect gives their tools, disconnect takes them away.

Tools stand in the session's registry as `mcp:server:tool` and follow the server: they change when
it says so, and go when it is given up. Prompts are kept for skills (`prompts` makes no request).
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp_types as types

from wellkept.core.chat.messages import ImagePart
from wellkept.core.errors import ConflictError, NotFoundError, ProviderError, WellkeptError
from wellkept.core.ports.skills import PromptArgument, PromptDefinition
from wellkept.core.records import record
from wellkept.core.session.events import ToolKind
from wellkept.core.text import clean, shorten, strip_invisible
from wellkept_agent.mcp_client.connection import McpConnection, ServerState
from wellkept_agent.permissions import PermissionRequest
from wellkept_agent.settings import McpSettings
from wellkept_agent.tools.base import ToolOutput
from wellkept_agent.tools.schemas import sanitised

if TYPE_CHECKING:
    from wellkept_agent.mcp_client.config import McpServer
    from wellkept_agent.tools.base import ToolContext, ToolRegistry

Report = Callable[[str, str], None]
_MAX_PROMPTS = 200
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,127}")
_MAX_DESCRIPTION_CHARS = 2_000
_MAX_SCHEMA_CHARS = 20_000
_MAX_SHOWN_CHARS = 4_000
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MAX_IMAGE_CHARS = 7_000_000
_MAX_IMAGES = 8


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
        usable = [tool for tool in tools if _NAME.fullmatch(tool.name)]
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


# -- A tool of a server as one of the agent's: what a server says of it is not trusted -------------


class McpTool:
    """One tool of one server."""

    kind = ToolKind.MCP
    is_long_running = True
    """The connection has a time limit of its own."""

    def __init__(self, connection: McpConnection, tool: types.Tool, *, max_chars: int) -> None:
        self._connection = connection
        self._own_name = tool.name
        self._max_chars = max_chars
        self.name = f"mcp:{connection.server.name}:{tool.name}"
        text = strip_invisible(tool.description or tool.title or tool.name).strip()
        self.description = shorten(text or tool.name, limit=_MAX_DESCRIPTION_CHARS)
        self.parameters: Mapping[str, object] = _parameters(tool)
        hints = tool.annotations
        self.read_only = bool(hints is not None and hints.read_only_hint)

    def wants(
        self,
        context: ToolContext,
        arguments: Mapping[str, object],
    ) -> PermissionRequest | None:
        """What the person is asked."""
        server = self._connection.server
        shown = json.dumps(dict(arguments), ensure_ascii=False, indent=1, default=str)
        return PermissionRequest(
            tool=self.name,
            arguments=shorten(shown, limit=_MAX_SHOWN_CHARS),
            reason=f"call {self._own_name} of the MCP server {server.name}",
            rule=self.name,
        )

    async def execute(
        self,
        context: ToolContext,
        arguments: Mapping[str, object],
    ) -> ToolOutput:
        """Call the tool on its server."""
        result = await self._connection.call(self._own_name, arguments)
        return tool_output(result, max_chars=self._max_chars)


def _parameters(tool: types.Tool) -> Mapping[str, object]:
    """A plain schema; one of unreasonable size is not told to the model."""
    schema = sanitised(tool.input_schema)
    try:
        size = len(json.dumps(schema))
    except (TypeError, ValueError, RecursionError):
        size = _MAX_SCHEMA_CHARS + 1
    return schema if size <= _MAX_SCHEMA_CHARS else {"type": "object", "properties": {}}


# -- What a tool or prompt gives back, as text and pictures of bounded size ------------------------


def tool_output(result: types.CallToolResult, *, max_chars: int) -> ToolOutput:
    """A result for the model; pictures that models take stay pictures."""
    texts: list[str] = []
    images: list[ImagePart] = []
    for block in result.content:
        if isinstance(block, types.ImageContent) and _fits(block, images):
            images.append(ImagePart(block.data, block.mime_type))
        else:
            texts.append(_text(block))
    if not any(texts) and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False, default=str)]
    content = bounded("\n".join(texts), max_chars)
    if not content.strip():
        content = "[image]" if images else "[no output]"
    return ToolOutput(content=content, is_error=bool(result.is_error), images=tuple(images))


def prompt_text(result: types.GetPromptResult, *, max_chars: int) -> str:
    """A prompt as one text; turns of the other side are marked."""
    parts: list[str] = []
    for message in result.messages:
        text = _text(message.content)
        parts.append(f"[assistant]\n{text}" if message.role == "assistant" else text)
    return bounded("\n\n".join(parts), max_chars)


def bounded(text: str, limit: int) -> str:
    """Text that can be stored and is not longer than the limit; the middle is left out."""
    text = clean(text)
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[{len(text) - limit:,} characters left out]\n{text[-half:]}"


def _fits(block: types.ImageContent, images: Sequence[ImagePart]) -> bool:
    is_small = len(block.data) <= _MAX_IMAGE_CHARS and len(images) < _MAX_IMAGES
    return block.mime_type in _IMAGES and is_small


def _text(block: Any) -> str:
    match block:
        case types.TextContent(text=text):
            return text
        case types.ImageContent(mime_type=kind) | types.AudioContent(mime_type=kind):
            return f"[{kind}, {len(block.data):,} characters; not shown]"
        case types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, text=text)):
            return f"[{uri}]\n{text}"
        case types.EmbeddedResource(resource=resource):
            return f"[{resource.uri}: not text]"
        case types.ResourceLink(uri=uri, name=name, description=description):
            return " ".join(filter(None, [f"[{name}: {uri}]", description]))
        case _:
            return f"[{type(block).__name__}]"
