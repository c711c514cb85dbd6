"""`wellkept session events --follow`."""

from __future__ import annotations

import json
import time

import click

from wellkept.api.cli import options, output

_POLL_INTERVAL_S = 0.5


@click.command()
@click.option("-n", "--limit", type=click.IntRange(0, 1000), default=20, help="How many first.")
@click.option("--all-projects", is_flag=True, help="Of any project.")
@options.project_option
@options.json_option
def follow(*, limit: int, all_projects: bool, project: str | None, as_json: bool) -> None:
    """Print the latest activity, then what is new until stopped; with --json, one line each."""
    from wellkept.context.start.verbs import Event, events_after

    def tell(one: Event) -> None:
        click.echo(json.dumps(output.plain(one)) if as_json else output.styled(one.as_text()))

    with options.open_wellkept(project) as wk:
        wanted = None if all_projects else wk.project
        after = wk.engine.store.activity_range().newest
        for one in wk.session.events(limit=limit, all_projects=all_projects).items:
            tell(one)
        try:
            while True:
                newest = wk.engine.store.activity_range().newest
                for one in events_after(wk, after, until=newest, project=wanted):
                    tell(one)
                    newest = max(newest, one.number)
                after = newest
                time.sleep(_POLL_INTERVAL_S)
        except KeyboardInterrupt:
            return
