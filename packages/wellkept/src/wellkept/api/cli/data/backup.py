"""`wellkept backup`."""

from __future__ import annotations

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import FILE


@click.command()
@click.argument("target", metavar="FILE", type=FILE)
@options.json_option
def backup(*, target: str, as_json: bool) -> None:
    """Copy the store to a new file.

    The copy is consistent even while other processes write. Existing files are not overwritten.
    """
    with options.open_wellkept() as wk, output.progress_bar("Copying") as progress:
        path = wk.backup(target, progress=progress)
    size = path.stat().st_size
    if as_json:
        output.print_json({"path": path, "size_bytes": size})
    else:
        click.echo(f"{path} ({size:,} bytes)")
