"""`wellkept status --spool`: captured hook events that are not stored yet."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import exit_codes, options, output
from wellkept.api.cli.groups import Group
from wellkept.clients.registry import translate_spooled
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.observe.ingest.drain import DrainReport


@click.group(cls=Group, invoke_without_command=True)
@options.json_option
@click.pass_context
def spool(ctx: click.Context, *, as_json: bool) -> None:
    """Show, process and retry captured events that are not stored yet."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(status, as_json=as_json)


@spool.command()
@options.json_option
def status(*, as_json: bool = False) -> None:
    """Show waiting, dropped and failed events."""
    from wellkept.api.learning import spool_status

    with options.open_wellkept(reads=True) as wk:
        found = spool_status(wk.engine.store)
    if as_json:
        output.print_json({"status": found, "waiting_bytes": found.waiting_bytes})
        return
    rows = [
        (f.name, f"{f.size_bytes:,}", f"{f.waiting_bytes:,}", f"{f.modified_at:%Y-%m-%d %H:%M}")
        for f in found.files
    ]
    output.print_table(("file", "bytes", "waiting", "last event"), rows)
    click.echo(f"{found.waiting_bytes:,} bytes waiting in {found.folder}")
    if found.dropped_events:
        since = f" since {found.dropped_since:%Y-%m-%d %H:%M}" if found.dropped_since else ""
        click.secho(
            f"{counted(found.dropped_events, 'event')} dropped{since}: the spool was full.",
            fg="yellow",
        )
    for bad in found.bad_sources:
        click.secho(output.safe(f"Cannot be read: {bad.name}: {bad.reason}"), fg="yellow")
    if found.damaged_places:
        places = counted(found.damaged_places, "damaged place")
        click.secho(f"{places} ({found.damaged_bytes:,} bytes) skipped.", fg="yellow")
    if found.aside_entries:
        failed = counted(found.aside_entries, "entry", "entries")
        click.secho(f"Failed: {failed}. Retry with `wellkept admin doctor --spool`.", fg="yellow")


@spool.command()
@options.json_option
def drain(*, as_json: bool) -> int:
    """Process all events now. Exits with 1 when an event failed."""
    from wellkept.api.learning import drain_and_learn
    from wellkept.clients.answers.injection_spool import ShownItems
    from wellkept.clients.detached_drain import drain_rounds
    from wellkept.observe.observer.spool_folder import SpoolFolder

    folder, code = SpoolFolder.of(os.environ), exit_codes.OK
    with suppress(OSError):
        folder.make_room()  # without any, the store cannot even be opened for writing
    with options.open_wellkept() as wk:
        for _ in drain_rounds(str(folder.state), list_files=folder.signature):
            code = _print_report(drain_and_learn(wk, translate=translate_spooled), as_json=as_json)
    ShownItems(folder.state).forget_old()
    return code


@spool.command()
@options.json_option
def repair(*, as_json: bool) -> int:
    """Retry failed events and files, and reset the counts of dropped events and damage."""
    from wellkept.api.learning import retry_events

    with options.open_wellkept() as wk:
        return _print_report(retry_events(wk, translate=translate_spooled), as_json=as_json)


def _print_report(report: DrainReport, *, as_json: bool) -> int:
    if as_json:
        output.print_json(report)
    elif report.busy:
        output.note("Another process is already processing events.")
    else:
        click.echo(
            f"Processed {counted(report.events, 'event')} of"
            f" {counted(len(report.sessions), 'session')}: {counted(report.prompts, 'prompt')},"
            f" {counted(report.observations, 'observation')}."
        )
        if report.damaged_bytes:
            output.note(f"{report.damaged_bytes} damaged bytes were skipped.")
        for problem in report.problems:
            output.note(problem)
        for bad in report.sources_aside:
            click.secho(output.safe(f"Set aside: {bad.source}: {bad.reason}"), fg="yellow")
        for entry in report.set_aside:
            click.secho(
                output.safe(f"Failed: {entry.client} {entry.event}: {entry.reason}"), fg="yellow"
            )
    failed = report.set_aside or report.sources_aside
    return exit_codes.NOTHING if failed else exit_codes.OK
