"""Puts the HTTP and MCP server together over open projects, and runs it until it is stopped."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wellkept.api.cli.run.mcp import mcp_options

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from wellkept.api.server.limits import ClientLimits
    from wellkept.api.server.open_projects import OpenProjects
    from wellkept.api.telemetry.metrics import ServerMetrics
    from wellkept.core.team.people import Principal


def run_server(
    projects: OpenProjects,
    listener: socket.socket,
    *,
    folder: Path,
    token: Callable[[], str] | None,
    hosts: frozenset[str],
    on_ready: Callable[[], None],
    people: Callable[[str], Principal | None] | None = None,
    limits: ClientLimits | None = None,
    metrics: ServerMetrics | None = None,
) -> None:
    """Serve the projects until the process is stopped, then close them."""
    from wellkept.api.http.app import guarded_app, make_http_app
    from wellkept.api.server.run import serve_app
    from wellkept.api.telemetry.metrics import ServerMetrics
    from wellkept.api.telemetry.traces import open_traces

    stopping = threading.Event()
    mcp: Callable[[], Server[dict[str, Any]]] | None = None
    if find_spec("mcp") is not None:
        options = mcp_options(folder)

        def make() -> Server[dict[str, Any]]:
            from wellkept.api.mcp.handlers import ServerLocation
            from wellkept.api.mcp.server import make_server

            location = ServerLocation(folder=folder, ask_roots=people is None)
            return make_server(projects, location, options)

        mcp = make
    metrics, traces = metrics or ServerMetrics(), open_traces(os.environ)
    span = nullcontext if traces is None else traces.span
    app = make_http_app(projects, mcp=mcp, stopping=stopping, metrics=metrics, span=span)
    guarded = guarded_app(
        app if traces is None else traces.around(app),
        token=token,
        hosts=hosts,
        people=people,
        limits=limits,
        on_finished=(metrics.request_finished,),
    )
    try:
        serve_app(guarded, listener, stopping=stopping, on_ready=on_ready)
    finally:
        projects.close()
        if traces is not None:
            traces.close()
