"""`wellkept list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.core.memory import Memory
from wellkept.core.query import Order

if TYPE_CHECKING:
    from wellkept.memory.arguments import FilterArgs


@click.command("list")
@click.option(
    "--order",
    type=options.choice(Order),
    default=Order.NEWEST.value,
    show_default=True,
    help="Sort order.",
)
@click.option(
    "--limit", "-n", type=int, default=20, show_default=True, help="Maximum number of results."
)
@click.option("--cursor", help="Continue after the previous page.")
@click.option("--needs-review", is_flag=True, default=None, help="Only memories that need review.")
@click.option(
    "--verified",
    "user_verified",
    is_flag=True,
    default=None,
    help="Only verified memories.",
)
@click.option("--pinned", is_flag=True, default=None, help="Only pinned memories.")
@click.option("--archived", is_flag=True, help="Only archived memories.")
@options.filter_options
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
    filters: FilterArgs,
    project: str | None,
    as_json: bool,
) -> None:
    """List memories, newest first."""
    filters = {
        **filters,
        "needs_review": needs_review,
        "user_verified": user_verified,
        "pinned": pinned,
        "archived": archived,
    }
    with options.open_wellkept(project, reads=True) as wk:
        page = wk.list(order=order, limit=limit, cursor=cursor, **filters)
    if as_json:
        output.print_json(page)
        return
    everywhere = filters.get("all_projects", False)
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
        empty="No memories found. Add one with `wellkept remember`, or import this project with"
        " `wellkept init`.",
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
