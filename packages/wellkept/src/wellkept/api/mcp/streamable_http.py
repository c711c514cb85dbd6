"""The MCP server over streamable HTTP, on loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from wellkept.api.server.auth import MAX_BODY_BYTES, AccessPolicy, App, guarded
from wellkept.api.server.run import LOOPBACK, address_of, listening, serve_app

PATH = "/mcp"


def mcp_app(server: Server[dict[str, Any]]) -> Starlette:
    """The server as a web application, without access control."""
    return server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


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
