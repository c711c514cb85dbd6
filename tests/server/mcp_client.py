"""Talking to a server as a client of the SDK would, without async in the tests.

Over either transport: the SDK's server in this process, or ours for stdio behind two pipes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.to_thread
import mcp_types as types
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.session import ListRootsFnT
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

import wellkept
from wellkept.api.mcp.handlers import Handlers, ServerLocation, ServerOptions
from wellkept.api.mcp.server import make_server
from wellkept.api.mcp.stdio import StdioServer
from wellkept.api.server.open_projects import OpenProjects
from wellkept.core.settings.model import Settings
from wellkept.testing.fakes import ManualClock

Era = Literal["auto", "legacy"]
ERAS: tuple[Era, ...] = ("auto", "legacy")
Transport = Literal["stdio", "sdk"]
TRANSPORTS: tuple[Transport, ...] = ("stdio", "sdk")
# Tests read the data of a result; what models are given is its text.
AS_DATA = ServerOptions(structured=True)


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


@asynccontextmanager
async def over_pipes(handlers: Handlers) -> AsyncGenerator[Any]:
    """A transport of the SDK's client to our stdio server, which runs in a thread."""
    (to_server, from_client), (to_client, from_server) = os.pipe(), os.pipe()
    with (
        os.fdopen(to_server, "rb") as incoming,
        os.fdopen(from_server, "wb") as outgoing,
        os.fdopen(to_client, "rb") as answers,
        os.fdopen(from_client, "wb") as requests,
    ):
        server = threading.Thread(target=StdioServer(handlers, outgoing).run, args=[incoming])
        server.start()
        in_send, in_receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        out_send, out_receive = anyio.create_memory_object_stream[SessionMessage](0)

        async def read() -> None:
            async with in_send:
                while line := await anyio.to_thread.run_sync(answers.readline):
                    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                    await in_send.send(SessionMessage(message))

        async def write() -> None:
            async with out_receive:
                async for sent in out_receive:
                    text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                    requests.write(text.encode() + b"\n")
                    requests.flush()
            requests.close()
            await anyio.to_thread.run_sync(server.join)
            outgoing.close()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write)
            async with in_receive, out_send:
                yield in_receive, out_send


@contextmanager
def talking(
    server: Server[dict[str, Any]] | StdioServerParameters | Handlers,
    *,
    era: Era = "auto",
    roots: ListRootsFnT | None = None,
) -> Generator[Talk]:
    """A connection to a server in this process, or to one that is started."""
    with start_blocking_portal() as portal:
        reached = over_pipes(server) if isinstance(server, Handlers) else server
        client = Client(reached, mode=era, list_roots_callback=roots)
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


def made(
    memories: OpenProjects,
    place: ServerLocation,
    transport: Transport,
    options: ServerOptions = AS_DATA,
) -> Server[dict[str, Any]] | Handlers:
    """A server for these memories, for one of the transports."""
    make = Handlers if transport == "stdio" else make_server
    return make(memories, place, options)


@contextmanager
def talking_in(
    folder: Path,
    *,
    era: Era = "auto",
    place: ServerLocation | None = None,
    roots: ListRootsFnT | None = None,
    clock: ManualClock | None = None,
    transport: Transport = "stdio",
    options: ServerOptions = AS_DATA,
) -> Generator[Talk]:
    """A connection to a server over an own memory in `folder`."""
    memories = memories_in(folder, clock=clock)
    server = made(memories, place or ServerLocation(folder=folder), transport, options)
    try:
        with talking(server, era=era, roots=roots) as talk:
            yield talk
    finally:
        memories.close()
