"""Base class of command groups, and colour settings from the environment.

Every command imports this module, so it stays small.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from shutil import get_terminal_size
from typing import Final

import click

CLICKS_LEAST_COLUMNS: Final = 52


class Group(click.Group):
    """A command group that prints its help when called without a command, one full line each."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # A high limit keeps click from shortening the text.
        rows = [
            (name, command.get_short_help_str(limit=1000))
            for name in self.list_commands(ctx)
            if (command := self.get_command(ctx, name))
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class _NarrowHelp(click.HelpFormatter):
    """Help in fewer columns than click allows: the names take a third of them."""

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        super().write_dl(rows, min(col_max, self.width // 3), col_spacing)


def help_columns() -> int | None:
    """The columns for help in a terminal of less than 52; None elsewhere."""
    columns = get_terminal_size().columns
    if columns >= CLICKS_LEAST_COLUMNS:
        return None
    click.Context.formatter_class = _NarrowHelp
    return columns


def environment_colour() -> bool | None:
    """False or True when the environment says so, None to let the terminal decide."""
    # https://no-color.org and https://force-color.org: any non-empty value counts.
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None
