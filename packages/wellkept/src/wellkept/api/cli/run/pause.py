"""`wellkept off` and `wellkept on`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from wellkept.api.cli import options, output
from wellkept.api.pause import Pauses
from wellkept.core.settings import paths
from wellkept.project.resolver import resolve_project


@click.command()
@click.option("--here", is_flag=True, help="Only in the project of this folder.")
@click.option("--for", "duration", metavar="TIME", help="End by itself, after 30m, 1h or 2d.")
@click.option("--capture", is_flag=True, help="Also capture nothing.")
@options.json_option
def off(*, here: bool, duration: str | None, capture: bool, as_json: bool) -> None:
    """Silence the hooks of every client at once, in open sessions too.

    Sessions are still captured, unless --capture is given. The MCP tools and this command line
    answer as before. `wellkept on` ends it, `wellkept status` shows it.
    """
    pauses = Pauses.of(os.environ)
    pause = pauses.add(folder=_project() if here else None, duration=duration, capture=capture)
    if as_json:
        output.print_json({"added": pause, "off": pauses.list()})
        return
    click.echo(output.safe(pause.text))


@click.command()
@click.option("--here", is_flag=True, help="Only end what is off in the project of this folder.")
@options.json_option
def on(*, here: bool, as_json: bool) -> None:
    """Let the hooks speak and capture again."""
    pauses, folder = Pauses.of(os.environ), _project() if here else None
    ended = pauses.end(folder=folder)
    left = pauses.list(folder=folder)
    if as_json:
        output.print_json({"ended": ended, "off": left})
        return
    if not ended:
        output.note("Nothing was off.")
    elif not left:
        click.echo("Hooks speak and capture again.")
    for pause in left:
        output.note(pause.text)


def _project() -> Path:
    return resolve_project(paths.current_folder()).root
