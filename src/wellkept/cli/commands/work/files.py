"""`wellkept observer together`, `prefetch` and `recipe`: what was learned, for a file or a task."""

from __future__ import annotations

import click

from wellkept.cli import options, output
from wellkept.core.text import counted


@click.command()
@click.argument("file")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 500),
              help="How many files to list at most.")  # fmt: skip
@options.project_option
@options.json_option
def together(*, file: str, limit: int, project: str | None, as_json: bool) -> None:
    """Show the files that go together with FILE, by git history and by sessions."""
    with options.opened(project) as wk:
        found = wk.observer.together(file, limit=limit)
    if as_json:
        output.print_json({"file": file, "items": found})
        return
    rows = [
        (f"{one.weight:.2f}", one.path, str(one.commits), str(one.sessions), one.opened_first or "")
        for one in found
    ]
    output.print_table(("weight", "file", "commits", "sessions", "opened first"), rows)
    if not found:
        output.note("Nothing is known yet: `wellkept init` reads the history, sessions add to it.")


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@options.project_option
@options.json_option
def prefetch(*, files: tuple[str, ...], project: str | None, as_json: bool) -> None:
    """Show what work on FILEs, or on what was worked on last, nearly always reads."""
    with options.opened(project) as wk:
        found = wk.observer.prefetch(files)
    if as_json:
        output.print_json({"items": found})
        return
    for one in found:
        click.echo(f"### {output.safe(one.path)}")
        click.echo(output.safe(one.text.rstrip("\n")))
        if one.is_cut:
            click.echo("[…]")
    if not found:
        output.note("No habit is known for such work yet.")


@click.command()
@click.argument("task", nargs=-1, required=True, metavar="TASK...")
@click.option("--limit", default=2, show_default=True, type=click.IntRange(1, 50),
              help="How many recipes to show at most.")  # fmt: skip
@options.project_option
@options.json_option
def recipe(*, task: tuple[str, ...], limit: int, project: str | None, as_json: bool) -> None:
    """Show the steps that such a TASK took here before."""
    with options.opened(project) as wk:
        found = wk.observer.recipes(" ".join(task), limit=limit)
    if as_json:
        output.print_json({"items": found})
        return
    for one in found:
        held = (
            f"worked {counted(one.recipe.success_count, 'time')}, failed {one.recipe.failure_count}"
        )
        click.echo(output.safe(f"{one.memory.short} {one.recipe.task_pattern} ({held})"))
        if one.stale_reason:
            output.note(f"may be out of date: {one.stale_reason}")
        for number, step in enumerate(one.recipe.steps, start=1):
            where = f" ({step.canonical_file})" if step.canonical_file else ""
            click.echo(output.safe(f"  {number}. {step.description}{where}"))
    if not found:
        output.note("No recipe fits. One is learned when the same steps worked in three sessions.")
