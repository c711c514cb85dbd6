"""`wellkept stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.cli import options, output

if TYPE_CHECKING:
    from wellkept.app.wiring.keyword_types import FilterArgs


@click.command()
@options.filter_options
@options.project_option
@options.json_option
def stats(*, filters: FilterArgs, project: str | None, as_json: bool) -> None:
    """Count memories by type, scope and source."""
    with options.open_wellkept(project) as wk:
        found = wk.stats(**filters)
    if as_json:
        output.print_json(found)
        return
    rows = [
        (kind, name, str(count))
        for kind, counts in (
            ("type", found.by_type),
            ("scope", found.by_scope),
            ("source", found.by_source),
        )
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    rows += [
        ("state", name, str(getattr(found, name)))
        for name in ("closed", "stale", "archived", "needs_review", "pinned")
        if getattr(found, name)
    ]
    rows.append(("total", "", str(found.total)))
    output.print_table(("", "", "memories"), rows)
    if found.oldest and found.newest:
        output.note(f"From {output.day(found.oldest)} to {output.day(found.newest)}.")
