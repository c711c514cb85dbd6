"""A server's tool as one of the agent's.

Names, descriptions and schemas come from the server: names that could be mistaken for something
else are refused, texts are cut, schemas made plain. What a server says of a tool's harmlessness
decides only whether calls may run side by side; permission is asked in any case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from wellkept.core.session.events import ToolKind
from wellkept.core.text import shorten, strip_invisible
from wellkept_agent.mcp_client.results import tool_output
from wellkept_agent.permissions import PermissionRequest
from wellkept_agent.tools.base import ToolOutput
from wellkept_agent.tools.schemas import sanitised

if TYPE_CHECKING:
    import mcp_types as types

    from wellkept_agent.mcp_client.connection import McpConnection
    from wellkept_agent.tools.registry import ToolContext

PREFIX = "mcp"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,127}")
_MAX_DESCRIPTION_CHARS = 2_000
_MAX_SCHEMA_CHARS = 20_000
_MAX_SHOWN_CHARS = 4_000


def tool_name(server: str, tool: str) -> str:
    """The name under which the agent knows a server's tool."""
    return f"{PREFIX}:{server}:{tool}"


def is_usable(name: str) -> bool:
    """Whether a server's name for a tool can be used."""
    return _NAME.fullmatch(name) is not None


class McpTool:
    """One tool of one server."""

    kind = ToolKind.MCP
    is_long_running = True
    """The connection has a time limit of its own."""

    def __init__(self, connection: McpConnection, tool: types.Tool, *, max_chars: int) -> None:
        self._connection = connection
        self._own_name = tool.name
        self._max_chars = max_chars
        self.name = tool_name(connection.server.name, tool.name)
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
