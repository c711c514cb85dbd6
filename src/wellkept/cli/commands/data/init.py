"""`wellkept init`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.cli import options, output
from wellkept.cli.commands.system.maintenance import maintain_after_answer
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.app.imports.repository import RepositoryReport


@click.command()
@click.option(
    "--commits", type=int, default=500, show_default=True, help="Maximum number of commits to read."
)
@click.option("--refresh", is_flag=True, help="Also import again what was forgotten.")
@click.option("--graph", is_flag=True, help="Also build the code graph and store module summaries.")
@options.project_option
@options.json_option
def init(*, commits: int, refresh: bool, graph: bool, project: str | None, as_json: bool) -> None:
    """Import this project's documents and git history.

    Nothing is written to the project folder. Running it again adds only new data.
    """
    with options.open_wellkept(project) as wk, output.progress_bar("Reading") as progress:
        report = wk.import_repository(limit_commits=commits, refresh=refresh, progress=progress)
        maintain_after_answer(wk)
    if as_json and not graph:
        output.print_json(report)
        return
    if not as_json:
        print_import_report(report)
    if graph:
        _build_graph(report, project=project, refresh=refresh, as_json=as_json)


def _build_graph(
    report: RepositoryReport, *, project: str | None, refresh: bool, as_json: bool
) -> None:
    """Build the code graph and store module summaries."""
    from wellkept.cli.commands.graph.group import build_progress, print_report
    from wellkept.cli.commands.graph.modules import print_summary_report

    with options.open_wellkept(project) as wk:
        with build_progress() as on_progress:
            built = wk.graph.build(progress=on_progress)
        with output.progress_bar("Summarising modules") as on_summary:
            summarised = wk.graph.summarise(again=refresh, progress=on_summary)
    if as_json:
        output.print_json({"intake": report, "graph": built, "modules": summarised})
        return
    print_report(built)
    print_summary_report(summarised)


def print_import_report(report: RepositoryReport) -> None:
    """Print the report of a repository import."""
    click.echo(
        f"Read {counted(report.documents, 'document')} and {counted(report.commits, 'commit')}:"
        f" {report.new} new, {report.changed} changed, {report.unchanged} unchanged,"
        f" {report.closed} closed; {counted(report.links, 'pair')} of files change together."
    )
    if not report.history:
        output.note("No history: not a git repository with commits, or git is not installed.")
    if not report.documents and not report.commits:
        output.note("Nothing to import. Run this in a project folder.")
    for skipped in report.skipped:
        output.note(f"skipped: {', '.join(str(v) for v in _values(skipped))}")


def _values(skipped: object) -> list[object]:
    shown = output.plain(skipped)
    return list(shown.values()) if isinstance(shown, dict) else [shown]
