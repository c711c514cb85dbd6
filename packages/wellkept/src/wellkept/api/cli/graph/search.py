"""`wellkept graph search` and `related`: find files by query, or related to a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import exit_codes, options, output

if TYPE_CHECKING:
    from wellkept.graph.search.file_search import FoundFile


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 200), default=10, show_default=True,
              help="Maximum number of files.")  # fmt: skip
@options.project_option
@options.json_option
def search(*, query: tuple[str, ...], limit: int, project: str | None, as_json: bool) -> int:
    """Find files and functions for QUERY: a bug report, a name or a question.

    Searches paths, symbols and text, and the files of similar commits. Changed files are indexed
    first. Works without a code graph; with one it also knows symbols. Below each file are its
    functions and classes that fit best, with their lines. Exits with 1 when nothing was found.
    """
    with options.open_wellkept(project) as wk, output.progress_bar("Indexing code") as on_progress:
        found = wk.code.find(" ".join(query), limit=limit, progress=on_progress)
    if as_json:
        output.print_json({"files": found})
    else:
        output.print_table(
            ("score", "file", "why"),
            [row for hit in found for row in _rows(hit)],
            empty="No matching files.",
        )
    return exit_codes.OK if found else exit_codes.NOTHING


def _rows(hit: FoundFile) -> Iterator[tuple[str, str, str]]:
    yield f"{hit.score:.2f}", hit.path, ", ".join(hit.reasons)
    for symbol in hit.symbols:
        yield (
            "",
            f"{hit.path}:{symbol.line}",
            " - ".join(filter(None, (symbol.name, symbol.summary))),
        )


@click.command("related")
@click.argument("file")
@click.option("-n", "--limit", type=click.IntRange(1, 200), default=10, show_default=True,
              help="Maximum number of files.")  # fmt: skip
@options.project_option
@options.json_option
def related(*, file: str, limit: int, project: str | None, as_json: bool) -> None:
    """Show the files related to FILE by history, dependencies or sessions.

    The first run reads the git history, which can take seconds; the result is stored.
    """
    with (
        options.open_wellkept(project) as wk,
        output.progress_bar("Reading history") as on_progress,
    ):
        found = wk.graph.related(file, limit=limit, progress=on_progress)
    if as_json:
        output.print_json(found)
        return
    if not found.files:
        output.note("No related files known.")
    if not found.has_graph:
        output.note("Not in the code graph. Run `wellkept graph build` to include dependencies.")
    output.print_table(
        ("score", "file", "why"),
        [(f"{hit.score:.2f}", hit.path, ", ".join(hit.reasons)) for hit in found.files],
    )
    if found.expected:
        output.note(f"Expected by naming pattern, but missing: {', '.join(found.expected)}")
