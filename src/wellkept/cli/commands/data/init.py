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
    "--commits", type=int, default=500, show_default=True, help="How many commits to read at most."
)
@click.option("--refresh", is_flag=True, help="Also take in again what was forgotten since.")
@click.option(
    "--graph", is_flag=True, help="Also build the code graph and keep what each module is for."
)
@options.project_option
@options.json_option
def init(*, commits: int, refresh: bool, graph: bool, project: str | None, as_json: bool) -> None:
    """Take in this project's documents and history.

    Nothing is written into the project. Doing it again adds only what is new.
    """
    with options.opened(project) as wk, output.progress_bar("Reading") as progress:
        report = wk.import_repository(limit_commits=commits, refresh=refresh, progress=progress)
        maintain_after_answer(wk)
    if as_json and not graph:
        output.print_json(report)
        return
    if not as_json:
        print_intake(report)
    if graph:
        _map_code(report, project=project, refresh=refresh, as_json=as_json)


def _map_code(
    report: RepositoryReport, *, project: str | None, refresh: bool, as_json: bool
) -> None:
    """Build the code graph and keep what its modules are for."""
    from wellkept.cli.commands.graph.group import building, print_report
    from wellkept.cli.commands.graph.modules import print_summarised

    with options.opened(project) as wk:
        with building() as tell:
            built = wk.graph.build(progress=tell)
        with output.progress_bar("Summarising modules") as told:
            summarised = wk.graph.summarise(again=refresh, progress=told)
    if as_json:
        output.print_json({"intake": report, "graph": built, "modules": summarised})
        return
    print_report(built)
    print_summarised(summarised)


def print_intake(report: RepositoryReport) -> None:
    """What was found and what became of it."""
    click.echo(
        f"Read {counted(report.documents, 'document')} and {counted(report.commits, 'commit')}:"
        f" {report.new} new, {report.changed} changed, {report.unchanged} known,"
        f" {report.closed} closed; {counted(report.links, 'pair')} of files change together."
    )
    if not report.history:
        output.note("There is no history: this is no git checkout with commits, or git is missing.")
    if not report.documents and not report.commits:
        output.note("Nothing was found to take in: go to the folder of a project first.")
    for skipped in report.skipped:
        output.note(f"left out: {', '.join(str(v) for v in _values(skipped))}")


def _values(skipped: object) -> list[object]:
    shown = output.plain(skipped)
    return list(shown.values()) if isinstance(shown, dict) else [shown]
