"""`holdfast export` and `holdfast import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from holdfast.app.asking import Which
from holdfast.cli import options, output
from holdfast.core.codec import Json
from holdfast.core.errors import UsageError

if TYPE_CHECKING:
    from holdfast.memory.portable.jsonl import ImportReport
    from holdfast.memory.portable.markdown_import import MarkdownReport

format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "markdown"]),
    help="jsonl is one exact file, markdown a folder for people; left out, the name tells.",
)


@click.command()
@click.argument("target", metavar="FILE|FOLDER|-")
@format_option
@click.option("--overwrite", is_flag=True, help="Replace an earlier export.")
@options.which_options
@options.project_option
@options.json_option
@click.pass_context
def export(
    ctx: click.Context,
    *,
    target: str,
    form: str | None,
    overwrite: bool,
    which: Which,
    project: str | None,
    as_json: bool,
) -> None:
    """Write memories to a file for git or for people.

    The same memories always give the same bytes, so an export can be kept in git and compared.
    History is included unless --validity says otherwise. A single - writes to standard output.
    """
    if ctx.get_parameter_source("validity") is ParameterSource.DEFAULT:
        which["validity"] = "any"
        which["archived"] = None
    kind = form or ("jsonl" if target == "-" or Path(target).suffix else "markdown")
    if target == "-" and (kind == "markdown" or as_json):
        raise UsageError("Only JSONL goes to standard output, and by itself.", hint="Name a file.")
    with options.opened(project) as hf:
        if target == "-":
            hf.export(output.exact_stdout(), **which)
            return
        with output.progress_bar("Writing") as progress:
            write = hf.export if kind == "jsonl" else hf.export_markdown
            count = write(target, overwrite=overwrite, progress=progress, **which)
    if as_json:
        output.print_json({"target": target, "format": kind, "count": count})
    else:
        click.echo(f"{count} memories in {output.safe(target)}")


@click.command("import")
@click.argument("source", metavar="FILE|FOLDER|-")
@format_option
@click.option("--here", is_flag=True, help="Put all of a JSONL file into this project.")
@click.option("--strict", is_flag=True, help="All or nothing: one bad line and nothing is written.")
@click.option("--close-removed", is_flag=True, help="Close memories whose Markdown file is gone.")
@options.dry_run_option
@options.project_option
@options.json_option
def import_(
    *,
    source: str,
    form: str | None,
    here: bool,
    strict: bool,
    close_removed: bool,
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Take in an exported file.

    Tells what was new, merged and skipped. Exporting and importing again changes nothing. A
    single - reads JSONL from standard input.
    """
    kind = form or ("markdown" if source != "-" and Path(source).is_dir() else "jsonl")
    report: ImportReport | MarkdownReport
    with options.opened(project) as hf, output.progress_bar("Reading") as progress:
        if kind == "markdown":
            report = hf.import_markdown(
                source, close_removed=close_removed, dry_run=dry_run, progress=progress
            )
        else:
            given = sys.stdin if source == "-" else source
            report = hf.import_jsonl(
                given, here=here, strict=strict, dry_run=dry_run, progress=progress
            )
    if as_json:
        output.print_json({"dry_run": dry_run, "report": report})
    else:
        _print(report, dry_run=dry_run)


def _print(report: ImportReport | MarkdownReport, *, dry_run: bool) -> None:
    shown = output.plain(report)
    assert isinstance(shown, dict)
    counts = {name: value for name, value in shown.items() if isinstance(value, int)}
    would = "Would be " if dry_run else ""
    parts = (f"{name} {count}" for name, count in counts.items() if not isinstance(count, bool))
    click.echo(would + ", ".join(parts))
    for name, value in shown.items():
        if isinstance(value, list):
            for item in value:
                output.note(f"{name}: {_one(item)}")


def _one(item: Json) -> str:
    if isinstance(item, dict):
        return ", ".join(f"{name} {value}" for name, value in item.items())
    return str(item)
