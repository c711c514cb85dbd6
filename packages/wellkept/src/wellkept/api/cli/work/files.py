"""`wellkept observer recipe`."""

from __future__ import annotations

import click

from wellkept.api.cli import options, output
from wellkept.core.text import counted


@click.command()
@click.argument("task", nargs=-1, required=True, metavar="TASK...")
@click.option("--limit", default=2, show_default=True, type=click.IntRange(1, 50),
              help="Maximum number of recipes.")  # fmt: skip
@options.project_option
@options.json_option
def recipe(*, task: tuple[str, ...], limit: int, project: str | None, as_json: bool) -> None:
    """Show the steps that solved a TASK like this before."""
    with options.open_wellkept(project) as wk:
        found = wk.observer.recipes(" ".join(task), limit=limit)
    if as_json:
        output.print_json({"items": found})
        return
    for item in found:
        worked = counted(item.recipe.success_count, "time")
        counts = f"worked {worked}, failed {item.recipe.failure_count}"
        click.echo(output.safe(f"{item.memory.short} {item.recipe.task_pattern} ({counts})"))
        if item.stale_reason:
            output.note(f"may be out of date: {item.stale_reason}")
        for number, step in enumerate(item.recipe.steps, start=1):
            where = f" ({step.canonical_file})" if step.canonical_file else ""
            click.echo(output.safe(f"  {number}. {step.description}{where}"))
    if not found:
        output.note("No matching recipe. Recipes need the same steps in three sessions.")
