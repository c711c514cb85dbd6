"""How a server is reached: a child process, streamable HTTP, or SSE.

What a child writes to its standard error is drained, and its end is kept for the message when it
dies. The end of a connection is noticed at once, not at the next call.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

if TYPE_CHECKING:
    from wellkept_agent.mcp_client.config import McpServer

_TAIL_CHARS = 600


class ErrorTail:
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
async def opened(
    server: McpServer, *, tail: ErrorTail, time_limit_s: float, on_end: Callable[[], None]
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
    server: McpServer, tail: ErrorTail, http: httpx2.AsyncClient
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
