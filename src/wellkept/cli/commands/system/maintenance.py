"""`wellkept decay`, `prune`, `compact`, `refresh`, `archive`, `maintain`: each prints a report."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from wellkept.cli import options, output
from wellkept.core.errors import StoreError
from wellkept.core.text import counted

if TYPE_CHECKING:
    import wellkept
    from wellkept.memory.lifecycle.report import MaintenanceReport

_WAIT_FOR = 1_000  # memories: fewer than this are kept up in a fraction of a second


@click.command()
@options.dry_run_option
@options.project_option
@options.json_option
def decay(*, dry_run: bool, project: str | None, as_json: bool) -> None:
    """Let importance fade with disuse."""
    with options.opened(project) as wk, output.progress_bar("Fading") as progress:
        report = wk.decay(dry_run=dry_run, progress=progress)
    print_report(report, as_json=as_json)


@click.command()
@click.option(
    "--min-importance", type=click.FloatRange(0, 1), help="Least importance worth keeping."
)
@click.option(
    "--min-confidence", type=click.FloatRange(0, 1), help="Least confidence worth keeping."
)
@click.option("--include-verified", is_flag=True, help="Also what a person vouched for.")
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
    """Remove what is no longer worth keeping, for good."""
    from wellkept.memory.lifecycle.pruning import Retention

    usual = Retention()
    keep = Retention(
        min_importance=usual.min_importance if min_importance is None else min_importance,
        min_confidence=usual.min_confidence if min_confidence is None else min_confidence,
    )
    with options.opened(project) as wk:
        report = wk.prune(keep=keep, include_verified=include_verified, dry_run=True)
        if not dry_run:
            if report.changed:
                output.confirm(
                    f"Remove {counted(report.changed, 'memory', 'memories')} for good?", yes=yes
                )
            report = wk.prune(keep=keep, include_verified=include_verified)
    print_report(report, as_json=as_json)


@click.command()
@options.dry_run_option
@options.yes_option
@options.project_option
@options.json_option
def compact(*, dry_run: bool, yes: bool, project: str | None, as_json: bool) -> None:
    """Merge near-duplicates."""
    with options.opened(project) as wk, output.progress_bar("Comparing") as progress:
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
    """Follow renamed files, and mark memories that no longer hold.

    Memories follow files that git knows as renamed. Those whose files are gone, recipes that failed
    or whose files changed since, and memories about parts of the code that are no more become
    stale: they are found on request, with a mark, and never offered. A mark goes when its reason
    does.
    """
    with options.opened(project) as wk, output.progress_bar("Looking") as progress:
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
    """Archive what belongs to a finished unit of work.

    UNIT is its place in the hierarchy of METHODOLOGY, outermost first; units below it go along.
    Archived memories leave recall at once and are pruned after 90 days.
    """
    from wellkept.core.memory import WorkUnitRef

    ref = WorkUnitRef(methodology, units, units[-1])
    with options.opened(project) as wk:
        report = wk.archive_work_unit(ref, dry_run=dry_run)
    print_report(report, as_json=as_json)


@click.command()
@click.option(
    "--if-due",
    is_flag=True,
    help="Only when the last time is a day or 20 sessions ago; asks nothing.",
)
@options.dry_run_option
@options.yes_option
@options.project_option
@options.json_option
def maintain(*, if_due: bool, dry_run: bool, yes: bool, project: str | None, as_json: bool) -> None:
    """Follow renames, archive merged work, refresh, decay and prune in one go.

    A unit of work is merged when git says that its branch is. The same happens by itself, at most
    once a day, when a project is taken in and when context for the start of a session is asked for.
    """
    if if_due and not dry_run:
        _maintain_if_due(project, as_json=as_json)
        return
    with options.opened(project) as wk:
        report = wk.maintain(dry_run=True)
        if not dry_run:
            if report.removed:
                output.confirm(
                    f"Remove {counted(len(report.removed), 'memory', 'memories')} for good?",
                    yes=yes,
                )
            report = wk.maintain()
    print_report(report, as_json=as_json)


def _maintain_if_due(project: str | None, *, as_json: bool) -> None:
    with options.opened(project) as wk:
        report = wk.maintain_if_due()
    if report is not None:
        print_report(report, as_json=as_json)
    elif as_json:
        output.print_json(None)
    else:
        output.note("Not due.")


def maintain_after_answer(wk: wellkept.Wellkept) -> None:
    """Maintain a project after opening it and answering; never fails the command.

    In a large project it goes on in a process of its own, so that nobody waits for it.
    """
    with suppress(StoreError):
        if not wk.maintenance_is_due():
            return
        if wk.stats().total > _WAIT_FOR:
            start_maintenance(wk)
            return
        report = wk.maintain_if_due()
        if report is not None and report.removed:
            removed = counted(len(report.removed), "memory", "memories")
            output.note(f"Maintenance removed {removed}; see `wellkept maintain`.")


def start_maintenance(wk: wellkept.Wellkept) -> subprocess.Popen[bytes]:
    """Maintain a project in a process that outlives this one."""
    store, project = ("--store", str(wk.path)), ("--project", wk.project)
    return subprocess.Popen(
        [sys.executable, "-m", "wellkept.cli", *store, "maintain", "--if-due", *project],
        cwd=wk.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def print_report(report: MaintenanceReport, *, as_json: bool) -> None:
    """What a pass did, or would do; changes too small to see are only counted."""
    if as_json:
        output.print_json(report)
        return
    listed = zip(report.items, report.rows(), strict=True)
    rows = [row for item, row in listed if not item.changes or row[2] != row[3]]
    output.print_table(report.HEADINGS, rows)
    if tiny := len(report.items) - len(rows):
        output.note(f"Not listed: {tiny} that move by less than 0.001.")
    for remark in report.notes:
        output.note(remark)
    what = "would change" if report.dry_run else "changed"
    output.note(f"{report.action.value}: {report.changed} of {report.examined} {what}")
