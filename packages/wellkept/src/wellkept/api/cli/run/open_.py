"""`wellkept open`."""

from __future__ import annotations

import os
import socket
import sys

import click

from wellkept.api.cli import output
from wellkept.api.cli.run.serve import DEFAULT_PORT, require_extra, serve
from wellkept.api.processes import running_processes
from wellkept.core.settings import paths
from wellkept.observe.observer.spool_folder import SpoolFolder

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


@click.command("open")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Port of a new server. Default: {DEFAULT_PORT}, or a free one when that is taken.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.pass_context
def open_(ctx: click.Context, *, port: int | None, no_browser: bool) -> None:
    """Open the page in a browser; start a server when none is running.

    A server that this starts runs until you press Ctrl-C. Without a browser, the address is printed
    with its token.
    """
    require_extra()
    from wellkept.api.server.token_file import TokenFile

    running = running_processes(SpoolFolder.of(os.environ).state)
    addresses = [one.address for one in running if one.kind == "serve" and one.address]
    browse = not no_browser and has_browser()
    if addresses and ctx.find_root().obj is None:
        page = f"{addresses[-1]}/?token={TokenFile(paths.data_folder(os.environ))()}"
        click.echo(f"Open the page: {page}")
        if browse:
            click.launch(page)
        return
    if not browse and not no_browser:
        output.note("There is no browser here; open the printed address in one.")
    ctx.invoke(serve, port=_free_port() if port is None else port, browse=browse)


def has_browser() -> bool:
    """Whether a browser with a window can be started."""
    if sys.platform.startswith("linux") and not any(map(os.environ.get, _DISPLAYS)):
        return False
    import webbrowser

    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def _free_port() -> int:
    """The usual port, or 0 when another program has it."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", DEFAULT_PORT))
        except OSError:
            return 0
    return DEFAULT_PORT
