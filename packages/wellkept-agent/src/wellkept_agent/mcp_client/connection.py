"""One MCP server, kept alive: connected, asked, started again when it ends.

The client lives in a task of its own, because it must be closed by the task that opened it. A
server that ends by itself is reported and started again, each time after a longer wait; one that
keeps ending is given up. Invariant: after `close` no process and no task is left.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio
import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from wellkept.core.errors import ProviderCause, ProviderError, WellkeptError
from wellkept.core.records import replace
from wellkept.core.text import clean, shorten
from wellkept_agent.mcp_client.config import McpServer
from wellkept_agent.settings import McpSettings

if TYPE_CHECKING:
    from pathlib import Path

_T = TypeVar("_T")
_One = TypeVar("_One")
_MAX_PAGES = 50
_HEALTHY_S = 60.0
_MAX_PROBLEM_CHARS = 500
_CLOSE_S = 10.0
_TAIL_CHARS = 600


class ServerState(StrEnum):
    """How a server is."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    RESTARTING = "restarting"
    CLOSED = "closed"
    GIVEN_UP = "given_up"


class McpConnection:
    """A server. `report` is told of problems, `on_change` when its tools or prompts may have
    changed."""

    def __init__(
        self,
        server: McpServer,
        *,
        settings: McpSettings,
        environment: Mapping[str, str],
        root: Path,
        report: Callable[[str], None],
        on_change: Callable[[], Awaitable[None]],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.server = server
        self.state = ServerState.CLOSED
        self._settings = settings
        self._environment = environment
        self._root = root
        self._report = report
        self._on_change = on_change
        self._sleep = sleep
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[None] | None = None
        self._changed = asyncio.Event()
        self._up = asyncio.Event()
        self._ended = asyncio.Event()

    async def open(self) -> None:
        """Connect. ProviderError when the server does not answer in time or not as one."""
        self.state = ServerState.CONNECTING
        self._stop = asyncio.Event()
        self._ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._keep_alive(), name=f"mcp {self.server.name}")
        try:
            await asyncio.shield(self._ready)
        except (WellkeptError, asyncio.CancelledError):
            await self.close()
            raise

    async def close(self) -> None:
        """Disconnect and end the server's process."""
        self._stop.set()
        task, self._task = self._task, None
        if task is not None:
            with suppress(asyncio.CancelledError, TimeoutError):
                await asyncio.wait_for(asyncio.shield(task), _CLOSE_S)
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if self._ready is not None and self._ready.done() and not self._ready.cancelled():
            self._ready.exception()
        self.state = ServerState.CLOSED

    # -- Asking -----------------------------------------------------------------------------------

    async def tools(self) -> list[types.Tool]:
        """The server's tools, all pages."""
        client = await self._connected()
        if client.server_capabilities.tools is None:
            return []
        asked = client.list_tools
        return await self._paged(client, asked, lambda page: page.tools, "list its tools")

    async def prompts(self) -> list[types.Prompt]:
        """The server's prompts, all pages."""
        client = await self._connected()
        if client.server_capabilities.prompts is None:
            return []
        asked = client.list_prompts
        return await self._paged(client, asked, lambda page: page.prompts, "list its prompts")

    async def _paged(
        self,
        client: Client,
        ask: Callable[..., Awaitable[_T]],
        found: Callable[[_T], Iterable[_One]],
        what: str,
    ) -> list[_One]:
        every: list[_One] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await self._asked(client, ask(cursor=cursor), what)
            every += found(page)
            cursor = getattr(page, "next_cursor", None)
            if not cursor:
                break
        return every

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Call a tool; ProviderError when the server failed, was too slow or died."""
        client = await self._connected()
        asked = client.call_tool(tool, dict(arguments))
        return await self._asked(client, asked, f"run {tool}", limit_s=self.call_limit_s)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
        """The text of a prompt."""
        client = await self._connected()
        asked = client.get_prompt(name, dict(arguments))
        return await self._asked(client, asked, f"give the prompt {name}")

    @property
    def call_limit_s(self) -> float:
        """How long a tool may take: what the server's entry says, or the setting."""
        return self.server.time_limit_s or self._settings.call_time_limit_s

    async def _connected(self) -> Client:
        """The client; one that is being started again is waited for, as long as a call may take:
        `_up` is set when the server answers, and when it is given up."""
        if self._client is None and self.state is ServerState.RESTARTING:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._up.wait(), self.call_limit_s)
        if self._client is None:
            raise self._failed("is not running.", hint="Go on without it.")
        return self._client

    async def _asked(
        self, client: Client, asked: Awaitable[_T], what: str, *, limit_s: float | None = None
    ) -> _T:
        limit_s = limit_s or self._settings.connect_time_limit_s
        ended = f"ended before it could {what}."
        try:
            return await asyncio.wait_for(asked, limit_s)
        except TimeoutError:
            raise self._failed(f"did not {what} within {limit_s:g} s.") from None
        except MCPError as error:
            if error.code != types.CONNECTION_CLOSED:
                problem = f"did not {what}: {_shown(str(error))}"
                raise self._failed(problem, cause="answer") from error
            self._lost(client)
            raise self._failed(ended) from error
        except ValidationError as error:
            problem = "answered with something that is not the protocol."
            raise self._failed(problem, cause="answer") from error
        except RuntimeError as error:
            if self._client is client:
                raise
            raise self._failed(ended) from error
        except (OSError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            self._lost(client)
            raise self._failed(f"is gone ({type(error).__name__}).") from error

    def _failed(
        self, problem: str, *, cause: ProviderCause = "busy", hint: str | None = None
    ) -> ProviderError:
        message = f"The MCP server {self.server.name!r} {problem}"
        return ProviderError(message, cause=cause, hint=hint)

    def _lost(self, client: Client) -> None:
        """A request found the connection closed: from now on calls wait for the next one. Says
        nothing of a connection that is newer than the request."""
        if self._client is client:
            self._disconnected()
            self._ended.set()

    def _disconnected(self) -> None:
        self._client = None
        if self.state is ServerState.CONNECTED:
            self.state = ServerState.RESTARTING
        self._up.clear()

    # -- Staying alive ----------------------------------------------------------------------------

    async def _keep_alive(self) -> None:
        """Run the client until it is told to stop; start it again when the server ends."""
        failures = 0
        loop = asyncio.get_running_loop()
        while not self._stop.is_set():
            began = loop.time()
            problem = await self._run()
            if self._stop.is_set():
                return
            if self._ready is not None and not self._ready.done():
                self._ready.set_exception(ProviderError(problem, cause="busy"))
                return
            failures = 1 if loop.time() - began > _HEALTHY_S else failures + 1
            if failures > self._settings.restarts:
                self.state = ServerState.GIVEN_UP
                self._up.set()
                self._report(f"{problem} It was started {failures} times and is given up.")
                await self._on_change()
                return
            wait_s = min(
                self._settings.first_wait_s * 2 ** (failures - 1), self._settings.longest_wait_s
            )
            self.state = ServerState.RESTARTING
            self._report(f"{problem} It is started again in {wait_s:g} s.")
            await _first_of(self._stop.wait(), self._sleep(wait_s))

    async def _run(self) -> str:
        """One life of the client; returns what ended it."""
        name, tail = self.server.name, _ErrorTail()
        self._ended = ended = asyncio.Event()
        problem = f"The MCP server {name!r} ended."
        try:
            expanded = self.server.expanded(self._environment)
            folder = self._root / (expanded.cwd or "")
            expanded = replace(expanded, cwd=str(folder))
            transport = _opened(
                expanded, tail=tail, time_limit_s=self.call_limit_s, on_end=ended.set
            )
            client = Client(
                transport,
                list_roots_callback=self._roots,
                message_handler=self._notified,
                client_info=types.Implementation(name="wellkept", version="1"),
                cache=None,
            )
            async with asyncio.timeout(self._settings.connect_time_limit_s) as limit:
                async with client:
                    limit.reschedule(None)
                    await self._alive(client, ended)
        except TimeoutError:
            limit_s = self._settings.connect_time_limit_s
            problem = f"The MCP server {name!r} did not answer within {limit_s:g} s."
        except WellkeptError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - a transport raises what it likes
            problem = f"The MCP server {name!r} failed: {_shown(_first(error))}."
        finally:
            self._disconnected()
            tail.close()
        said = _shown(tail.last_lines)
        return f"{problem} It said: {said}" if said else problem

    async def _alive(self, client: Client, ended: asyncio.Event) -> None:
        """The time in which the server answers."""
        self._client = client
        self.state = ServerState.CONNECTED
        self._up.set()
        listening = asyncio.create_task(self._listen(client))
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)
        else:
            self._changed.set()
        try:
            while not self._stop.is_set() and not ended.is_set():
                if self._changed.is_set():
                    self._changed.clear()
                    await self._on_change()
                await _first_of(self._stop.wait(), ended.wait(), self._changed.wait())
        finally:
            # At once: to close a client takes seconds when its process does not end.
            self._disconnected()
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _listen(self, client: Client) -> None:
        """Hear of changes from servers of the newer protocol; older ones tell by themselves."""
        with suppress(RuntimeError, MCPError, TimeoutError, anyio.ClosedResourceError):
            async with client.listen(tools_list_changed=True, prompts_list_changed=True) as events:
                async for _ in events:
                    self._changed.set()

    async def _notified(self, message: object) -> None:
        kinds = (types.ToolListChangedNotification, types.PromptListChangedNotification)
        if isinstance(getattr(message, "root", message), kinds):
            self._changed.set()

    async def _roots(self, context: object) -> types.ListRootsResult:
        uri: Any = self._root.resolve().as_uri()
        return types.ListRootsResult(roots=[types.Root(uri=uri, name=self._root.name)])


