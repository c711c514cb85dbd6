"""`wellkept context`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import SESSION
from wellkept.core.types import Phase

if TYPE_CHECKING:
    from wellkept.context.packing import ContextPack


@click.command()
@click.argument("words", nargs=-1, metavar="[PROMPT]...")
@click.option(
    "--moment",
    type=click.Choice(["session", "prompt", "file", "command", "plan"]),
    help="When it is injected. Default: derived from the other arguments.",
)
@click.option(
    "--file", "files", multiple=True, metavar="PATH", help="File being worked on. Repeatable."
)
@click.option(
    "--phase",
    type=options.open_choice(Phase),
    metavar="PHASE",
    help="Phase of work; changes the weight of memory types.",
)
@click.option(
    "--complexity",
    type=click.Choice(["trivial", "standard", "complex"]),
    help="Size of the task; a trivial one gets no recipes and no end-to-end observations.",
)
@click.option("--budget", "budget_tokens", type=int, help="Token budget.")
@click.option("--max-chars", type=int, help="Character limit.")
@click.option(
    "--shown",
    multiple=True,
    metavar="ID",
    help="Exclude a memory or line that was already shown. Repeatable.",
)
@click.option(
    "--session", type=SESSION, help="Current session; includes its session-only memories."
)
@click.option("--sessions", "session_limit", type=int, help="How many sessions to tell of.")
@click.option(
    "--observations", "observation_limit", type=int, help="How many records of work to name."
)
@click.option(
    "--observation-type",
    "observation_types",
    multiple=True,
    metavar="KIND",
    help="Only these kinds: decision, bugfix, feature, refactor, discovery, change.",
)
@click.option("--concept", "concepts", multiple=True, help="Only records of work about this.")
@click.option("--days", type=int, help="How many days back to look.")
@click.option(
    "--format",
    type=click.Choice(["text", "table"]),
    help="table: recent work by date, with what each record costs to read.",
)
@click.option("--reasons", is_flag=True, help="Show why each memory was chosen.")
@options.project_option
@options.json_option
def context(
    *,
    words: tuple[str, ...],
    moment: str | None,
    files: tuple[str, ...],
    phase: str | None,
    complexity: str | None,
    budget_tokens: int | None,
    max_chars: int | None,
    shown: tuple[str, ...],
    session: str | None,
    session_limit: int | None,
    observation_limit: int | None,
    observation_types: tuple[str, ...],
    concepts: tuple[str, ...],
    days: int | None,
    format: str | None,
    reasons: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Show the context an agent would get, within a token budget.

    For a PROMPT, for the files of --file, or else for the start of a session.
    """
    from wellkept.context.packing import render_context

    with options.open_wellkept(project, reads=True) as wk:
        pack = wk.context(
            output.read_input(words, what="prompt"),
            moment=moment,
            files=files,
            phase=phase,
            complexity=complexity,
            budget_tokens=budget_tokens,
            max_chars=max_chars,
            shown=[name if name.startswith("line:") else wk.get(name).id for name in shown],
            session=session,
            session_limit=session_limit,
            observation_limit=observation_limit,
            observation_types=observation_types or None,
            concepts=concepts,
            days=days,
            format=format,
        )
        if as_json:
            output.print_json(
                {"text": render_context(pack), "sections": pack.sections, "pack": pack}
            )
        else:
            _print(pack, reasons=reasons)
        if pack.moment == "session":
            from wellkept.api.cli.system.maintenance import maintain_after_answer

            sys.stdout.flush()
            maintain_after_answer(wk)


def _print(pack: ContextPack, *, reasons: bool) -> None:
    from wellkept.context.packing import render_context

    if pack.used_tokens:
        click.echo(output.safe(render_context(pack)))
    else:
        output.note("Nothing fits the budget." if pack.left_out else "No relevant memories.")
    if reasons:
        rows = [(i.memory.short, i.reason, str(i.row.read_tokens)) for i in pack.items]
        rows += [(line.id, line.reason, "") for line in pack.lines]
        rows += [(extra.name, extra.reason, "") for extra in pack.extras]
        output.print_table(("id", "why", "tokens"), rows)
    output.note(f"{pack.used_tokens} of {pack.budget_tokens} tokens; left out: {pack.left_out}")
