"""`wellkept graph modules` and `wellkept graph summarise`: the module map, and keeping it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.cli import options, output
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.app.graph.module_notes import ModuleSummaryReport
    from wellkept.core.code_modules import CodeModule

_ASKED_FIRST = "Needs a graph: run `wellkept graph build` first."


@click.command(epilog=_ASKED_FIRST)
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=40, show_default=True,
              help="How many modules to tell apart at most.")  # fmt: skip
@options.project_option
@options.json_option
def modules(*, limit: int, project: str | None, as_json: bool) -> None:
    """Show the modules of this project: what they are for, hold, give and depend on.

    Also shows the conventions that configuration files and the code itself show.
    """
    with options.opened(project) as wk:
        found, conventions = wk.graph.modules(limit=limit), wk.graph.conventions()
    if as_json:
        shown = [{"summary": module.summary, "module": module} for module in found]
        output.print_json({"modules": shown, "conventions": conventions})
        return
    if not found:
        output.note("This folder holds no module of source files.")
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


@click.command(epilog=_ASKED_FIRST)
@click.option("--dry-run", is_flag=True, help="Show what would be kept; ask no model.")
@click.option("--no-model", is_flag=True, help="Use only what documents and structure say.")
@click.option("--again", is_flag=True, help="Also take up what was forgotten, and ask anew.")
@options.project_option
@options.json_option
def summarise(
    *, dry_run: bool, no_model: bool, again: bool, project: str | None, as_json: bool
) -> None:
    """Keep what each module is for, and the conventions, as memories.

    Doing it again changes only what reads differently now. What a person confirmed or corrected is
    left alone. A model is asked if one is configured, inside the daily budget.
    """
    with options.opened(project) as wk, output.progress_bar("Summarising modules") as tell:
        report = wk.graph.summarise(
            dry_run=dry_run, with_model=not no_model, again=again, progress=tell
        )
    if as_json:
        output.print_json(report)
        return
    print_summarised(report)


def print_summarised(report: ModuleSummaryReport) -> None:
    """What became of the statements about the code."""
    for note in report.notes:
        if note.outcome != "unchanged":
            click.echo(
                f"{note.outcome:<8} {output.one_line(note.key)}: {output.one_line(note.text)}"
            )
    verb = "Would keep" if report.dry_run else "Kept"
    click.echo(
        f"{verb} of {report.modules} modules: {report.count('new')} new,"
        f" {report.count('changed')} changed, {report.count('unchanged')} known,"
        f" {report.count('closed')} closed, {report.count('left')} left to their authors."
    )
    if report.model_problem:
        output.note(f"Without a model's words for some: {report.model_problem}")