async def _first_of(*awaited: Awaitable[object]) -> None:
    waits = [asyncio.ensure_future(one) for one in awaited]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


def _first(error: BaseException) -> str:
    """The first real error in a group of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return f"{type(error).__name__}: {error}"


def _shown(text: str) -> str:
    return shorten(" ".join(clean(text).split()), limit=_MAX_PROBLEM_CHARS)


# -- How a server is reached: a child process, streamable HTTP, or SSE -----------------------------


class _ErrorTail:
    """The end of what a process writes to its standard error. Reads it all, so that no server
    stops because nobody listens."""

    def __init__(self) -> None:
        read_end, write_end = os.pipe()
        self._chunks: deque[bytes] = deque(maxlen=8)
        self.file = os.fdopen(write_end, "w")
        self._thread = threading.Thread(target=self._drain, args=(read_end,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close our end; the thread ends with the last process that holds the other."""
        with suppress(OSError):
            self.file.close()

    @property
    def last_lines(self) -> str:
        """The last few lines."""
        text = b"".join(self._chunks).decode("utf-8", "replace")[-_TAIL_CHARS:]
        return "\n".join([line for line in text.splitlines() if line.strip()][-3:])

    def _drain(self, read_end: int) -> None:
        with suppress(OSError), os.fdopen(read_end, "rb", buffering=0) as pipe:
            while chunk := pipe.read(4_096):
                self._chunks.append(chunk)


