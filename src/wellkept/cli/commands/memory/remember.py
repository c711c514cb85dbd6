"""`wellkept remember`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.app.projects.resolver import path_exists
from wellkept.app.wiring.keyword_types import MemoryArgs
from wellkept.cli import options, output
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.types import MemoryType, Scope, Source

if TYPE_CHECKING:
    from wellkept.core.memory import WorkUnitRef

_COLOURS = {"inserted": "green", "merged": "cyan", "superseded": "yellow", "unchanged": "white"}


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="TEXT...")
@click.option(
    "--type",
    "-t",
    default="fact",
    show_default=True,
    type=options.open_choice(MemoryType),
    metavar="TYPE",
    help=f"What kind of memory: {', '.join(MemoryType)}.",
)
@click.option("--key", help="A unique name; a later memory of the same key takes its place.")
@click.option("--tag", "tags", multiple=True, help="A tag; may be repeated.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file it is about.")
@click.option("--module", "modules", multiple=True, help="A module it is about.")
@click.option("--importance", type=float, help="How much it matters, 0 to 1.")
@click.option("--confidence", type=float, help="How sure it is, 0 to 1.")
@click.option(
    "--scope", type=options.choice(Scope), help="How far it reaches; user crosses projects."
)
@click.option(
    "--source",
    default=Source.USER_TAUGHT.value,
    show_default=True,
    type=options.choice(Source),
    metavar="SOURCE",
    help="Who says so.",
)
@click.option("--author", help="Who said it.")
@click.option("--session", help="The session it was said in.")
@click.option("--seq", type=int, help="Its place in that session.")
@click.option(
    "--at", metavar="WHEN", help="When it was so: a date, a time, or e.g. 2d for two days ago."
)
@click.option("--pin", is_flag=True, help="Never fades, never pruned, always in the context.")
@click.option("--half-life", "half_life_days", type=float, help="Days until half forgotten.")
@click.option("--citation", help="A short form for citing it.")
@click.option("--commit", metavar="SHA", help="The commit it comes from.")
@click.option("--work-tokens", type=int, help="How many tokens it took to find out.")
@click.option("--review", "needs_review", is_flag=True, help="It waits for a person's look.")
@click.option(
    "--work-unit",
    metavar="METHODOLOGY:UNIT/...",
    help="The unit of work it belongs to, outermost first.",
)
@click.option("--payload", metavar="JSON", help="The typed part that some types carry.")
@click.option("--no-merge", is_flag=True, help="Insert even if something similar is known.")
@options.project_option
@options.json_option
def remember(
    *,
    words: tuple[str, ...],
    pin: bool,
    payload: str | None,
    work_unit: str | None,
    no_merge: bool,
    project: str | None,
    as_json: bool,
    **details: object,
) -> None:
    """Keep a statement.

    TEXT is the statement; a single - reads it from standard input. It is inserted, merged into
    what it repeats, or put in place of what it contradicts; the answer says which.
    """
    parts = {"pinned": pin, "payload": read_payload(payload), "work_unit": _work_unit(work_unit)}
    said = MemoryArgs(**details, **parts)  # type: ignore[typeddict-item]
    with options.opened(project) as wk:
        content = output.read_input(words, what="statement")
        kept = wk.remember(content, merge_similar=not no_merge, **said)
        problem = wk.embedding_problem
        missing = [name for name in kept.memory.files if not path_exists(wk.root / name)]
    if as_json:
        output.print_json(kept)
    else:
        outcome = click.style(kept.outcome.value, fg=_COLOURS[kept.outcome.value], bold=True)
        output.print_memory_line(kept.memory, mark=f"{outcome} ")
        if kept.previous is not None:
            output.note(kept.reason)
    if missing:
        output.note(
            f"Not there: {', '.join(missing)}. A memory of files that are gone is found when asked"
            " for, but not pushed."
        )
    if problem:
        output.note(f"Kept without a vector: {problem} `wellkept reindex` adds it later.")


def _work_unit(text: str | None) -> WorkUnitRef | None:
    if text is None:
        return None
    from wellkept.core.memory import WorkUnitRef

    methodology, colon, units = text.partition(":")
    if not colon:
        raise UsageError(
            f"The work unit {text!r} names no methodology.",
            hint="For example native:spec-7/story-2.",
        )
    hierarchy = tuple(units.split("/"))
    return WorkUnitRef(methodology, hierarchy, hierarchy[-1])


def read_payload(text: str | None) -> dict[str, Json] | None:
    """A payload as a person types it."""
    if text is None:
        return None
    from wellkept.memory.exchange.memory_json import parse_json

    found = parse_json(text)
    if not isinstance(found, dict):
        raise UsageError("A payload is a JSON object.", hint='For example {"error": "..."}.')
    return found
