"""`wellkept mcp`."""

from __future__ import annotations

import os
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
from click.core import ParameterSource

import wellkept
from wellkept.api.cli.background import ServerProcess, background_services
from wellkept.api.cli.client_setup import InstalledClients
from wellkept.core.errors import UsageError
from wellkept.core.settings import paths

if TYPE_CHECKING:
    from wellkept.api.mcp.handlers import ServerOptions

DEFAULT_PORT = 7437
# Start later: the client waits for its first responses, and hooks work without this process.
_START_DELAY_S = 2.0


@click.command()
@click.option(
    "--toolsets",
    metavar="NAMES",
    help="More tools to list: graph, skills, recipes, records, or all; separated by commas.",
)
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
def mcp(ctx: click.Context, *, toolsets: str | None, http: bool, port: int, no_token: bool) -> None:
    """Run the MCP server."""
    if os.environ.get("WELLKEPT_SELF"):
        # The client was started by Wellkept to answer a question: it must not see its own memory.
        return
    if http and find_spec("mcp") is None:
        raise UsageError(
            "Serving MCP over HTTP needs the MCP SDK.", hint="Run: pip install 'wellkept[mcp]'."
        )
    from wellkept.api.mcp.handlers import Handlers, ServerLocation
    from wellkept.api.server.open_projects import OpenProjects

    sources = (ctx.get_parameter_source(name) for name in ("port", "no_token"))
    if not http and ParameterSource.COMMANDLINE in sources:
        raise UsageError("--port and --no-token need --http.", hint="Add --http.")
    store = cast("str | None", ctx.find_root().obj)

    def open_in(folder: Path, project: str | None = None) -> wellkept.Wellkept:
        wk = wellkept.open(store, project=project, cwd=folder)
        wk.services.client_setup = InstalledClients(folder)
        return wk

    location = ServerLocation.of(os.environ, cwd=paths.current_folder())
    options = mcp_options(location.folder, toolsets=toolsets)
    projects = OpenProjects(open_in, folder=location.folder)
    process = ServerProcess(kind="mcp", folder=location.folder, starts_after_s=_START_DELAY_S)
    # Captured events belong to the default store: do not drain them into another one.
    services = nullcontext() if store else background_services(process, open_in)
    try:
        with services:
            if http:
                from wellkept.api.mcp.server import make_server
                from wellkept.api.mcp.streamable_http import serve_http

                server = make_server(projects, location, options)
                serve_http(server, port=port, token=_token(no_token), on_ready=_print_address)
            else:
                from wellkept.api.mcp.stdio import serve_stdio

                serve_stdio(Handlers(projects, location, options))
    finally:
        projects.close()


def mcp_options(folder: Path, *, toolsets: str | None = None) -> ServerOptions:
    """What the server shows, from the command line and the settings.

    A wrong name in the settings is reported and skipped: a server with fewer tools is better than
    none.
    """
    from wellkept.api.mcp.handlers import ServerOptions
    from wellkept.api.mcp.toolsets import DEFAULT, parse_toolsets
    from wellkept.core.settings.sources import SettingSources, inspect_settings

    settings, _ = inspect_settings(SettingSources.of(os.environ, cwd=folder))
    structured = settings.mcp_structured == "on"
    if toolsets is not None:
        return ServerOptions(toolsets=parse_toolsets(toolsets), structured=structured)
    try:
        listed = parse_toolsets(settings.mcp_toolsets)
    except UsageError as error:
        click.echo(f"Setting mcp.toolsets: {error}", err=True)
        listed = frozenset({DEFAULT})
    return ServerOptions(toolsets=listed, structured=structured)


def _token(no_token: bool) -> str | None:
    from wellkept.api.server.token_file import TOKEN_NAME, token_of

    if no_token:
        return None
    folder = paths.data_folder(os.environ)
    token = token_of(folder)
    click.echo(f"Token file: {folder / TOKEN_NAME}", err=True)
    return token


def _print_address(address: str) -> None:
    click.echo(f"Serving MCP at {address}", err=True)
