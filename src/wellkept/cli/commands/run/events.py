"""`wellkept events`: what is new, as it happens."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import click

import wellkept
from wellkept.app.activity import ActivityItem, latest_activity, read_activity
from wellkept.cli import options, output
from wellkept.core.codec import Json

_LOOK_EVERY_S = 0.5
_PAGE = 100


@click.command()
@click.option("--follow", "-f", is_flag=True, help="Go on until stopped.")
@click.option(
    "-n", "--limit", type=click.IntRange(0, 1000), default=20, show_default=True,
    help="How many of the latest to show first.",
)  # fmt: skip
@click.option("--after", type=click.IntRange(0), help="Everything after that number instead.")
@click.option("--all-projects", is_flag=True, help="Of every project.")
@options.project_option
@options.json_option
def events(
    *,
    follow: bool,
    limit: int,
    after: int | None,
    all_projects: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Show what is new, as it happens.

    Sessions that start and end; memories that are stored, changed and forgotten. It needs no
    server: whatever any process writes is seen. With --follow and --json each event
    is one line of JSON.
    """
    with options.opened(project) as wk:
        start = wk.engine.store.activity_range().newest
        known = (
            latest_activity(
                wk.engine.store, project=None if all_projects else wk.project, limit=limit
            )
            if after is None
            else list(_from(wk, after, until=start, all_projects=all_projects))
        )
        if as_json and not follow:
            output.print_json({"items": [_plain(item) for item in known]})
            return
        for item in known:
            _print(item, as_json=as_json)
        if not known and not follow:
            output.note("Nothing happened here yet; --all-projects looks further.")
        if follow:
            _follow(wk, start, all_projects=all_projects, as_json=as_json)


def _from(
    wk: wellkept.Wellkept, after: int, *, until: int, all_projects: bool
) -> Iterator[ActivityItem]:
    project = None if all_projects else wk.project
    while after < until:
        page = read_activity(wk.engine.store, project=project, after=after, limit=_PAGE)
        yield from page
        after = page[-1].news.number if len(page) == _PAGE else until


def _follow(wk: wellkept.Wellkept, after: int, *, all_projects: bool, as_json: bool) -> None:
    try:
        while True:
            newest = wk.engine.store.activity_range().newest
            for item in _from(wk, after, until=newest, all_projects=all_projects):
                _print(item, as_json=as_json)
                newest = max(newest, item.news.number)
            after = newest
            time.sleep(_LOOK_EVERY_S)
    except KeyboardInterrupt:
        return


def _plain(item: ActivityItem) -> dict[str, Json]:
    shown = output.plain(item.news)
    assert isinstance(shown, dict)
    about: dict[str, Json] = {"type": item.type, "short": item.short, "title": item.title}
    return {**shown, **about}


def _print(item: ActivityItem, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_plain(item)))
        return
    news = item.news
    name = f"m:{item.short}" if item.short else (news.session_id or news.memory_id or "")[:12]
    head = f"{news.at:%Y-%m-%d %H:%M:%S} {news.kind.value:<18} {name}"
    click.echo(f"{head} {output.one_line(item.title or '')}".rstrip())
