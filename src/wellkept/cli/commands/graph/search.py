"""`wellkept graph search` and `related`: the files a request is about, or that go with a file."""

from __future__ import annotations

import click

from wellkept.cli import exit_codes, options, output


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 200), default=10, show_default=True,
              help="How many files to list at most.")  # fmt: skip
@options.project_option
@options.json_option
def search(*, query: tuple[str, ...], limit: int, project: str | None, as_json: bool) -> int:
    """Find the files that QUERY is about: a bug report, a name, a question.

    Looks at paths, symbols and text, and at the files that similar commits touched. What changed
    since the last search is read first. Needs no code graph, but knows symbols where one is built.
    Exits with 1 when nothing was found.
    """
    with options.opened(project) as wk, output.progress_bar("Reading code") as tell:
        found = wk.code.find(" ".join(query), limit=limit, progress=tell)
    if as_json:
        output.print_json({"files": found})
    else:
        output.print_table(
            ("score", "file", "why"),
            [(f"{hit.score:.2f}", hit.path, ", ".join(hit.reasons)) for hit in found],
            empty="No file of this project speaks of that.",
        )
    return exit_codes.OK if found else exit_codes.NOTHING


@click.command("related")
@click.argument("file")
@click.option("-n", "--limit", type=click.IntRange(1, 200), default=10, show_default=True,
              help="How many files to list at most.")  # fmt: skip
@options.project_option
@options.json_option
def related(*, file: str, limit: int, project: str | None, as_json: bool) -> None:
    """Show the files that belong with FILE: likely to change, depending or opened along with it.

    The first time a long history takes seconds to learn; what it says is kept.
    """
    with options.opened(project) as wk, output.progress_bar("Learning history") as tell:
        found = wk.graph.related(file, limit=limit, progress=tell)
    if as_json:
        output.print_json(found)
        return
    if not found.files:
        output.note("Nothing is known to belong with it.")
    if not found.has_graph:
        output.note("Without structure: the code graph does not know it (wellkept graph build).")
    output.print_table(
        ("score", "file", "why"),
        [(f"{hit.score:.2f}", hit.path, ", ".join(hit.reasons)) for hit in found.files],
    )
    if found.expected:
        output.note(f"Not there yet, but files named alike have one: {', '.join(found.expected)}")
