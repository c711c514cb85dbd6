"""`wellkept spool`: what the hook processes caught and is not taken in yet."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from wellkept.cli import exit_codes, options, output
from wellkept.cli.groups import Group
from wellkept.clients.registry import translate_spooled
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.observe.ingest.drain import DrainReport


@click.group(cls=Group, invoke_without_command=True)
@options.json_option
@click.pass_context
def spool(ctx: click.Context, *, as_json: bool) -> None:
    """Show, take in and repair what was caught but is not in memory yet."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(status, as_json=as_json)


@spool.command()
@options.json_option
def status(*, as_json: bool = False) -> None:
    """Show what waits, what did not fit, and what was set aside."""
    from wellkept.app.observer.ingest import spool_status

    with options.opened() as wk:
        found = spool_status(wk.engine.store)
    if as_json:
        output.print_json({"status": found, "waiting_bytes": found.waiting_bytes})
        return
    rows = [
        (f.name, f"{f.size_bytes:,}", f"{f.waiting_bytes:,}", f"{f.modified_at:%Y-%m-%d %H:%M}")
        for f in found.files
    ]
    output.print_table(("file", "bytes", "waiting", "last event"), rows)
    click.echo(f"{found.waiting_bytes:,} bytes wait in {found.folder}")
    if found.dropped_events:
        since = f" since {found.dropped_since:%Y-%m-%d %H:%M}" if found.dropped_since else ""
        click.secho(f"{counted(found.dropped_events, 'event')} did not fit{since}.", fg="yellow")
    if found.aside_entries:
        aside = counted(found.aside_entries, "entry", "entries")
        click.secho(f"Set aside: {aside}; `wellkept spool repair` tries again.", fg="yellow")


@spool.command()
@options.json_option
def drain(*, as_json: bool) -> int:
    """Take everything in now. Exits with 1 when something had to be set aside."""
    from wellkept.app.observer.ingest import drain_and_learn
    from wellkept.app.observer.spool_folder import SpoolFolder
    from wellkept.clients.answers.shown_items import ShownItems
    from wellkept.clients.detached_drain import drain_rounds

    folder, code = SpoolFolder.of(os.environ), exit_codes.OK
    with options.opened() as wk:
        for _ in drain_rounds(str(folder.state), list_files=folder.signature):
            code = _tell(drain_and_learn(wk, translate=translate_spooled), as_json=as_json)
    ShownItems(folder.state).forget_old()
    return code


@spool.command()
@options.json_option
def repair(*, as_json: bool) -> int:
    """Try again what was set aside, and clear the record of what did not fit."""
    from wellkept.app.observer.ingest import retry_events

    with options.opened() as wk:
        return _tell(retry_events(wk, translate=translate_spooled), as_json=as_json)


def _tell(report: DrainReport, *, as_json: bool) -> int:
    if as_json:
        output.print_json(report)
    elif report.busy:
        output.note("Another process is taking events in.")
    else:
        click.echo(
            f"Took {counted(report.events, 'event')} of {counted(len(report.sessions), 'session')}:"
            f" {counted(report.prompts, 'prompt')}, {counted(report.observations, 'observation')}."
        )
        if report.damaged_bytes:
            output.note(f"{report.damaged_bytes} damaged bytes were skipped.")
        for problem in report.problems:
            output.note(problem)
        for entry in report.set_aside:
            click.secho(
                output.safe(f"Set aside {entry.client} {entry.event}: {entry.reason}"), fg="yellow"
            )
    return exit_codes.NOTHING if report.set_aside else exit_codes.OK
