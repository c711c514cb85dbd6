"""`wellkept serve`."""

from __future__ import annotations

import ipaddress
import logging
import os
import shlex
import socket
import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

import wellkept
from wellkept.api.cli import options, output
from wellkept.api.cli.background import ServerProcess, background_services
from wellkept.api.cli.client_setup import InstalledClients
from wellkept.core.errors import UsageError
from wellkept.core.settings import paths

if TYPE_CHECKING:
    from wellkept.api.plugins import TeamPlugin

DEFAULT_PORT = 7437


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to listen on; 0 picks a free port.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Additional host name allowed in requests. Repeatable.",
)
@click.option("--open", "browse", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--database",
    metavar="URL",
    help="Serve the team in this PostgreSQL database; people come with tokens of their own.",
)
@click.option("--team", is_flag=True, help="Serve the team in the database of the settings.")
@click.option("--verbose", "-v", is_flag=True, help="Log request ids to stderr.")
@click.option(
    "--log",
    "log_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the log; json writes one object per line and implies --verbose.",
)
@click.pass_context
def serve(
    ctx: click.Context,
    *,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    browse: bool,
    database: str | None,
    team: bool,
    verbose: bool,
    log_format: str,
) -> None:
    """Run the HTTP and MCP server, and process hook events.

    Runs until stopped. Listens on loopback unless --host is given. The printed address opens the
    page: its token is exchanged for a cookie. Programs send the token from the printed file.

    With --database it serves a team: everybody sends a token of their own (`wellkept team token
    issue`), and any number of such servers may run side by side.
    """
    require_extra()
    from wellkept.api.cli.data.tour import own_command
    from wellkept.api.server.auth import LOOPBACK_HOSTS
    from wellkept.api.server.run import address_of, listening
    from wellkept.api.server.token_file import TOKEN_NAME, TokenFile

    _log_requests(verbose=verbose, as_json=log_format == "json")
    data, folder = paths.data_folder(os.environ), paths.current_folder()
    if database or team:
        from wellkept.core.doors import require_plugin

        is_json = log_format == "json"
        plugin: TeamPlugin = require_plugin("team")
        plugin.serve(
            database, host=host, port=port, hosts=hosts, folder=data / "team", is_json=is_json
        )
        return
    token = TokenFile(data)
    token()  # make it, or say now why it cannot be used
    with listening(host, port) as listener:
        address = address_of(listener)
        allowed = frozenset({*LOOPBACK_HOSTS, *map(_host_name, (host, *hosts))})

        def ready() -> None:
            page = f"{address}/?token={token()}"
            if log_format == "json":  # a collector reads along, and must not see the token
                logging.getLogger("wellkept.server").info("Wellkept is at %s", address)
                return
            # What is redirected ends up in a log, and a token in a log is read by others.
            shown = page if sys.stdout.isatty() else f"run `{own_command()} open`"
            _print_start(address, shown, data / TOKEN_NAME, host=host)
            if browse:
                click.launch(page)

        server = _Server(cast("str | None", ctx.find_root().obj), folder, address)
        server.run(listener, token=token, hosts=allowed, on_ready=ready)
    if log_format == "text":
        click.echo("Stopped.")


@click.command()
@click.option("--rotate", is_flag=True, help="Replace the token; the old one is refused at once.")
@click.option(
    "--agent",
    is_flag=True,
    help="Print the token for agents: the server's own project only, and no person's word.",
)
@options.json_option
def token(*, rotate: bool, agent: bool, as_json: bool) -> None:
    """Show the file of the server's token, or replace the token.

    Servers that run take the new token without a restart.
    """
    require_extra()
    from wellkept.api.server.token_file import TOKEN_NAME, agent_token, rotate_token, token_of

    data = paths.data_folder(os.environ)
    if rotate:
        rotate_token(data)
    else:
        token_of(data)
    if agent:
        click.echo(agent_token(token_of(data)))
        return
    file = (data / TOKEN_NAME).absolute()
    if as_json:
        output.print_json({"file": file, "rotated": rotate})
        return
    click.echo(str(file))
    if rotate:
        output.note("The old token is refused from now on.")


class _Server:
    """The HTTP and MCP server with its open projects and background services."""

    def __init__(self, store: str | None, folder: Path, address: str) -> None:
        self._store = store
        self._folder = folder
        self._address = address

    def run(
        self,
        listener: socket.socket,
        *,
        token: Callable[[], str],
        hosts: frozenset[str],
        on_ready: Callable[[], None],
    ) -> None:
        """Serve until the process is stopped."""
        from wellkept.api.cli.http_server import run_server
        from wellkept.api.server.open_projects import OpenProjects

        projects = OpenProjects(self._open_in, folder=self._folder)
        process = ServerProcess(kind="serve", folder=self._folder, address=self._address)
        # Captured events belong to the default store: do not drain them into another one.
        services = nullcontext() if self._store else background_services(process, self._open_in)
        with services:
            run_server(
                projects,
                listener,
                folder=self._folder,
                token=token,
                hosts=hosts,
                on_ready=on_ready,
            )

    def _open_in(self, folder: Path, project: str | None = None) -> wellkept.Wellkept:
        wk = wellkept.open(self._store, project=project, cwd=folder)
        wk.services.client_setup = InstalledClients(folder)
        return wk


def _log_requests(*, verbose: bool, as_json: bool) -> None:
    logging.basicConfig(
        level=logging.INFO if verbose or as_json else logging.WARNING, format="%(message)s"
    )
    if as_json:
        from wellkept.api.telemetry.requests import JsonLines

        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonLines())


def require_extra() -> None:
    """UsageError when the packages of the server are missing."""
    needed = ("starlette", "uvicorn", "prometheus_client")
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"The server needs {', '.join(missing)}.",
            hint="Run: pip install --upgrade wellkept.",
        )


def _host_name(host: str) -> str:
    return f"[{host.lower()}]" if ":" in host and not host.startswith("[") else host.lower()


def _print_start(address: str, page: str, token_file: Path, *, host: str) -> None:
    from wellkept.api.cli.data.tour import own_command, print_home

    shown, command = token_file.absolute(), own_command()
    quoted = shlex.quote(str(shown))
    click.secho(f"Wellkept is at {address}", bold=True)
    print_home()
    click.echo(f"Open the page: {page}")
    click.echo(f"Token file: {shown}\n")
    click.echo("Next:")
    click.echo(f'  curl -H "Authorization: Bearer $(cat {quoted})" {address}/api/stats')
    click.echo(f"  {command} install claude-code   # capture the sessions of a client")
    click.echo(f"  {command} session events --follow   # follow the activity")
    click.echo("Press Ctrl-C to stop.")
    if not _is_loopback(host):
        output.note("Other machines can connect, and the token is sent unencrypted.")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
