"""`wellkept init`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.system.maintenance import maintain_after_answer
from wellkept.core.errors import UsageError
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.core.code_modules import ModuleSummaryReport
    from wellkept.core.graph import BuildReport
    from wellkept.observe.imports.repository import RepositoryReport

_KINDS = {
    "command": "on commands",
    "ci": "on commands",
    "about": "on what it is",
    "doc": "on documents",
    "page": "on documents",
    "changelog": "on documents",
    "decision": "on decisions",
    "commit": "commit messages",
    "convention": "on conventions",
    "module": "on where things are",
    "file": "on where things are",
    "owners": "on people",
    "people": "on people",
    "hot-spots": "on where things are",
    "layout": "on where things are",
}


@click.command()
@click.option(
    "--commits",
    type=int,
    default=10_000,
    show_default=True,
    help="Maximum number of commits to read.",
)
@click.option("--refresh", is_flag=True, help="Also import again what was forgotten.")
@click.option(
    "--graph/--no-graph",
    default=None,
    help="Build the code graph and store module summaries; with --json, print them too.",
)
@options.project_option
@options.json_option
def init(
    *, commits: int, refresh: bool, graph: bool | None, project: str | None, as_json: bool
) -> None:
    """Learn what this project says about itself.

    Keeps short statements with their source: commands, conventions, where things are, documents by
    path and heading, decisions and people from git; then the code graph, with what each module is
    for. Nothing is written to the project folder. Running it again updates what changed.
    """
    with options.open_wellkept(project) as wk, output.progress_bar("Reading") as progress:
        report = wk.import_repository(limit_commits=commits, refresh=refresh, progress=progress)
        maintain_after_answer(wk)
    if not as_json:
        print_import_report(report)
    found = None if graph is False else _build_graph(project, refresh=refresh)
    if as_json:
        shown = {"intake": report, **(found or {})} if graph else report
        output.print_json(shown)
    else:
        for part in (found or {}).values():
            click.echo(output.styled(part.as_text()))


def _build_graph(
    project: str | None, *, refresh: bool
) -> dict[str, BuildReport | ModuleSummaryReport]:
    """Build the code graph and store module summaries; nothing where there is no code, or the
    grammars are not installed."""
    try:
        with options.open_wellkept(project) as wk:
            with output.progress_bar("Reading code") as on_progress:
                built = wk.graph.build(progress=on_progress)
            if not built.seen:
                return {}
            with output.progress_bar("Summarising modules") as on_summary:
                summarised = wk.graph.summarise(again=refresh, progress=on_summary)
    except UsageError as error:
        output.note(f"No code graph: {error.message} {error.hint or ''}".rstrip())
        return {}
    return {"graph": built, "modules": summarised}


def print_import_report(report: RepositoryReport) -> None:
    """Print the report of a repository import."""
    kept = report.new + report.changed + report.unchanged
    click.echo(
        f"Read {counted(report.documents, 'document')} and {counted(report.commits, 'commit')};"
        f" {counted(kept, 'statement')} kept: {_told_kinds(report)}."
    )
    if report.unchanged or report.changed or report.closed:
        click.echo(
            f"Since the last time: {report.new} new, {report.changed} changed,"
            f" {report.closed} no longer true, {report.unchanged} unchanged."
        )
    if report.replaced:
        click.echo(f"{counted(report.replaced, 'chunk')} of an earlier version were replaced.")
    if report.links:
        click.echo(f"{counted(report.links, 'pair')} of files change together.")
    if not report.history:
        output.note("No history: not a git repository with commits, or git is not installed.")
    if not report.documents and not report.commits:
        output.note("Nothing to import. Run this in a project folder.")
    for skipped in report.skipped:
        output.note(f"skipped: {', '.join(str(v) for v in _values(skipped))}")


def _told_kinds(report: RepositoryReport) -> str:
    counts: dict[str, int] = {}
    for kind, count in report.kinds.items():
        name = _KINDS.get(kind, "other")
        counts[name] = counts.get(name, 0) + count
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"


def _values(skipped: object) -> list[object]:
    shown = output.plain(skipped)
    return list(shown.values()) if isinstance(shown, dict) else [shown]
