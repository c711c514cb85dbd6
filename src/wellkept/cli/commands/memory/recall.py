"""`wellkept recall`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from wellkept.cli import exit_codes, options, output
from wellkept.core.text import shorten
from wellkept.core.types import Phase

if TYPE_CHECKING:
    from wellkept.app.wiring.keyword_types import FilterArgs
    from wellkept.memory.recall.progressive import IndexRow
    from wellkept.memory.recall.requests import RecallHit, RecallResult


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="QUESTION...")
@click.option("--limit", "-n", type=int, help="How many to show.")
@click.option("--offset", type=int, default=0, help="How many to pass over first.")
@click.option(
    "--mode", type=click.Choice(["hybrid", "words", "vectors"]), help="Which indexes to look in."
)
@click.option("--profile", help="Ranking profile: default, balanced or phase.")
@click.option(
    "--phase",
    type=options.open_choice(Phase),
    metavar="PHASE",
    help="The phase of work, by the methodology's name or ours; weighs the types.",
)
@click.option(
    "--near",
    "near_files",
    multiple=True,
    metavar="PATH",
    help="A file at hand: memories tied to it are candidates too.",
)
@click.option("--recent-sessions", type=int, help="Only the last sessions, this many.")
@click.option("--around", metavar="ID", help="Only around the time of that memory.")
@click.option(
    "--neighbours", type=int, help="How many before and after each hit in its session to show."
)
@click.option("--no-dates", is_flag=True, help="Do not read dates in the question.")
@click.option("--explain", is_flag=True, help="Show what each score is made of.")
@click.option(
    "--index",
    "as_index",
    is_flag=True,
    help="One line each with what reading it costs; `show` gives the rest.",
)
@click.option("--quiet", "-q", is_flag=True, help="Ids only, one a line.")
@options.which_options
@options.project_option
@options.json_option
def recall(
    *,
    words: tuple[str, ...],
    limit: int | None,
    offset: int,
    mode: str | None,
    profile: str | None,
    phase: str | None,
    near_files: tuple[str, ...],
    recent_sessions: int | None,
    around: str | None,
    neighbours: int | None,
    no_dates: bool,
    explain: bool,
    as_index: bool,
    quiet: bool,
    which: FilterArgs,
    project: str | None,
    as_json: bool,
) -> int:
    """Find the memories that answer a question.

    Exits with 1 when nothing was found, like grep.
    """
    with options.opened(project) as wk:
        query = output.read_input(words, what="question")
        found = wk.recall(
            query,
            limit=limit,
            offset=offset,
            mode=mode,
            profile=profile,
            phase=phase,
            near_files=near_files,
            read_dates=not no_dates,
            recent_sessions=recent_sessions,
            around=around,
            neighbours=neighbours,
            count_access=not as_index,
            **which,
        )
        rows = wk.index_rows(found) if as_index else []
    if as_json:
        output.print_json({"items": rows, "notes": found.notes} if as_index else found)
    elif quiet:
        for hit in found:
            click.echo(hit.memory.short)
    elif as_index:
        _print_index(rows, found)
    else:
        _print(found, explain=explain, first=offset + 1)
    return exit_codes.OK if found.hits else exit_codes.NOTHING


def _print(found: RecallResult, *, explain: bool, first: int) -> None:
    for number, hit in enumerate(found, start=first):
        print_hit(hit, number=number)
        if explain:
            rows = [
                (p.name, f"{p.value:.3f}", f"{p.weight:.3f}", f"{p.effect:+.4f}") for p in hit.parts
            ]
            output.print_table(("part", "value", "weight", "effect"), rows)
    if not found.hits:
        output.note("Nothing found.")
    _print_notes(found)


def _print_index(rows: Sequence[IndexRow], found: RecallResult) -> None:
    cells = [
        (
            row.short,
            row.badge,
            output.day(row.at),
            f"{row.score:.3f}",
            output.one_line(row.title),
            f"~{row.read_tokens}",
            f"~{row.work_tokens}" if row.work_tokens else "-",
        )
        for row in rows
    ]
    output.print_table(("id", "", "date", "score", "memory", "Read", "Work"), cells)
    if not rows:
        output.note("Nothing found.")
    _print_notes(found)


def _print_notes(found: RecallResult) -> None:
    for remark in found.notes:
        output.note(remark)
    if found.next_offset is not None:
        output.note(f"More: --offset {found.next_offset}")


def print_hit(hit: RecallHit, *, number: int, longest: int | None = None) -> None:
    """One answer: where it comes from, what stands before it, itself, what stands after."""
    memory = hit.memory
    stale = click.style(" stale", fg="red") if hit.stale else ""
    closed = "" if memory.is_open else click.style(" no longer held", fg="red")
    click.echo(
        f"{number:>2}. {click.style('m:' + memory.short, fg='cyan')} {output.badge(memory.type)} "
        + click.style(
            f"{memory.type.value} · {output.day(memory.valid_from)}"
            f" · {hit.score:.3f} · {', '.join(hit.retrievers)}",
            dim=True,
        )
        + stale
        + closed
    )
    for neighbour in hit.before:
        click.echo(
            click.style(output.indented(f"‹ {output.title(neighbour, limit=160)}"), dim=True)
        )
    content = memory.content if longest is None else shorten(memory.content, limit=longest)
    click.echo(output.indented(content))
    for neighbour in hit.after:
        click.echo(
            click.style(output.indented(f"› {output.title(neighbour, limit=160)}"), dim=True)
        )
