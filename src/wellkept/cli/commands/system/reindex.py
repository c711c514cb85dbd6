"""`wellkept reindex`."""

from __future__ import annotations

import click

from wellkept.cli import options, output


@click.command()
@click.option(
    "--force", is_flag=True, help="Make every index entry anew, even if it seems current."
)
@options.json_option
def reindex(*, force: bool, as_json: bool) -> None:
    """Bring the search indexes up to the model in use.

    Works on the whole store. Search goes on meanwhile, and a run that was stopped goes on where
    it ended.
    """
    with options.opened() as wk, output.progress_bar("Indexing") as progress:
        done = wk.reindex(force=force, progress=progress)
    if as_json:
        output.print_json(done)
        return
    click.echo(f"Model: {done.model_id or 'none (words only)'}")
    resumed = ", taken up where the last run ended" if done.resumed else ""
    click.echo(
        f"Indexed: {done.indexed}{resumed}; dropped vectors of former models: {done.dropped}"
    )
