"""`wellkept facets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output

if TYPE_CHECKING:
    from wellkept.memory.arguments import FilterArgs

_NAMES = (
    *("types", "sources", "confidence", "methodologies", "validity", "review", "state"),
    *("tags", "files", "modules"),
)


@click.command()
@options.filter_options
@click.option("--labels", type=click.IntRange(0, 500), default=20, show_default=True,
              help="Maximum number of tags, files and modules each.")  # fmt: skip
@options.project_option
@options.json_option
def facets(*, filters: FilterArgs, labels: int, project: str | None, as_json: bool) -> None:
    """Count how many memories each further filter would leave."""
    with options.open_wellkept(project, reads=True) as wk:
        found = wk.facets(labels=labels, **filters)
    if as_json:
        output.print_json(found)
        return
    rows = [
        (name, output.one_line(one.value) or "none", str(one.count))
        for name in _NAMES
        for one in getattr(found, name)
        if one.count
    ]
    output.print_table(("filter", "value", "memories"), [*rows, ("total", "", str(found.total))])
