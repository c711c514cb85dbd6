"""`wellkept remember`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import SESSION
from wellkept.api.server.caller import asking
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.types import SHOWN_TYPES, MemoryType, Scope, Source
from wellkept.memory.arguments import MemoryArgs
from wellkept.memory.file_presence import path_exists

if TYPE_CHECKING:
    from wellkept.core.memory import WorkUnitRef

_COLOURS = {"inserted": "green", "merged": "cyan", "superseded": "yellow", "unchanged": "white"}


@click.command()
@click.argument("words", nargs=-1, metavar="TEXT...")
@click.option(
    "--type",
    "-t",
    default="fact",
    show_default=True,
    type=options.open_choice(MemoryType),
    metavar="TYPE",
    help=f"Memory type: {', '.join(SHOWN_TYPES)}.",
)
@click.option("--key", help="Unique key; a later memory with the same key replaces this one.")
@click.option("--tag", "tags", multiple=True, help="Tag. Repeatable.")
@click.option(
    "--file", "files", multiple=True, metavar="PATH", help="File it is about. Repeatable."
)
@click.option("--module", "modules", multiple=True, help="Module it is about. Repeatable.")
@click.option("--importance", type=float, help="Importance, 0 to 1.")
@click.option("--confidence", type=float, help="Confidence, 0 to 1.")
@click.option("--scope", type=options.choice(Scope), help="Scope; user applies to all projects.")
@click.option(
    "--source",
    default=Source.USER_TAUGHT.value,
    show_default=True,
    type=options.choice(Source),
    metavar="SOURCE",
    help="Where it comes from.",
)
@click.option("--author", help="Author.")
@click.option("--session", type=SESSION, help="Session it comes from.")
@click.option("--seq", type=int, help="Position in that session.")
@click.option(
    "--at", metavar="WHEN", help="Time of the event: a date, a time, or an age such as 2d."
)
@click.option("--pin", is_flag=True, help="Do not decay or prune; always include in the context.")
@click.option(
    "--half-life", "half_life_days", type=float, help="Half-life of the importance in days."
)
@click.option("--citation", help="Citation label.")
@click.option("--commit", metavar="SHA", help="Commit it comes from.")
@click.option("--work-tokens", type=int, help="Tokens spent to find this out.")
@click.option("--review", "needs_review", is_flag=True, help="Mark as needing review.")
@click.option(
    "--work-unit",
    metavar="METHODOLOGY:UNIT/...",
    help="Work unit it belongs to, outermost first.",
)
@click.option("--payload", metavar="JSON", help="Typed payload of some memory types.")
@click.option("--no-merge", is_flag=True, help="Insert even if a similar memory exists.")
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
    """Store a memory.

    Without TEXT, or with a single -, standard input is read. The memory is inserted, merged with
    a similar one, or replaces one that it contradicts; the output says which.
    """
    if not words and output.is_interactive():
        raise UsageError("No text was given.", hint="Type it after the command, or pipe it in.")
    parts = {"pinned": pin, "payload": read_payload(payload), "work_unit": _work_unit(work_unit)}
    arguments = MemoryArgs(**details, **parts)  # type: ignore[typeddict-item]
    with options.open_wellkept(project) as wk:
        content = output.read_input(words or ("-",), what="text")
        result = wk.remember(content, merge_similar=not no_merge, **arguments)
        problem = wk.embedding_problem
        missing = [name for name in result.memory.files if not path_exists(wk.root / name)]
    if as_json:
        output.print_json(result)
    else:
        outcome = click.style(result.outcome.value, fg=_COLOURS[result.outcome.value], bold=True)
        output.print_memory_line(result.memory, mark=f"{outcome} ")
        if result.previous is not None:
            output.note(result.reason)
    if result.memory.is_agent_note and asking().is_agent:
        output.note(
            "Kept as an agent's note, for this project only: this ran in an agent's tool call."
            f" The person can confirm it: wellkept bulk confirm {result.memory.short}"
        )
    if missing:
        output.note(
            f"Missing files: {', '.join(missing)}. Such memories are searched, not injected."
        )
    if problem:
        output.note(f"Stored without a vector: {problem} Run `wellkept reindex` to add it.")


def _work_unit(text: str | None) -> WorkUnitRef | None:
    if text is None:
        return None
    from wellkept.core.memory import WorkUnitRef

    methodology, colon, units = text.partition(":")
    if not colon:
        raise UsageError(
            f"No methodology in work unit {text!r}.",
            hint="For example native:spec-7/story-2.",
        )
    hierarchy = tuple(units.split("/"))
    return WorkUnitRef(methodology, hierarchy, hierarchy[-1])


def read_payload(text: str | None) -> dict[str, Json] | None:
    """Parse the JSON of --payload."""
    if text is None:
        return None
    from wellkept.memory.exchange.memory_json import parse_json

    found = parse_json(text)
    if not isinstance(found, dict):
        raise UsageError("The payload must be a JSON object.", hint='For example {"error": "..."}.')
    return found
