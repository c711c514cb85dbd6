"""What `wellkept` alone prints: what it is, which clients are here, what is known, the next step.

Nothing is created or changed. What cannot be read is said in its line, and the rest still stands.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import output
from wellkept.core.errors import WellkeptError
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.clients.install.installer import InstallStatus

_WHAT = (
    "gives coding agents a memory: it watches through hooks what they do, keeps what held up,\n"
    "and tells the few lines that matter when they matter. Nothing leaves this machine."
)


def print_greeting(version: str, store: str | None) -> None:
    """Print the greeting."""
    click.echo(f"{click.style(f'Wellkept {version}', bold=True)} {_WHAT}\n")
    clients = _clients()
    count, waiting, known = _known(store)
    _line("Clients", _clients_text(clients))
    _line("This project", known)
    for text in _pauses():
        _line("Off", text)
    for one in clients:
        for warning in one.warnings:
            _line("Attention", f"{one.client}: {warning}")
    _line("Next", _next_step(clients, count, waiting), bold=True)
    output.note("\n`wellkept --help` lists every command.")


def _line(label: str, text: str, *, bold: bool = False) -> None:
    click.echo(f"{click.style(f'{label}:'.ljust(14), dim=not bold, bold=bold)}{output.safe(text)}")


def _clients() -> list[InstallStatus]:
    """The clients that are on this machine, in their best scope each."""
    from wellkept.api.cli.run.install import make_installer
    from wellkept.clients.hook_spec import InstallScope
    from wellkept.clients.install.client_files import CLIENTS
    from wellkept.clients.install.installer import InstallState

    installer = make_installer()
    found: list[InstallStatus] = []
    for client in CLIENTS:
        both = [installer.status(client, scope=scope) for scope in InstallScope]
        best = next((one for one in both if one.is_connected), both[0])
        if best.client_seen or best.state is not InstallState.ABSENT:
            found.append(best)
    return found


def _clients_text(clients: list[InstallStatus]) -> str:
    if not clients:
        return "none found"
    return ", ".join(
        f"{one.client} ({'connected' if one.is_connected else 'not connected'})" for one in clients
    )


def _known(store: str | None) -> tuple[int, int, str]:
    """How many statements there are about this project, how many wait, and that in words."""
    import wellkept
    from wellkept.api.views.health import memory_totals
    from wellkept.core.query import Filter, Validity

    try:
        with wellkept.open(store, embedder="none", read_only=True) as wk:
            if not wk.services.is_there:
                return 0, 0, "nothing yet"
            everything = Filter(project=wk.project, validity=Validity.ANY, archived=None)
            totals = memory_totals(wk.engine.store.memory_groups(everything))
            name = wk.project_name
    except WellkeptError as error:
        return 0, 0, f"cannot be read: {error.message} Run `wellkept admin doctor`."
    review = f", {totals.needs_review} wait for review" if totals.needs_review else ""
    records = f"; {counted(totals.records, 'record')} of sessions" if totals.records else ""
    text = f"{name}: {counted(totals.total, 'statement')} known{review}{records}"
    return totals.total, totals.needs_review, text


def _pauses() -> list[str]:
    from wellkept.api.pause import Pauses

    try:
        return [one.text for one in Pauses.of(os.environ).list()]
    except WellkeptError as error:
        return [error.message]


def _next_step(clients: list[InstallStatus], count: int, waiting: int) -> str:
    if clients and not any(one.is_connected for one in clients):
        return f"wellkept install {clients[0].client}   # connect it; --dry-run shows the change"
    if not count:
        return "wellkept init   # read what this project says about itself"
    if not clients:
        return 'wellkept recall "…"   # ask what is known; `wellkept install` lists the clients'
    if waiting:
        return f"wellkept review   # {waiting} wait for a yes or no"
    return "wellkept open   # look at what is known, on a page"