@asynccontextmanager
async def _opened(
    server: McpServer, *, tail: _ErrorTail, time_limit_s: float, on_end: Callable[[], None]
) -> AsyncGenerator[Any]:
    """The streams of a server; `on_end` is called when it closes them."""
    async with (
        _http_client(server, time_limit_s) as http,
        _streams(server, tail, http) as (read, write),
    ):
        ours, theirs = anyio.create_memory_object_stream[Any](0)

        async def forward() -> None:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                async with ours:
                    async for message in read:
                        await ours.send(message)
            on_end()

        async with anyio.create_task_group() as group:
            group.start_soon(forward)
            try:
                yield theirs, write
            finally:
                group.cancel_scope.cancel()


def _streams(
    server: McpServer, tail: _ErrorTail, http: httpx2.AsyncClient
) -> AbstractAsyncContextManager[Any]:
    if server.transport == "stdio":
        parameters = StdioServerParameters(
            command=server.command,
            args=list(server.args),
            env=dict(server.env),
            cwd=server.cwd,
            encoding_error_handler="replace",
        )
        return stdio_client(parameters, errlog=tail.file)
    if server.transport == "sse":
        return sse_client(server.url, headers=dict(server.headers))
    return streamable_http_client(server.url, http_client=http)


def _http_client(server: McpServer, time_limit_s: float) -> httpx2.AsyncClient:
    """Headers are sent to this server only: redirects elsewhere are refused by the SDK."""
    return httpx2.AsyncClient(
        headers=dict(server.headers),
        timeout=httpx2.Timeout(30.0, read=time_limit_s + 30.0),
        follow_redirects=False,
    )
