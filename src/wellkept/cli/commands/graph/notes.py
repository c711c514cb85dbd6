"""`wellkept graph note`, `link`, `notes` and `unnote`: what no parser can read from source."""

from __future__ import annotations

import click

from wellkept.cli import options, output
from wellkept.core.graph import NOTED_KINDS, EdgeKind


@click.command()
@click.argument("kind", type=click.Choice(sorted(kind.value for kind in NOTED_KINDS)))
@click.argument("name")
@click.option("--text", default="", help="What it says.")
@options.project_option
@options.json_option
def note(*, kind: str, name: str, text: str, project: str | None, as_json: bool) -> None:
    """Add a pattern, data flow, invariant or decision to the graph. Notes survive every build."""
    with options.opened(project) as wk:
        made = wk.graph.note(kind, name, text=text)
    if as_json:
        output.print_json(made)
        return
    click.echo(f"Noted {output.one_line(made.id)}")


@click.command()
@click.argument("source")
@click.argument("kind", type=click.Choice([kind.value for kind in EdgeKind]))
@click.argument("target")
@click.option("--confidence", type=click.FloatRange(0, 1, min_open=True), default=1.0,
              show_default=True, help="How sure it is.")  # fmt: skip
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
    """Say that SOURCE stands to TARGET in a way: both are files, symbols, modules or notes.

    The impact of TARGET then reaches SOURCE; with flows_to the other way round.
    """
    with options.opened(project) as wk:
        made = wk.graph.link(source, kind, target, confidence=confidence)
    if as_json:
        output.print_json(made)
        return
    click.echo(f"{output.one_line(made.source)} {made.kind.value} {output.one_line(made.target)}")


@click.command()
@options.project_option
@options.json_option
def notes(*, project: str | None, as_json: bool) -> None:
    """List what was noted."""
    with options.opened(project) as wk:
        nodes, edges = wk.graph.notes()
    if as_json:
        output.print_json({"notes": nodes, "links": edges})
        return
    if not nodes and not edges:
        output.note("Nothing was noted. See: wellkept graph note --help")
    for node in nodes:
        click.echo(f"{output.one_line(node.id)}  {output.one_line(node.signature)}".rstrip())
    for edge in edges:
        ends = (output.one_line(edge.source), edge.kind.value, output.one_line(edge.target))
        click.echo(f"{' '.join(ends)}  {edge.confidence:.2f}")


@click.command()
@click.argument("name")
@options.dry_run_option
@options.project_option
@options.json_option
def unnote(*, name: str, dry_run: bool, project: str | None, as_json: bool) -> None:
    """Take back a note by its id, or all links that were noted at a file or symbol."""
    with options.opened(project) as wk:
        dropped = wk.graph.drop_note(name, dry_run=dry_run)
    if as_json:
        output.print_json({"name": name, "dropped": dropped, "dry_run": dry_run})
        return
    verb = "Would take back" if dry_run else "Took back"
    click.echo(f"{verb} {dropped} of what was noted.")
