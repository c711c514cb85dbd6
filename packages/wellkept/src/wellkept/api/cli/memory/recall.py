"""`wellkept recall`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import exit_codes, options, output
from wellkept.api.cli.names import MEMORY
from wellkept.core.text import shorten
from wellkept.core.types import Phase

if TYPE_CHECKING:
    from wellkept.memory.arguments import FilterArgs
    from wellkept.memory.recall.progressive import IndexRow
    from wellkept.memory.recall.requests import RecallHit, RecallResult


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="QUESTION...")
@click.option("--limit", "-n", type=int, help="Maximum number of results.")
@click.option("--offset", type=int, default=0, help="Number of results to skip.")
@click.option(
    "--mode", type=click.Choice(["hybrid", "words", "vectors"]), help="Which indexes to search."
)
@click.option("--profile", help="Ranking profile: default, balanced or phase.")
@click.option(
    "--phase",
    type=options.open_choice(Phase),
    metavar="PHASE",
    help="Phase of work; changes the weight of memory types.",
)
@click.option(
    "--near",
    "near_files",
    multiple=True,
    metavar="PATH",
    help="File being worked on; its memories become candidates. Repeatable.",
)
@click.option("--recent-sessions", type=int, help="Only the last N sessions.")
@click.option("--around", type=MEMORY, metavar="ID", help="Only around the time of this memory.")
@click.option(
    "--neighbours",
    type=int,
    help="Number of memories to show before and after each hit, from its session.",
)
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    help="Leave out what scores less; 0 lists every match.",
)
@click.option("--no-dates", is_flag=True, help="Do not parse dates in the question.")
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
@click.option(
    "--index",
    "as_index",
    is_flag=True,
    help="One line per memory with its token cost; read them with `show`.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print ids only, one per line.")
@options.filter_options
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
    min_score: float | None,
    no_dates: bool,
    explain: bool,
    as_index: bool,
    quiet: bool,
    filters: FilterArgs,
    project: str | None,
    as_json: bool,
) -> int:
    """Search memories.

    The score is the probability that a memory answers. Exits with 1 when nothing is known, like
    grep.
    """
    with options.open_wellkept(project, reads=True) as wk:
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
            min_score=min_score,
            **filters,
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
    _print_notes(found)


def _print_notes(found: RecallResult) -> None:
    if not found.hits:
        from wellkept.memory.recall.requests import NOTHING_KNOWN

        output.note(NOTHING_KNOWN)
        if found.considered:
            output.note("Weak matches are left out: --min-score 0 lists them.")
    for remark in found.notes:
        output.note(remark)
    if found.next_offset is not None:
        output.note(f"More: --offset {found.next_offset}")


def print_hit(hit: RecallHit, *, number: int, max_chars: int | None = None) -> None:
    """Print a hit with its neighbours."""
    memory = hit.memory
    stale = click.style(" stale", fg="red") if hit.stale else ""
    closed = "" if memory.is_open else click.style(" closed", fg="red")
    click.echo(
        f"{number:>2}. {click.style('m:' + memory.short, fg='cyan')} {output.badge(memory.type)} "
        + click.style(
            f"{memory.type.value} · {memory.period}"
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
    content = memory.content if max_chars is None else shorten(memory.content, limit=max_chars)
    click.echo(output.indented(content))
    for neighbour in hit.after:
        click.echo(
            click.style(output.indented(f"› {output.title(neighbour, limit=160)}"), dim=True)
        )
