"""`wellkept restore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.cli import options, output
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.app.maintenance.restore import RestoreReport
    from wellkept.core.query import StoreContents


@click.command()
@click.argument("source", metavar="FILE")
@options.dry_run_option
@options.yes_option
@options.json_option
def restore(*, source: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Put a backup in the place of the whole store.

    FILE is what `wellkept backup` wrote, or a copy that Wellkept made before a change. It is
    checked first. What is there now is copied beside it, also when it is damaged. Processes that
    use the store go on with what was restored. Nothing is left half done.
    """
    with options.opened() as wk:
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
    told = counted(found.backup.memories, "memory", "memories")
    click.echo(f"{'Would be restored' if dry_run else 'RestoreReport'}: {told} to {found.target}")
    if found.kept:
        click.echo(f"What was there before is kept in {found.kept}")
    if not found.in_place:
        output.note("Processes that had the damaged database open must be started again.")


def _question(found: RestoreReport) -> str:
    if found.present is None:
        return f"Put the backup in the place of {found.target}?"
    held = counted(found.present.memories, "memory", "memories")
    return f"Replace {held} in {found.target} by the backup?"


def _show(found: RestoreReport) -> None:
    rows = [_row("backup", found.backup), _row("now", found.present)]
    output.print_table(("", "memories", "oldest", "newest", "projects"), rows)
    if found.problem:
        output.note(f"What is there now cannot be read: {found.problem}")
    here = dict(found.present.projects) if found.present else {}
    there = dict(found.backup.projects)
    names = sorted({*here, *there}, key=lambda name: (-there.get(name, 0), name))
    counts = [(name, f"{there.get(name, 0):,}", f"{here.get(name, 0):,}") for name in names]
    output.print_table(("project", "in the backup", "now"), counts)


def _row(name: str, held: StoreContents | None) -> tuple[str, ...]:
    if held is None:
        return name, "-", "-", "-", "-"
    days = output.day(held.oldest_at), output.day(held.newest_at)
    return name, f"{held.memories:,}", *days, str(len(held.projects))
