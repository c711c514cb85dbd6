"""Talking to a server as a client of the same SDK would, without async in the tests."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.session import ListRootsFnT
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

import wellkept
from wellkept.app.settings.model import Settings
from wellkept.server.mcp.server import ServerLocation, make_server
from wellkept.server.open_projects import OpenProjects
from wellkept.testing.fakes import ManualClock

Era = Literal["auto", "legacy"]
ERAS: tuple[Era, ...] = ("auto", "legacy")


class Talk:
    """One connection."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal = portal
        self.client = client

    def result(self, tool: str, **arguments: Any) -> types.CallToolResult:
        """What a call gives, error or not."""
        return self.portal.call(self.client.call_tool, tool, arguments)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a call that works."""
        result = self.result(tool, **arguments)
        assert not result.is_error, _text(result)
        assert result.structured_content is not None
        return result.structured_content

    def text(self, tool: str, **arguments: Any) -> str:
        """The text of a call that works."""
        result = self.result(tool, **arguments)
        assert not result.is_error, _text(result)
        return _text(result)

    def error(self, tool: str, **arguments: Any) -> str:
        """The text of a call that fails."""
        result = self.result(tool, **arguments)
        assert result.is_error
        return _text(result)

    def tools(self) -> dict[str, types.Tool]:
        """The tools by name."""
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def read(self, uri: str) -> str:
        """The text of a resource."""
        (content,) = self.portal.call(self.client.read_resource, uri).contents
        assert isinstance(content, types.TextResourceContents)
        return content.text

    def prompt(self, name: str, **arguments: str) -> str:
        """The text of a prompt's one message."""
        (message,) = self.portal.call(self.client.get_prompt, name, arguments).messages
        assert isinstance(message.content, types.TextContent)
        return message.content.text

    def refused(self, method: str, *arguments: Any) -> MCPError:
        """The protocol error that a request of the client ends with."""
        with pytest.raises(MCPError) as caught:
            self.portal.call(getattr(self.client, method), *arguments)
        return caught.value


def _text(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@contextmanager
def talking(
    server: Server[dict[str, Any]] | StdioServerParameters,
    *,
    era: Era = "auto",
    roots: ListRootsFnT | None = None,
) -> Generator[Talk]:
    """A connection to a server in this process, or to one that is started."""
    with start_blocking_portal() as portal:
        client = Client(server, mode=era, list_roots_callback=roots)
        with portal.wrap_async_context_manager(client):
            yield Talk(portal, client)


def memories_in(folder: Path, *, clock: ManualClock | None = None) -> OpenProjects:
    """Memories of a database in `folder`, searched by words."""
    ticking = clock or ManualClock()

    def open_in(cwd: Path, project: str | None) -> wellkept.Wellkept:
        return wellkept.open(
            folder / "data" / "memory.db",
            project=project,
            cwd=cwd,
            embedder="none",
            settings=Settings(),
            clock=ticking,
            environment={},
        )

    return OpenProjects(open_in, folder=folder)


@contextmanager
def talking_in(
    folder: Path,
    *,
    era: Era = "auto",
    place: ServerLocation | None = None,
    roots: ListRootsFnT | None = None,
    clock: ManualClock | None = None,
) -> Generator[Talk]:
    """A connection to a server over an own memory in `folder`."""
    memories = memories_in(folder, clock=clock)
    server = make_server(memories, place or ServerLocation(folder=folder))
    try:
        with talking(server, era=era, roots=roots) as talk:
            yield talk
    finally:
        memories.close()
