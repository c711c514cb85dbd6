"""Commands that hold other commands, and whether anything is printed in colour.

Light on purpose: whatever a command line starts with imports this.
"""

from __future__ import annotations

import os

import click


class Group(click.Group):
    """A group whose help says in full what its commands do; named alone, it shows that help."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # A first sentence is never as long as this: click would cut it to one line otherwise.
        rows = [
            (name, command.get_short_help_str(limit=1000))
            for name in self.list_commands(ctx)
            if (command := self.get_command(ctx, name))
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def environment_colour() -> bool | None:
    """No when the environment does not want colour, else left to the terminal."""
    # https://no-color.org: any non-empty value means no.
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None
