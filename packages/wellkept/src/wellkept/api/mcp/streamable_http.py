"""The MCP server over streamable HTTP, on loopback."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from wellkept.api.server.auth import (
    MAX_BODY_BYTES,
    AccessPolicy,
    App,
    Receive,
    Scope,
    Send,
    guarded,
)
from wellkept.api.server.run import LOOPBACK, address_of, listening, serve_app

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.applications import Starlette

PATH = "/mcp"


def mcp_app(server: Server[dict[str, Any]]) -> Starlette:
    """The server as a web application, without access control."""
    from mcp.server.transport_security import TransportSecuritySettings

    return server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


class McpApp:
    """MCP as a web application that is made with the first request: its SDK takes long to load."""

    def __init__(self, make: Callable[[], Server[dict[str, Any]]]) -> None:
        self._make = make

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """For as long as the web server runs."""
        self._wanted, self._ready = anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(self._run)
            yield
            group.cancel_scope.cancel()

    async def _run(self) -> None:
        await self._wanted.wait()
        server = await anyio.to_thread.run_sync(self._make)
        app = mcp_app(server)
        self._app: Any = app.routes[0]
        async with server.session_manager.run():
            self._ready.set()
            await anyio.sleep_forever()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._wanted.set()
        await self._ready.wait()
        await self._app.handle(scope, receive, send)


def http_app(server: Server[dict[str, Any]], *, token: str | None) -> App:
    """The server as a web application with access control."""
    return guarded(mcp_app(server), AccessPolicy(token=token))


def serve_http(
    server: Server[dict[str, Any]],
    *,
    port: int,
    token: str | None,
    on_ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve local clients until stopped; port 0 picks a free port."""
    with listening(LOOPBACK, port) as listener:
        on_ready(f"{address_of(listener)}{PATH}")
        serve_app(http_app(server, token=token), listener, stopping=threading.Event())
