"""Running the MCP server: over stdin and stdout, or over HTTP on loopback."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from holdfast.core.errors import UsageError
from holdfast.server.access import App, with_token

HOST = "127.0.0.1"
PATH = "/mcp"


def serve_stdio(server: Server[dict[str, Any]]) -> None:
    """Serve one client until it closes standard input."""

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


def http_app(server: Server[dict[str, Any]], *, token: str | None) -> App:
    """The server as a web application; Host and Origin must be this machine's."""
    app = server.streamable_http_app(streamable_http_path=PATH, host=HOST)
    return app if token is None else with_token(app, token)


def serve_http(
    server: Server[dict[str, Any]],
    *,
    port: int,
    token: str | None,
    on_ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve any number of clients of this machine until stopped; port 0 takes a free one."""
    import uvicorn

    with _listening(port) as listener:
        on_ready(f"http://{HOST}:{listener.getsockname()[1]}{PATH}")
        config = uvicorn.Config(http_app(server, token=token), log_level="warning")
        uvicorn.Server(config).run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise UsageError(
            f"Port {port} cannot be used: {error.strerror}.", hint="Choose another with --port."
        ) from None
    listener.listen(128)
    return listener
