"""`wellkept status`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.run.install import make_installer
from wellkept.api.pause import Pauses
from wellkept.api.plugins import AgentPlugin
from wellkept.api.processes import running_processes
from wellkept.clients.hook_spec import InstallPart, InstallScope
from wellkept.clients.install.client_files import CLIENTS
from wellkept.clients.install.installer import InstallState, InstallStatus
from wellkept.core.doors import find_plugin
from wellkept.observe.observer.spool_folder import SpoolFolder


@click.command()
@options.json_option
def status(*, as_json: bool) -> None:
    """Show installed clients and running processes."""
    installer = make_installer()
    found = [installer.status(client, scope=scope) for client in CLIENTS for scope in InstallScope]
    running = running_processes(SpoolFolder.of(os.environ).state)
    pauses = Pauses.of(os.environ).list()
    if as_json:
        output.print_json(
            {"programs": installer.programs, "items": found, "running": running, "off": pauses}
        )
        return
    rows = [
        (
            status.client,
            status.scope.value,
            _state(status),
            _parts(status),
            str(_file(status)),
        )
        for status in found
        if status.state is not InstallState.ABSENT
        or status.plugin
        or status.scope is InstallScope.USER
    ]
    output.print_table(("client", "scope", "state", "parts", "file"), rows)
    for process in running:
        where = f" at {process.address}" if process.address else ""
        click.echo(f"wellkept {process.kind} running{where} (process {process.pid})")
    if line := _agent_line():
        click.echo(line)
    for pause in pauses:
        click.secho(output.safe(pause.text), fg="yellow")
    for status in found:
        if status.problem:
            output.note(status.problem)
    for status in found:
        if status.plugin and status.plugin.enabled and InstallPart.HOOKS in status.parts:
            output.note(
                f"{status.client} has Wellkept in its settings and as the plugin"
                f" {status.plugin.name}: every event is captured twice. Remove one of them."
            )
    if any(status.state is InstallState.OUTDATED for status in found):
        output.note(
            "Outdated entries start another Wellkept installation. Run `wellkept install` again."
        )


def _agent_line() -> str:
    """What the agent has counted in this project; empty without one."""
    plugin: AgentPlugin | None = find_plugin("agent")
    if plugin is None:
        return ""
    with options.open_wellkept(reads=True) as wk:
        return plugin.usage_line(wk)


def _file(status: InstallStatus) -> Path:
    is_plugin = status.plugin and status.state is InstallState.ABSENT
    return status.plugin.path if status.plugin and is_plugin else status.path


def _parts(status: InstallStatus) -> str:
    return ", ".join([*status.parts, *(["plugin"] if status.plugin else [])]) or "-"


def _state(status: InstallStatus) -> str:
    """The state; without a client folder, the client is probably not installed."""
    if status.plugin and status.state is InstallState.ABSENT:
        return "installed as a plugin" if status.plugin.enabled else "plugin, switched off"
    if status.state is InstallState.ABSENT and not status.client_seen:
        return "client not found"
    return status.state.value
