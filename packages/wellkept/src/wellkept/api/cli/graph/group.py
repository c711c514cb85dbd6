"""`wellkept graph`: build and query the code graph."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.graph.modules import map_, modules, summarise
from wellkept.api.cli.graph.notes import link, note, notes
from wellkept.api.cli.graph.search import related, search
from wellkept.api.cli.groups import Group
from wellkept.core.graph import BuildStage
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.core.graph import (
        BuildProgress,
        BuildReport,
        GraphStatus,
        ReachedNode,
        SourceFile,
        TraceStep,
    )

_depth_option = click.option(
    "--depth", type=click.IntRange(1, 3), default=3, show_default=True, help="Maximum depth."
)
_limit_option = click.option(
    "-n", "--limit", type=click.IntRange(1, 10_000), default=40, show_default=True,
    help="Maximum number of results."
)  # fmt: skip
_MAX_LISTED = 10
_BAR_WIDTH = 24


@click.group(cls=Group)
def graph() -> None:
    """Build and query the code graph."""


@graph.command()
@click.argument("files", nargs=-1)
@click.option("--again", is_flag=True, help="Also parse unchanged files.")
@click.option("--workers", type=click.IntRange(1, 64), help="Number of parser processes.")
@options.project_option
@options.json_option
def build(
    *, files: tuple[str, ...], again: bool, workers: int | None, project: str | None, as_json: bool
) -> None:
    """Update the graph for all files of this folder, or for FILES.

    Only changed files are parsed. An interrupted build continues with the next run.
    """
    with options.open_wellkept(project) as wk, build_progress() as on_progress:
        report = (
            wk.graph.update(files)
            if files
            else wk.graph.build(again=again, progress=on_progress, workers=workers)
        )
    if as_json:
        output.print_json(report)
        return
    print_report(report)


@graph.command()
@click.option("--check", is_flag=True, help="Check for changed files first.")
@options.project_option
@options.json_option
def status(*, check: bool, project: str | None, as_json: bool) -> None:
    """Show the size of the graph, and skipped, failed and stale files."""
    with options.open_wellkept(project) as wk:
        if check:
            wk.graph.mark_changed()
        found = wk.graph.status()
    if as_json:
        output.print_json(found)
        return
    _print_status(found)


@graph.command()
@click.argument("name")
@_depth_option
@_limit_option
@options.project_option
@options.json_option
def impact(*, name: str, depth: int, limit: int, project: str | None, as_json: bool) -> None:
    """Show what a change of NAME may affect. NAME is a file, symbol, folder or module."""
    with options.open_wellkept(project) as wk:
        found = wk.graph.impact(name, depth=depth, limit=limit)
    if as_json:
        output.print_json(found)
        return
    files = counted(len(found.files), "file")
    click.echo(f"{output.one_line(found.target.id)}  score {found.score:.2f},"
               f" {found.reached_count} reached in {files}")  # fmt: skip
    _print_reached([*found.direct, *found.transitive], of=found.reached_count)
    _print_list("Files", [path for path in found.files if path not in set(found.tests)])
    _print_list("Tests", found.tests)
    _print_list("Memories", [f"{m.id} {m.type}: {m.text}" for m in found.memories])
    _print_list("E2E", [f"{m.id}: {m.text}" for m in found.e2e_observations])
    _print_list("Unresolved calls that may be of it", [
        f"{call.path}:{call.line} {call.callee}" for call in found.unresolved
    ])  # fmt: skip
    _warn_stale(found.stale_files)


@graph.command()
@click.argument("name")
@click.option("--reverse", is_flag=True, help="Show what depends on NAME instead.")
@_depth_option
@_limit_option
@options.project_option
@options.json_option
def deps(
    *, name: str, reverse: bool, depth: int, limit: int, project: str | None, as_json: bool
) -> None:
    """Show what NAME depends on."""
    with options.open_wellkept(project) as wk:
        query = wk.graph.dependents if reverse else wk.graph.dependencies
        found = query(name, depth=depth, limit=limit)
    if as_json:
        output.print_json(found)
        return
    click.echo(f"{output.one_line(found.target.id)}  {found.reached_count} reached"
               f" in {counted(len(found.files), 'file')}")  # fmt: skip
    _print_reached([*found.direct, *found.transitive], of=found.reached_count)
    _warn_stale(found.stale_files)


@graph.command()
@click.argument("name")
@click.option("--to", metavar="NAME", help="Only paths to this symbol or file.")
@click.option("--value", default="", help="Only this parameter, variable or field of NAME.")
@click.option("--depth", type=click.IntRange(1, 6), default=3, show_default=True,
              help="Maximum depth.")  # fmt: skip
@_limit_option
@options.project_option
@options.json_option
def trace(
    *,
    name: str,
    to: str | None,
    value: str,
    depth: int,
    limit: int,
    project: str | None,
    as_json: bool,
) -> None:
    """Trace the values of NAME through arguments, results, fields and noted flows.

    Shows call paths where no values can be traced. The confidence of a path is the product of its
    steps.
    """
    with options.open_wellkept(project) as wk:
        found = wk.graph.trace(name, to=to, value=value, depth=depth, limit=limit)
    if as_json:
        output.print_json(found)
        return
    if not found.paths:
        output.note("No path found.")
    for path in found.paths:
        click.echo(f"{prod(s.confidence for s in path):.2f} {output.one_line(found.start.id)}")
        for step in path:
            click.echo(f"     {output.one_line(_step_line(step))}")
    if not found.is_whole:
        output.note("Incomplete: the search limit was reached. Narrow it with --to or --value.")
    _warn_stale(found.stale_files)


@graph.command()
@click.argument("name")
@options.project_option
@options.json_option
def coverage(*, name: str, project: str | None, as_json: bool) -> None:
    """Show the tests that reach NAME, and the functions in it that no test reaches."""
    with options.open_wellkept(project) as wk:
        found = wk.graph.coverage(name)
    if as_json:
        output.print_json(found)
        return
    covered = found.symbol_count - len(found.uncovered)
    click.echo(f"{output.one_line(found.target.id)}  {covered} of {found.symbol_count} functions"
               " are reached by tests")  # fmt: skip
    _print_list("Tests", found.test_files)
    _print_list("Not reached", found.uncovered)


@graph.command()
@click.argument("name")
@options.project_option
@options.json_option
def show(*, name: str, project: str | None, as_json: bool) -> None:
    """Show a file or symbol with its symbols and edges."""
    with options.open_wellkept(project) as wk:
        node = wk.graph.node(name)
        outgoing, incoming = wk.graph.edges(node.id)
        inside = wk.graph.symbols(node.id) if node.kind.value == "file" else []
    if as_json:
        output.print_json({"node": node, "symbols": inside, "out": outgoing, "in": incoming})
        return
    click.echo(f"{node.kind.value} {output.one_line(node.id)} {output.one_line(node.signature)}")
    for symbol in inside:
        click.echo(f"  {symbol.line:>5}  {symbol.kind.value:<9} {output.one_line(symbol.qualname)}")
    for mark, edges in (("->", outgoing), ("<-", incoming)):
        for edge in edges:
            other = edge.target if mark == "->" else edge.source
            click.echo(f"  {mark} {edge.kind.value:<10} {output.one_line(other)}")


for command in (search, related, modules, map_, summarise, note, link, notes):
    graph.add_command(command)


# -- Printing -------------------------------------------------------------------------------------


@contextmanager
def build_progress() -> Generator[Callable[[BuildProgress], None] | None, None, None]:
    """A callback that shows build progress on a terminal; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return

    def show_progress(at: BuildProgress) -> None:
        click.echo(f"\r\x1b[K{_progress_line(at)[: output.width() - 1]}", nl=False, err=True)

    try:
        yield show_progress
    finally:
        click.echo("\r\x1b[K", nl=False, err=True)


