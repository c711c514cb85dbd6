"""`wellkept restore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import FILE
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.api.maintenance.restore import RestoreReport
    from wellkept.core.query import StoreContents


@click.command()
@click.argument("source", metavar="FILE", type=FILE)
@options.dry_run_option
@options.yes_option
@options.json_option
def restore(*, source: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Replace the store with a backup.

    FILE was written by `wellkept backup`, or is an automatic copy. It is checked first. The current
    store is copied beside it, even when damaged. Running processes continue with the restored data.
    The replacement is atomic.
    """
    with options.open_wellkept() as wk:
        found = wk.restore(source, dry_run=True)
        if not as_json:
            _show(found)
        if not dry_run:
            output.confirm(_question(found), yes=yes)
            with output.progress_bar("Restoring") as progress:
                found = wk.restore(source, progress=progress)
    if as_json:
        output.print_json({"dry_run": dry_run, "restored": found})
        return
    memories = counted(found.backup.memories, "memory", "memories")
    click.echo(f"{'Would be restored' if dry_run else 'Restored'}: {memories} to {found.target}")
    if found.kept:
        click.echo(f"Previous store saved as {found.kept}")
    if not found.in_place:
        output.note("Restart processes that had the damaged database open.")


def _question(found: RestoreReport) -> str:
    if found.present is None:
        return f"Restore the backup to {found.target}?"
    memories = counted(found.present.memories, "memory", "memories")
    return f"Replace {memories} in {found.target} with the backup?"


def _show(found: RestoreReport) -> None:
    rows = [_row("backup", found.backup), _row("now", found.present)]
    output.print_table(("", "memories", "oldest", "newest", "projects"), rows)
    if found.problem:
        output.note(f"The current store cannot be read: {found.problem}")
    here = dict(found.present.projects) if found.present else {}
    there = dict(found.backup.projects)
    names = sorted({*here, *there}, key=lambda name: (-there.get(name, 0), name))
    counts = [(name, f"{there.get(name, 0):,}", f"{here.get(name, 0):,}") for name in names]
    output.print_table(("project", "backup", "now"), counts)


def _row(name: str, contents: StoreContents | None) -> tuple[str, ...]:
    if contents is None:
        return name, "-", "-", "-", "-"
    days = output.day(contents.oldest_at), output.day(contents.newest_at)
    return name, f"{contents.memories:,}", *days, str(len(contents.projects))
