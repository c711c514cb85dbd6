"""`holdfast decay`, `prune`, `compact`, `sweep` and `upkeep`: each reports what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli import options, output

if TYPE_CHECKING:
    from holdfast.memory.ageing.upkeep import UpkeepReport


@click.command()
@options.dry_run_option
@options.project_option
@options.json_option
def decay(*, dry_run: bool, project: str | None, as_json: bool) -> None:
    """Let importance fade with disuse."""
    with options.opened(project) as hf, output.progress_bar("Fading") as progress:
        report = hf.decay(dry_run=dry_run, progress=progress)
    _print(report, as_json=as_json)


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
    from holdfast.memory.ageing.pruning import Retention

    usual = Retention()
    keep = Retention(
        min_importance=usual.min_importance if min_importance is None else min_importance,
        min_confidence=usual.min_confidence if min_confidence is None else min_confidence,
    )
    with options.opened(project) as hf:
        report = hf.prune(keep=keep, include_verified=include_verified, dry_run=True)
        if report.changed and not dry_run:
            output.confirm(f"Remove {report.changed} memories for good?", yes=yes)
            report = hf.prune(keep=keep, include_verified=include_verified)
    _print(report, as_json=as_json)


@click.command()
@options.dry_run_option
@options.yes_option
@options.project_option
@options.json_option
def compact(*, dry_run: bool, yes: bool, project: str | None, as_json: bool) -> None:
    """Merge near-duplicates."""
    with options.opened(project) as hf, output.progress_bar("Comparing") as progress:
        report = hf.compact(dry_run=True, progress=progress)
        if report.changed and not dry_run:
            output.confirm(f"Merge {report.changed} memories?", yes=yes)
            report = hf.compact()
    _print(report, as_json=as_json)


@click.command()
@options.dry_run_option
@options.project_option
@options.json_option
def sweep(*, dry_run: bool, project: str | None, as_json: bool) -> None:
    """Mark memories whose files are gone."""
    with options.opened(project) as hf, output.progress_bar("Looking") as progress:
        report = hf.sweep(dry_run=dry_run, progress=progress)
    _print(report, as_json=as_json)


@click.command()
@options.dry_run_option
@options.yes_option
@options.project_option
@options.json_option
def upkeep(*, dry_run: bool, yes: bool, project: str | None, as_json: bool) -> None:
    """Sweep, decay and prune in one go."""
    with options.opened(project) as hf:
        report = hf.upkeep(dry_run=True)
        if not dry_run:
            if report.removed:
                output.confirm(f"Remove {len(report.removed)} memories for good?", yes=yes)
            report = hf.upkeep()
    _print(report, as_json=as_json)


def _print(report: UpkeepReport, *, as_json: bool) -> None:
    if as_json:
        output.print_json(report)
        return
    if report.items:
        output.print_table(report.HEADINGS, report.rows())
    for remark in report.notes:
        output.note(remark)
    what = "would change" if report.dry_run else "changed"
    output.note(f"{report.action.value}: {report.changed} of {report.examined} {what}")
