"""`wellkept status --health`."""

from __future__ import annotations

import click

from wellkept.api.cli import options, output


@click.command()
@click.option("--days", type=click.IntRange(1, 366), default=30, show_default=True,
              help="Days of the series in the JSON document.")  # fmt: skip
@options.project_option
@options.json_option
def health(*, days: int, project: str | None, as_json: bool) -> None:
    """Show whether the memory is alive, trusted and of use, with a score from 0 to 100."""
    from wellkept.api.views.health_text import health_lines

    with options.open_wellkept(project, reads=True) as wk:
        view = wk.health(days=days)
    if as_json:
        output.print_json(view)
        return
    first, *rest = health_lines(view)
    click.secho(output.safe(first), bold=True)
    for line in rest:
        click.echo(output.safe(line))
