"""`wellkept list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.cli import options, output
from wellkept.core.memory import Memory
from wellkept.core.query import Order

if TYPE_CHECKING:
    from wellkept.app.wiring.keyword_types import FilterArgs


@click.command("list")
@click.option(
    "--order",
    type=options.choice(Order),
    default=Order.NEWEST.value,
    show_default=True,
    help="How to sort.",
)
@click.option("--limit", "-n", type=int, default=20, show_default=True, help="How many to show.")
@click.option("--cursor", help="Where the last page ended.")
@click.option(
    "--needs-review", is_flag=True, default=None, help="Only what waits for a person's look."
)
@click.option(
    "--verified",
    "user_verified",
    is_flag=True,
    default=None,
    help="Only what a person vouched for.",
)
@click.option("--pinned", is_flag=True, default=None, help="Only pinned ones.")
@click.option("--archived", is_flag=True, help="Archived ones instead.")
@options.which_options
@options.project_option
@options.json_option
def list_(
    *,
    order: str,
    limit: int,
    cursor: str | None,
    needs_review: bool | None,
    user_verified: bool | None,
    pinned: bool | None,
    archived: bool,
    which: FilterArgs,
    project: str | None,
    as_json: bool,
) -> None:
    """List memories, newest first."""
    which = {
        **which,
        "needs_review": needs_review,
        "user_verified": user_verified,
        "pinned": pinned,
        "archived": archived,
    }
    with options.opened(project) as wk:
        page = wk.list(order=order, limit=limit, cursor=cursor, **which)
    if as_json:
        output.print_json(page)
        return
    everywhere = which.get("all_projects", False)
    has_closed = any(not memory.is_open for memory in page)
    rows = [_cells(memory, closed=has_closed, everywhere=everywhere) for memory in page]
    headings = ["id", "type", "date", "weight", "memory"]
    if has_closed:
        headings.insert(3, "closed")
    if everywhere:
        headings.append("project")
    output.print_table(
        headings,
        rows,
        empty="Nothing of that kind is known here: `wellkept remember` keeps a statement,"
        " `wellkept init` takes in this project's documents and history.",
    )
    if rows:
        output.note(f"{len(page.items)} of {page.total}")
    if page.next_cursor:
        output.note(f"More: --cursor {page.next_cursor}")


def _cells(memory: Memory, *, closed: bool, everywhere: bool) -> list[str]:
    cells = [
        memory.short,
        memory.type.value,
        output.day(memory.valid_from),
        f"{memory.importance:.2f}",
        output.title(memory, limit=100),
    ]
    if closed:
        cells.insert(3, output.day(memory.valid_to))
    return [*cells, memory.project] if everywhere else cells
