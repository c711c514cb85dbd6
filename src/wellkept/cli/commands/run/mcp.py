"""`wellkept mcp`."""

from __future__ import annotations

import os
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import click
from click.core import ParameterSource

import wellkept
from wellkept.app.settings import paths
from wellkept.cli.background import ServerProcess, background_services
from wellkept.core.errors import UsageError

DEFAULT_PORT = 7437
# Start later: the client waits for its first responses, and hooks work without this process.
_START_DELAY_S = 2.0


@click.command()
@click.option("--http", is_flag=True, help="Serve HTTP on loopback instead of stdio.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port for --http; 0 picks a free port.",
)
@click.option(
    "--no-token", is_flag=True, help="Require no token with --http: any local program can connect."
)
@click.pass_context
def mcp(ctx: click.Context, *, http: bool, port: int, no_token: bool) -> None:
    """Run the MCP server."""
    if os.environ.get("WELLKEPT_SELF"):
        # The client was started by Wellkept to answer a question: it must not see its own memory.
        return
    if find_spec("mcp") is None:
        raise UsageError(
            "The MCP server needs the MCP SDK.", hint="Run: pip install 'wellkept[mcp]'."
        )
    from wellkept.server.mcp.server import ServerLocation, make_server
    from wellkept.server.mcp.transports import serve_http, serve_stdio
    from wellkept.server.open_projects import OpenProjects

    sources = (ctx.get_parameter_source(name) for name in ("port", "no_token"))
    if not http and ParameterSource.COMMANDLINE in sources:
        raise UsageError("--port and --no-token need --http.", hint="Add --http.")
    store = cast("str | None", ctx.find_root().obj)

    def open_in(folder: Path, project: str | None = None) -> wellkept.Wellkept:
        return wellkept.open(store, project=project, cwd=folder)

    location = ServerLocation.of(os.environ, cwd=paths.current_folder())
    projects = OpenProjects(open_in, folder=location.folder)
    server = make_server(projects, location)
    process = ServerProcess(kind="mcp", folder=location.folder, starts_after_s=_START_DELAY_S)
    # Captured events belong to the default store: do not drain them into another one.
    services = nullcontext() if store else background_services(process, open_in)
    try:
        with services:
            if http:
                serve_http(server, port=port, token=_token(no_token), on_ready=_print_address)
            else:
                serve_stdio(server)
    finally:
        projects.close()


def _token(no_token: bool) -> str | None:
    from wellkept.server.auth import TOKEN_NAME, token_of

    if no_token:
        return None
    folder = paths.data_folder(os.environ)
    token = token_of(folder)
    click.echo(f"Token file: {folder / TOKEN_NAME}", err=True)
    return token


def _print_address(address: str) -> None:
    click.echo(f"Serving MCP at {address}", err=True)
