"""`wellkept graph note`, `link` and `notes`: facts that cannot be parsed from source."""

from __future__ import annotations

import click

from wellkept.api.cli import options, output
from wellkept.core.errors import UsageError
from wellkept.core.graph import NOTED_KINDS, EdgeKind
from wellkept.core.text import counted


@click.command()
@click.argument(
    "kind", required=False, type=click.Choice(sorted(kind.value for kind in NOTED_KINDS))
)
@click.argument("name", required=False)
@click.option("--text", default="", help="Text of the note.")
@click.option(
    "--delete",
    "deleted",
    metavar="ID",
    help="Delete a note by id, or all noted links of a file or symbol.",
)
@click.option("--dry-run", is_flag=True, help="With --delete: show the changes only.")
@options.project_option
@options.json_option
def note(
    *,
    kind: str | None,
    name: str | None,
    text: str,
    deleted: str | None,
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Add a pattern, data flow, invariant or decision to the graph, or delete one.

    Notes survive every build. With --delete the JSON fields are name, dropped and dry_run.
    """
    if deleted is not None and kind is None:
        _delete(deleted, dry_run=dry_run, project=project, as_json=as_json)
        return
    if deleted is not None or dry_run or kind is None or name is None:
        raise UsageError("Pass KIND and NAME, or --delete ID.", hint="Not both.")
    with options.open_wellkept(project) as wk:
        made = wk.graph.note(kind, name, text=text)
    if as_json:
        output.print_json(made)
        return
    click.echo(f"Added {output.one_line(made.id)}")


@click.command()
@click.argument("source")
@click.argument("kind", type=click.Choice([kind.value for kind in EdgeKind]))
@click.argument("target")
@click.option("--confidence", type=click.FloatRange(0, 1, min_open=True), default=1.0,
              show_default=True, help="Confidence.")  # fmt: skip
@options.project_option
@options.json_option
def link(
    *,
    source: str,
    kind: str,
    target: str,
    confidence: float,
    project: str | None,
    as_json: bool,
) -> None:
    """Add an edge from SOURCE to TARGET: files, symbols, modules or notes.

    A change of TARGET then affects SOURCE; with flows_to, a change of SOURCE affects TARGET.
    """
    with options.open_wellkept(project) as wk:
        made = wk.graph.link(source, kind, target, confidence=confidence)
    if as_json:
        output.print_json(made)
        return
    click.echo(f"{output.one_line(made.source)} {made.kind.value} {output.one_line(made.target)}")


@click.command()
@options.project_option
@options.json_option
def notes(*, project: str | None, as_json: bool) -> None:
    """List notes and noted links."""
    with options.open_wellkept(project) as wk:
        nodes, edges = wk.graph.notes()
    if as_json:
        output.print_json({"notes": nodes, "links": edges})
        return
    if not nodes and not edges:
        output.note("No notes. See `wellkept graph note --help`.")
    for node in nodes:
        click.echo(f"{output.one_line(node.id)}  {output.one_line(node.signature)}".rstrip())
    for edge in edges:
        ends = (output.one_line(edge.source), edge.kind.value, output.one_line(edge.target))
        click.echo(f"{' '.join(ends)}  {edge.confidence:.2f}")


def _delete(name: str, *, dry_run: bool, project: str | None, as_json: bool) -> None:
    with options.open_wellkept(project) as wk:
        dropped = wk.graph.drop_note(name, dry_run=dry_run)
    if as_json:
        output.print_json({"name": name, "dropped": dropped, "dry_run": dry_run})
        return
    verb = "Would delete" if dry_run else "Deleted"
    click.echo(f"{verb} {counted(dropped, 'note or link', 'notes and links')}.")
