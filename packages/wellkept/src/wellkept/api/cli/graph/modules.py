"""`wellkept graph modules` and `wellkept graph summarise`: the module map and its summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.core.code_modules import CodeModule
    from wellkept.graph.module_notes import ModuleSummaryReport

_NEEDS_GRAPH = "Run `wellkept graph build` first."


@click.command(epilog=_NEEDS_GRAPH)
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=40, show_default=True,
              help="Maximum number of modules.")  # fmt: skip
@options.project_option
@options.json_option
def modules(*, limit: int, project: str | None, as_json: bool) -> None:
    """Show the modules of this project: purpose, files, exports and dependencies.

    Also shows the conventions found in configuration files and code.
    """
    with options.open_wellkept(project) as wk:
        found, conventions = wk.graph.modules(limit=limit), wk.graph.conventions()
    if as_json:
        shown = [{"summary": module.summary, "module": module} for module in found]
        output.print_json({"modules": shown, "conventions": conventions})
        return
    if not found:
        output.note("No modules with source files in this folder.")
    for module in found:
        _print_module(module)
    for convention in conventions:
        click.echo(f"- {output.one_line(convention.text)}")


def _print_module(module: CodeModule) -> None:
    users = len(module.tests)
    verb = "uses" if users == 1 else "use"
    tests = f", {counted(users, 'test file')} {verb} it" if users else ""
    kind = "tests, " if module.is_test else ""
    click.echo(
        f"{output.one_line(module.folder)}  ({kind}{counted(len(module.files), 'file')},"
        f" {counted(module.lines, 'line')}, {', '.join(module.languages)}{tests})"
    )
    click.echo(f"  {output.one_line(module.summary)}")


@click.command(epilog=_NEEDS_GRAPH)
@click.option("--dry-run", is_flag=True, help="Show what would be stored; do not call a model.")
@click.option("--no-model", is_flag=True, help="Do not call a model; use documents and structure.")
@click.option(
    "--again", is_flag=True, help="Also restore forgotten summaries, and call the model again."
)
@options.project_option
@options.json_option
def summarise(
    *, dry_run: bool, no_model: bool, again: bool, project: str | None, as_json: bool
) -> None:
    """Store module summaries and conventions as memories.

    Running it again updates only what changed. Memories confirmed or edited by a person are kept.
    Uses the configured model, if any, within the daily budget.
    """
    with (
        options.open_wellkept(project) as wk,
        output.progress_bar("Summarising modules") as on_progress,
    ):
        report = wk.graph.summarise(
            dry_run=dry_run, with_model=not no_model, again=again, progress=on_progress
        )
    if as_json:
        output.print_json(report)
        return
    print_summary_report(report)


def print_summary_report(report: ModuleSummaryReport) -> None:
    """Print the report of storing module summaries."""
    for note in report.notes:
        if note.outcome != "unchanged":
            click.echo(
                f"{note.outcome:<8} {output.one_line(note.key)}: {output.one_line(note.text)}"
            )
    verb = "Would store" if report.dry_run else "Stored"
    click.echo(
        f"{verb} summaries of {report.modules} modules: {report.count('new')} new,"
        f" {report.count('changed')} changed, {report.count('unchanged')} unchanged,"
        f" {report.count('closed')} closed, {report.count('left')} kept as edited."
    )
    if report.model_problem:
        output.note(f"Some summaries were made without a model: {report.model_problem}")


@click.command("map", epilog=_NEEDS_GRAPH)
@options.project_option
@options.json_option
def map_(*, project: str | None, as_json: bool) -> None:
    """Show the modules with their places on the map, and how far memories cover them."""
    with options.open_wellkept(project) as wk:
        found = wk.module_map()
    if as_json:
        output.print_json(found)
        return
    rows = [
        (output.one_line(one.folder), f"{one.x:g}", f"{one.y:g}", f"{one.covered} of {one.files}",
         str(one.memories), str(one.e2e))
        for one in found.modules
    ]  # fmt: skip
    output.print_table(("module", "x", "y", "files known", "memories", "end to end"), rows)
