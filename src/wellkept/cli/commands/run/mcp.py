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
from wellkept.cli.background import Role, live_parts
from wellkept.core.errors import UsageError

DEFAULT_PORT = 7437
# A client waits for the first answers, and hooks can help themselves meanwhile.
_SETTLED_AFTER_S = 2.0


@click.command()
@click.option("--http", is_flag=True, help="Serve HTTP on loopback in place of stdin and stdout.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port for --http; 0 takes a free one.",
)
@click.option("--no-token", is_flag=True, help="Let every program on this machine in, with --http.")
@click.pass_context
def mcp(ctx: click.Context, *, http: bool, port: int, no_token: bool) -> None:
    """Serve memory to a coding client by MCP."""
    if find_spec("mcp") is None:
        raise UsageError(
            "The MCP server needs the MCP SDK.", hint="Install it: pip install 'wellkept[mcp]'."
        )
    from wellkept.server.mcp.server import ServerLocation, make_server
    from wellkept.server.mcp.transports import serve_http, serve_stdio
    from wellkept.server.open_projects import OpenProjects

    given = (ctx.get_parameter_source(name) for name in ("port", "no_token"))
    if not http and ParameterSource.COMMANDLINE in given:
        raise UsageError("--port and --no-token go with --http.", hint="Add --http.")
    store = cast("str | None", ctx.find_root().obj)

    def open_in(folder: Path, project: str | None = None) -> wellkept.Wellkept:
        return wellkept.open(store, project=project, cwd=folder)

    place = ServerLocation.of(os.environ, cwd=paths.current_folder())
    memories = OpenProjects(open_in, folder=place.folder)
    server = make_server(memories, place)
    role = Role(kind="mcp", folder=place.folder, starts_after_s=_SETTLED_AFTER_S)
    # Another database than the hooks' own must not swallow what they caught.
    parts = nullcontext() if store else live_parts(role, open_in)
    try:
        with parts:
            if http:
                serve_http(server, port=port, token=_token(no_token), on_ready=_say)
            else:
                serve_stdio(server)
    finally:
        memories.close()


def _token(no_token: bool) -> str | None:
    from wellkept.server.auth import TOKEN_NAME, token_of

    if no_token:
        return None
    folder = paths.data_folder(os.environ)
    token = token_of(folder)
    click.echo(f"Clients need the token in {folder / TOKEN_NAME}.", err=True)
    return token


def _say(address: str) -> None:
    click.echo(f"Serving MCP at {address}", err=True)
