"""`wellkept timeline`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import MEMORY

if TYPE_CHECKING:
    from wellkept.memory.arguments import FilterArgs
    from wellkept.memory.recall.progressive import IndexRow


@click.command()
@click.argument("anchor", metavar="ID", type=MEMORY)
@click.option(
    "--before", type=int, default=5, show_default=True, help="Number of earlier memories."
)
@click.option("--after", type=int, default=5, show_default=True, help="Number of later memories.")
@options.filter_options
@options.project_option
@options.json_option
def timeline(
    *, anchor: str, before: int, after: int, filters: FilterArgs, project: str | None, as_json: bool
) -> None:
    """Show the memories before and after a memory."""
    with options.open_wellkept(project, reads=True) as wk:
        found = wk.timeline(anchor, before=before, after=after, **filters)
    if as_json:
        output.print_json(found)
        return
    rows = [_cells(row, mark="") for row in found.before]
    rows.append(_cells(found.anchor, mark="→"))
    rows += [_cells(row, mark="") for row in found.after]
    output.print_table(("", "id", "when", "type", "memory", "tokens"), rows)


def _cells(row: IndexRow, *, mark: str) -> tuple[str, ...]:
    when = row.at.strftime("%Y-%m-%d %H:%M")
    return (mark, row.short, when, row.type.value, output.one_line(row.title), str(row.read_tokens))
