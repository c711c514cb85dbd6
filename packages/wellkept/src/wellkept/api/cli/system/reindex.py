"""`wellkept reindex`."""

from __future__ import annotations

import click

from wellkept.api.cli import options, output


@click.command()
@click.option("--force", is_flag=True, help="Rebuild all entries, even current ones.")
@options.json_option
def reindex(*, force: bool, as_json: bool) -> None:
    """Update the search indexes for the current embedding model.

    Works on the whole store. Search stays available, and an interrupted run resumes.
    """
    with options.open_wellkept() as wk, output.progress_bar("Indexing") as progress:
        report = wk.reindex(force=force, progress=progress)
    if as_json:
        output.print_json(report)
        return
    click.echo(f"Model: {report.model_id or 'none (full text only)'}")
    resumed = ", resumed from the last run" if report.resumed else ""
    click.echo(
        f"Indexed: {report.indexed}{resumed}; dropped vectors of old models: {report.dropped}"
    )
