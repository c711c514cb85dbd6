"""`wellkept events`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import click

import wellkept
from wellkept.api.activity import ActivityItem, latest_activity, read_activity
from wellkept.api.cli import options, output
from wellkept.core.codec import Json

_POLL_INTERVAL_S = 0.5
_PAGE = 100


@click.command()
@click.option("--follow", "-f", is_flag=True, help="Keep printing new events until stopped.")
@click.option(
    "-n", "--limit", type=click.IntRange(0, 1000), default=20, show_default=True,
    help="Number of latest events to show.",
)  # fmt: skip
@click.option("--after", type=click.IntRange(0), help="Show all events after this number.")
@click.option("--all-projects", is_flag=True, help="Include all projects.")
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
    """Show recent activity, or follow it live.

    Events are sessions that start and end, and memories that are stored, changed and forgotten. No
    server is needed. With --follow and --json, each event is one line of JSON.
    """
    with options.open_wellkept(project) as wk:
        start = wk.engine.store.activity_range().newest
        items = (
            latest_activity(
                wk.engine.store, project=None if all_projects else wk.project, limit=limit
            )
            if after is None
            else list(_items_after(wk, after, until=start, all_projects=all_projects))
        )
        if as_json and not follow:
            output.print_json({"items": [_plain(item) for item in items]})
            return
        for item in items:
            _print(item, as_json=as_json)
        if not items and not follow:
            output.note("No activity yet. Include other projects with --all-projects.")
        if follow:
            _follow(wk, start, all_projects=all_projects, as_json=as_json)


def _items_after(
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
            for item in _items_after(wk, after, until=newest, all_projects=all_projects):
                _print(item, as_json=as_json)
                newest = max(newest, item.news.number)
            after = newest
            time.sleep(_POLL_INTERVAL_S)
    except KeyboardInterrupt:
        return


def _plain(item: ActivityItem) -> dict[str, Json]:
    shown = output.plain(item.news)
    assert isinstance(shown, dict)
    subject: dict[str, Json] = {"type": item.type, "short": item.short, "title": item.title}
    return {**shown, **subject}


def _print(item: ActivityItem, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_plain(item)))
        return
    news = item.news
    name = f"m:{item.short}" if item.short else (news.session_id or news.memory_id or "")[:12]
    head = f"{news.at:%Y-%m-%d %H:%M:%S} {news.kind.value:<18} {name}"
    click.echo(f"{head} {output.one_line(item.title or '')}".rstrip())
