"""`holdfast graph search`: the files a request is about."""

from __future__ import annotations

import click

from holdfast.cli import options, output


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 200), default=10, show_default=True,
              help="How many files to list at most.")  # fmt: skip
@options.project_option
@options.json_option
def search(*, query: tuple[str, ...], limit: int, project: str | None, as_json: bool) -> None:
    """Find the files that QUERY is about: a bug report, a name, a question.

    Looks at paths, symbols and text, and at the files that similar commits touched. What changed
    since the last search is read first. Needs no code graph, but knows symbols where one is built.
    """
    with options.opened(project) as hf, output.progress_bar("Reading code") as tell:
        found = hf.code.find(" ".join(query), limit=limit, progress=tell)
    if as_json:
        output.print_json({"files": found})
        return
    if not found:
        output.note("No file of this project speaks of that.")
        return
    output.print_table(
        ("score", "file", "why"),
        [(f"{hit.score:.2f}", hit.path, ", ".join(hit.reasons)) for hit in found],
    )
