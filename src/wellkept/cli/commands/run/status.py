"""`wellkept status`."""

from __future__ import annotations

import os

import click

from wellkept.app.observer.spool_folder import SpoolFolder
from wellkept.app.processes import running_processes
from wellkept.cli import options, output
from wellkept.cli.commands.run.install import make_installer
from wellkept.clients.hook_spec import InstallScope
from wellkept.clients.install.installer import InstallState, InstallStatus
from wellkept.clients.install.targets import CLIENTS


@click.command()
@options.json_option
def status(*, as_json: bool) -> None:
    """Show which coding clients Wellkept is in, and what of it runs."""
    installer = make_installer()
    found = [
        installer.standing(client, scope=scope) for client in CLIENTS for scope in InstallScope
    ]
    running = running_processes(SpoolFolder.of(os.environ).state)
    if as_json:
        output.print_json({"programs": installer.programs, "items": found, "running": running})
        return
    rows = [
        (
            standing.client,
            standing.scope.value,
            _words(standing),
            ", ".join(standing.parts) or "-",
            str(standing.path),
        )
        for standing in found
        if standing.state is not InstallState.ABSENT or standing.scope is InstallScope.USER
    ]
    output.print_table(("client", "for", "state", "parts", "file"), rows)
    for process in running:
        where = f" at {process.address}" if process.address else ""
        click.echo(f"wellkept {process.kind} runs{where} (process {process.pid})")
    for standing in found:
        if standing.problem:
            output.note(standing.problem)
    if any(standing.state is InstallState.OUTDATED for standing in found):
        output.note("What is outdated starts another Wellkept than this one: install again.")


def _words(standing: InstallStatus) -> str:
    """The state; a client whose folder is not there is probably not on this machine."""
    if standing.state is InstallState.ABSENT and not standing.client_seen:
        return "client not found"
    return standing.state.value