def _progress_line(at: BuildProgress) -> str:
    if at.stage is BuildStage.WAIT:
        return "Waiting for another build of this folder"
    verb = "Reading" if at.stage is BuildStage.PARSE else "Linking"
    filled = _BAR_WIDTH * at.done // max(at.total, 1)
    bar = f"[{'#' * filled}{'-' * (_BAR_WIDTH - filled)}]"
    return f"{verb} {bar} {at.done}/{at.total} files  {output.one_line(at.module)}"


def _step_line(step: TraceStep) -> str:
    where = f", line {step.line}" if step.line else ""
    return f"-> {step.node.id}  ({step.how or step.kind.value}{where})"


def print_report(report: BuildReport) -> None:
    """Print the report of a build."""
    unnamed = f", {len(report.unnameable)} with undecodable names" if report.unnameable else ""
    gone = f", {report.removed} removed" if report.removed else ""
    click.echo(
        f"{counted(report.seen, 'file')}: {report.read} parsed, {report.unchanged} unchanged,"
        f" {report.skipped} skipped{unnamed}. {report.relinked} relinked{gone};"
        f" {report.seconds:.1f} s"
    )
    if not report.seen:
        output.note("No supported source files in this folder.")
    _print_problems("Incomplete", report.failed)
    _print_list("Undecodable file names", report.unnameable)


def _print_status(found: GraphStatus) -> None:
    if not found.files:
        output.note(
            "No code graph for this folder. Run `wellkept graph build`."
            if found.built_at is None
            else "No supported source files in this folder."
        )
        return
    built = f"{found.built_at:%Y-%m-%d %H:%M}" if found.built_at else "never finished"
    click.echo(f"{counted(found.files, 'file')}, {counted(found.lines, 'line')}; built {built}")
    for title, counts in (
        ("Languages", found.languages),
        ("Nodes", found.nodes),
        ("Edges", found.edges),
    ):
        click.echo(f"{title}: {', '.join(f'{name} {n}' for name, n in counts.items())}")
    if found.unresolved:
        output.note(f"{found.unresolved} files are not linked yet. Run `wellkept graph build`.")
    _print_problems("Incomplete", found.failed)
    _print_problems("Skipped", found.skipped)
    _print_list("Stale", found.stale)


def _print_problems(title: str, files: Sequence[SourceFile]) -> None:
    _print_list(title, [f"{file.path}: {file.reason}" for file in files])


def _print_list(title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    click.echo(f"{title} ({len(lines)}):")
    for line in lines[:_MAX_LISTED]:
        click.echo(f"  {output.one_line(line)}")
    if len(lines) > _MAX_LISTED:
        click.echo(f"  and {len(lines) - _MAX_LISTED} more; list all with --json")


def _print_reached(reached: Sequence[ReachedNode], *, of: int) -> None:
    output.print_table(
        ("depth", "score", "kind", "node", "via"),
        [(str(r.depth), f"{r.score:.2f}", r.kind.value, r.node.id, r.through) for r in reached],
    )
    if len(reached) < of:
        output.note(f"{of - len(reached)} more not listed; raise --limit.")


def _warn_stale(files: Sequence[str]) -> None:
    if files:
        more = f" and {len(files) - 5} more" if len(files) > 5 else ""
        named = ", ".join(output.one_line(path) for path in files[:5])
        output.note(f"Changed since the last build: {named}{more}. Run `wellkept graph build`.")
