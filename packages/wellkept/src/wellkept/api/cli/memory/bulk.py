"""`wellkept bulk` and `wellkept undo`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import MEMORY
from wellkept.core.errors import UsageError

if TYPE_CHECKING:
    from wellkept.memory.arguments import FilterArgs

_ACTIONS = (
    *("confirm", "reject", "archive", "restore", "delete", "flag", "importance", "tag", "untag"),
)


@click.command()
@click.argument("action", type=click.Choice(_ACTIONS))
@click.argument("names", metavar="[ID]...", nargs=-1, type=MEMORY)
@click.option("--matching", is_flag=True, help="All memories that the filters match.")
@options.filter_options
@click.option("--reason", default="", help="Why, for reject and flag.")
@click.option("--to", "importance", type=click.FloatRange(0, 1), help="The new importance.")
@click.option("--with-tag", "new_tags", multiple=True, help="The tag to add or take away.")
@options.yes_option
@options.dry_run_option
@options.project_option
@options.json_option
def bulk(
    *,
    action: str,
    names: tuple[str, ...],
    matching: bool,
    filters: FilterArgs,
    reason: str,
    importance: float | None,
    new_tags: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Confirm, reject, archive, delete, flag, weigh or tag many memories, with undo."""
    if matching == bool(names):
        raise UsageError("Name memories, or say --matching with filters.", hint="Not both.")
    with options.open_wellkept(project) as wk:
        where = cast("FilterArgs", dict(filters)) if matching else None
        if not dry_run and not yes:
            count = wk.bulk(
                action,
                names,
                filters=where,
                importance=importance,
                tags=new_tags,
                dry_run=True,
            ).count
            output.confirm(f"{action.capitalize()} {count} memories?", yes=yes)
        done = wk.bulk(
            action,
            names,
            filters=where,
            reason=reason,
            importance=importance,
            tags=new_tags,
            dry_run=dry_run,
        )
    if as_json:
        output.print_json(done)
        return
    for memory in done.memories:
        output.print_memory_line(memory)
    click.echo(f"{action}: {done.count} memories{' (nothing changed)' if dry_run else ''}")
    if done.undo_id:
        output.note(f"`wellkept undo {done.undo_id}` takes it back.")


@click.command()
@click.argument("step", metavar="[ID]", required=False)
@options.project_option
@options.json_option
def undo(*, step: str | None, project: str | None, as_json: bool) -> None:
    """Take an action back by its id, or list what can be taken back."""
    with options.open_wellkept(project) as wk:
        found = [wk.undo(step)] if step else wk.undo_steps()
    if as_json:
        output.print_json({"items": found})
        return
    if step:
        click.echo(f"Undone: {found[0].action} of {found[0].count} memories.")
        return
    rows = [
        (one.id, f"{one.at:%Y-%m-%d %H:%M}", one.action, str(one.count),
         "undone" if one.undone_at else "")
        for one in found
    ]  # fmt: skip
    empty = "Nothing to undo."
    output.print_table(("id", "when", "action", "memories", "state"), rows, empty=empty)
