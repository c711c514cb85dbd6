"""`wellkept status --storage`."""

from __future__ import annotations

import click

from wellkept.api.cli import options, output


@click.command()
@options.project_option
@options.json_option
def storage(*, project: str | None, as_json: bool) -> None:
    """Show what fills the store, and what a prune would take."""
    with options.open_wellkept(project, reads=True) as wk:
        found = wk.storage()
    if as_json:
        output.print_json(found)
        return
    rows = [(one.name, f"{one.size_bytes:,}", one.path) for one in found.files]
    output.print_table(("file", "bytes", "path"), rows)
    rows = [("type", one.name, str(one.count)) for one in found.by_type]
    rows += [("scope", one.name, str(one.count)) for one in found.by_scope]
    output.print_table(("", "", "memories"), [*rows, ("total", "", str(found.memories))])
    output.note(f"{found.prunable} are unsure and unused; {found.stale} name files that are gone.")
