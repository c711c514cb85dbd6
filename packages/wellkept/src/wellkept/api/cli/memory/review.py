"""`wellkept review`, `wellkept correct` and `wellkept history`."""

from __future__ import annotations

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import MEMORY, SESSION

_REASONS = ("inaccurate", "outdated", "too_specific", "duplicate")


@click.command()
@click.argument("session", metavar="[SESSION]", required=False, type=SESSION)
@options.project_option
@options.json_option
def review(*, session: str | None, project: str | None, as_json: bool) -> None:
    """Show what a session, or the project, left to look at, in three groups."""
    with options.open_wellkept(project) as wk:
        found = wk.review(session=session)
    if as_json:
        shown = output.plain(found)
        assert isinstance(shown, dict)
        if found.session is not None:
            shown["session"] = found.session.id
        output.print_json(shown)
        return
    groups = (
        ("Applied", found.applied),
        ("New, to review", found.new),
        ("Confirmed by rule", found.auto_confirmed),
    )
    for title, items in groups:
        click.secho(f"{title} ({len(items)})", bold=True)
        for one in items:
            output.print_memory_line(one.memory)
    if found.new:
        output.note("`wellkept bulk confirm ID` keeps one; `wellkept correct ID REASON` mends it.")


@click.command()
@click.argument("name", metavar="ID", type=MEMORY)
@click.argument("reason", type=click.Choice(_REASONS))
@click.option("--content", default="", help="What is right, for inaccurate and too_specific.")
@click.option(
    "--original", default="", type=MEMORY, metavar="ID", help="What it repeats, for duplicate."
)
@options.project_option
@options.json_option
def correct(
    *, name: str, reason: str, content: str, original: str, project: str | None, as_json: bool
) -> None:
    """Correct a memory: inaccurate, outdated, too specific, or a duplicate."""
    with options.open_wellkept(project) as wk:
        done = wk.correct(name, reason, content=content, original=original)
    if as_json:
        output.print_json(done)
        return
    output.print_memory_line(done.memory)
    output.note(f"`wellkept undo {done.undo_id}` takes it back.")


@click.command()
@click.argument("name", metavar="ID", type=MEMORY)
@options.project_option
@options.json_option
def history(*, name: str, project: str | None, as_json: bool) -> None:
    """Show how a memory came to be: what replaced what, its evidence and its use."""
    with options.open_wellkept(project) as wk:
        found = wk.history(name)
    if as_json:
        output.print_json(found)
        return
    rows = [
        (f"{one.at:%Y-%m-%d %H:%M}", one.kind.value, output.one_line(one.text))
        for one in found.entries
    ]
    output.print_table(("when", "what", ""), rows)
