"""`wellkept status`."""

from __future__ import annotations

import os

import click

from wellkept.app.observer.spool_folder import SpoolFolder
from wellkept.app.processes import running_processes
from wellkept.cli import options, output
from wellkept.cli.commands.run.install import make_installer
from wellkept.clients.hook_spec import InstallScope
from wellkept.clients.install.client_files import CLIENTS
from wellkept.clients.install.installer import InstallState, InstallStatus


@click.command()
@options.json_option
def status(*, as_json: bool) -> None:
    """Show installed clients and running processes."""
    installer = make_installer()
    found = [installer.status(client, scope=scope) for client in CLIENTS for scope in InstallScope]
    running = running_processes(SpoolFolder.of(os.environ).state)
    if as_json:
        output.print_json({"programs": installer.programs, "items": found, "running": running})
        return
    rows = [
        (
            status.client,
            status.scope.value,
            _state(status),
            ", ".join(status.parts) or "-",
            str(status.path),
        )
        for status in found
        if status.state is not InstallState.ABSENT or status.scope is InstallScope.USER
    ]
    output.print_table(("client", "scope", "state", "parts", "file"), rows)
    for process in running:
        where = f" at {process.address}" if process.address else ""
        click.echo(f"wellkept {process.kind} running{where} (process {process.pid})")
    for status in found:
        if status.problem:
            output.note(status.problem)
    if any(status.state is InstallState.OUTDATED for status in found):
        output.note(
            "Outdated entries start another Wellkept installation. Run `wellkept install` again."
        )


def _state(status: InstallStatus) -> str:
    """The state; without a client folder, the client is probably not installed."""
    if status.state is InstallState.ABSENT and not status.client_seen:
        return "client not found"
    return status.state.value
