"""`wellkept decay`, `prune`, `compact`, `refresh`, `archive` and `maintain`."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.core.errors import StoreError
from wellkept.core.text import counted

if TYPE_CHECKING:
    import wellkept
    from wellkept.memory.lifecycle.report import MaintenanceReport

_MAX_INLINE = 1_000  # memories; maintaining fewer takes a fraction of a second


@click.command()
@options.dry_run_option
@options.project_option
@options.json_option
def decay(*, dry_run: bool, project: str | None, as_json: bool) -> None:
    """Reduce the importance of unused memories."""
    with options.open_wellkept(project) as wk, output.progress_bar("Decaying") as progress:
        report = wk.decay(dry_run=dry_run, progress=progress)
    print_report(report, as_json=as_json)


@click.command()
@click.option(
    "--min-importance",
    type=click.FloatRange(0, 1),
    help="Keep memories with at least this importance.",
)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    help="Keep memories with at least this confidence.",
)
@click.option("--include-verified", is_flag=True, help="Also delete verified memories.")
@options.dry_run_option
@options.yes_option
@options.project_option
@options.json_option
def prune(
    *,
    min_importance: float | None,
    min_confidence: float | None,
    include_verified: bool,
    dry_run: bool,
    yes: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Delete unimportant memories permanently."""
    from wellkept.memory.lifecycle.pruning import Retention

    defaults = Retention()
    keep = Retention(
        min_importance=defaults.min_importance if min_importance is None else min_importance,
        min_confidence=defaults.min_confidence if min_confidence is None else min_confidence,
    )
    with options.open_wellkept(project) as wk:
        report = wk.prune(keep=keep, include_verified=include_verified, dry_run=True)
        if not dry_run:
            if report.changed:
                output.confirm(
                    f"Delete {counted(report.changed, 'memory', 'memories')} permanently?", yes=yes
                )
            report = wk.prune(keep=keep, include_verified=include_verified)
    print_report(report, as_json=as_json)


@click.command()
@options.dry_run_option
@options.yes_option
@options.project_option
@options.json_option
def compact(*, dry_run: bool, yes: bool, project: str | None, as_json: bool) -> None:
    """Merge near-duplicate memories."""
    with options.open_wellkept(project) as wk, output.progress_bar("Comparing") as progress:
        report = wk.compact(dry_run=True, progress=progress)
        if not dry_run:
            if report.changed:
                output.confirm(f"Merge {counted(report.changed, 'memory', 'memories')}?", yes=yes)
            report = wk.compact()
    print_report(report, as_json=as_json)


@click.command()
@options.dry_run_option
@options.project_option
@options.json_option
def refresh(*, dry_run: bool, project: str | None, as_json: bool) -> None:
    """Follow renamed files and mark stale memories.

    Updates file links after renames in git. Marks as stale: memories whose files are gone, recipes
    that failed or whose files changed, and memories about removed code. Stale memories are found by
    search, with a mark, but not injected. The mark is removed when its reason no longer applies.
    """
    with options.open_wellkept(project) as wk, output.progress_bar("Checking") as progress:
        report = wk.refresh(dry_run=dry_run, progress=progress)
    print_report(report, as_json=as_json)


@click.command()
@click.argument("methodology")
@click.argument("units", nargs=-1, required=True, metavar="UNIT...")
@options.dry_run_option
@options.project_option
@options.json_option
def archive(
    *,
    methodology: str,
    units: tuple[str, ...],
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Archive the memories of a finished work unit.

    UNIT is its path in the hierarchy of METHODOLOGY, outermost first. Units below it are archived
    too. Archived memories are excluded from recall; `wellkept list --archived` shows them, and
    `wellkept undo` brings them back.
    """
    from wellkept.core.memory import WorkUnitRef

    ref = WorkUnitRef(methodology, units, units[-1])
    with options.open_wellkept(project) as wk:
        report = wk.archive_work_unit(ref, dry_run=dry_run)
    print_report(report, as_json=as_json)


@click.command()
@click.option(
    "--if-due",
    is_flag=True,
    help="Only if the last run is a day or 20 sessions ago.",
)
@click.option(
    "--yes", "-y", is_flag=True, hidden=True, expose_value=False, help="Asks nothing any more."
)
@options.dry_run_option
@options.project_option
@options.json_option
def maintain(*, if_due: bool, dry_run: bool, project: str | None, as_json: bool) -> None:
    """Run all maintenance: refresh, decay, and archive what ended. Deletes nothing.

    Archives merged work, memories of past sessions, old timeline entries, and memories that are
    doubted and unused. `wellkept undo` lists what can be taken back. A work unit
    is merged when its git branch is. Maintenance also runs automatically, at most once a day, after
    a project import and after the context for a session start.
    """
    if if_due and not dry_run:
        _maintain_if_due(project, as_json=as_json)
        return
    with options.open_wellkept(project) as wk:
        report = wk.maintain(dry_run=dry_run)
    print_report(report, as_json=as_json)


def _maintain_if_due(project: str | None, *, as_json: bool) -> None:
    with options.open_wellkept(project) as wk:
        report = wk.maintain_if_due()
    if report is not None:
        print_report(report, as_json=as_json)
    elif as_json:
        output.print_json(None)
    else:
        output.note("Not due.")


def maintain_after_answer(wk: wellkept.Wellkept) -> None:
    """Run due maintenance after a command's output. Never fails the command.

    A large project is maintained in a separate process, so that the command returns at once.
    """
    with suppress(StoreError):
        if not wk.maintenance_is_due():
            return
        if wk.stats().total > _MAX_INLINE:
            start_maintenance(wk)
            return
        report = wk.maintain_if_due()
        archived = [i for i in report.items if i.after == "archived"] if report else []
        if archived:
            count = counted(len(archived), "memory", "memories")
            output.note(f"Maintenance archived {count}. `wellkept undo` takes it back.")


def start_maintenance(wk: wellkept.Wellkept) -> subprocess.Popen[bytes]:
    """Maintain a project in a detached process."""
    url, project = wk.services.url, ("--project", wk.project)
    # An address may hold a password, which a command line would show to everybody.
    store = () if url else ("--store", str(wk.path))
    environment = {**os.environ, "WELLKEPT_STORE_URL": url} if url else None
    return subprocess.Popen(
        [sys.executable, "-m", "wellkept.cli", *store, "maintain", "--if-due", *project],
        cwd=wk.root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def print_report(report: MaintenanceReport, *, as_json: bool) -> None:
    """Print a maintenance report; changes below 0.001 are only counted."""
    if as_json:
        output.print_json(report)
        return
    listed = zip(report.items, report.rows(), strict=True)
    rows = [row for item, row in listed if not item.changes or row[2] != row[3]]
    output.print_table(report.HEADINGS, rows)
    if tiny := len(report.items) - len(rows):
        output.note(f"Not listed: {tiny} changes below 0.001.")
    for remark in report.notes:
        output.note(remark)
    what = "would change" if report.dry_run else "changed"
    output.note(f"{report.action.value}: {report.changed} of {report.examined} {what}")
