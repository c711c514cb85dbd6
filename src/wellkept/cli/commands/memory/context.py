"""`wellkept context`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wellkept.cli import options, output
from wellkept.core.types import Phase

if TYPE_CHECKING:
    from wellkept.memory.context.packing import ContextPack


@click.command()
@click.argument("words", nargs=-1, metavar="[PROMPT]...")
@click.option(
    "--moment",
    type=click.Choice(["session", "prompt", "file", "command", "plan"]),
    help="What it is for; told from the rest when left out.",
)
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file at hand.")
@click.option(
    "--phase",
    type=options.open_choice(Phase),
    metavar="PHASE",
    help="The phase of work, by the methodology's name or ours; weighs the types.",
)
@click.option("--budget", "budget_tokens", type=int, help="Room in tokens.")
@click.option("--max-chars", type=int, help="Room in characters, where a client has such a limit.")
@click.option(
    "--shown", multiple=True, metavar="ID", help="Leave out this memory: it was shown before."
)
@click.option("--session", help="The session that asks; it also gets what is of it alone.")
@click.option("--reasons", is_flag=True, help="Show why each memory is in.")
@options.project_option
@options.json_option
def context(
    *,
    words: tuple[str, ...],
    moment: str | None,
    files: tuple[str, ...],
    phase: str | None,
    budget_tokens: int | None,
    max_chars: int | None,
    shown: tuple[str, ...],
    session: str | None,
    reasons: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Show what is worth saying now, inside a token budget.

    With a PROMPT it is about that; with --file about the file; else for the start of a session.
    """
    from wellkept.memory.context.packing import render_context

    with options.opened(project) as wk:
        pack = wk.context(
            output.read_input(words, what="prompt"),
            moment=moment,
            files=files,
            phase=phase,
            budget_tokens=budget_tokens,
            max_chars=max_chars,
            shown=[wk.get(name).id for name in shown],
            session=session,
        )
        if as_json:
            output.print_json({"text": render_context(pack), "pack": pack})
        else:
            _print(pack, reasons=reasons)
        if pack.moment == "session":
            from wellkept.cli.commands.system.maintenance import maintain_after_answer

            sys.stdout.flush()
            maintain_after_answer(wk)


def _print(pack: ContextPack, *, reasons: bool) -> None:
    from wellkept.memory.context.packing import render_context

    if pack.items or pack.extras:
        click.echo(output.safe(render_context(pack)))
    else:
        output.note("Nothing fits." if pack.left_out else "Nothing worth saying.")
    if reasons:
        rows = [(i.memory.short, i.reason, str(i.row.read_tokens)) for i in pack.items]
        rows += [(extra.name, extra.reason, "") for extra in pack.extras]
        output.print_table(("id", "why", "tokens"), rows)
    output.note(f"{pack.used_tokens} of {pack.budget_tokens} tokens; left out: {pack.left_out}")
