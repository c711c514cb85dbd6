"""`wellkept export` and `wellkept import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from wellkept.app.projects.resolver import path_exists
from wellkept.app.settings.paths import expanded
from wellkept.cli import exit_codes, options, output
from wellkept.core.codec import Json
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.app.wiring.keyword_types import FilterArgs
    from wellkept.memory.exchange.jsonl import ImportReport
    from wellkept.memory.exchange.markdown_import import MarkdownReport

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
    which: FilterArgs,
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
    with options.opened(project) as wk:
        if target == "-":
            wk.export(output.exact_stdout(), **which)
            return
        with output.progress_bar("Writing") as progress:
            write = wk.export if kind == "jsonl" else wk.export_markdown
            count = write(target, overwrite=overwrite, progress=progress, **which)
    if as_json:
        output.print_json({"target": target, "format": kind, "count": count})
    else:
        click.echo(f"{counted(count, 'memory', 'memories')} in {output.safe(target)}")


@click.command("import")
@click.argument("source", metavar="SOURCE|FILE|FOLDER|-")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option(
    "--since", metavar="WHEN", help="Of a source, only what is not older: 2026-03-01, 30d."
)
@click.option("--all-projects", is_flag=True, help="Of a source, also what belongs to others.")
@click.option("--no-vectors", is_flag=True, help="Of a source, leave vectors to `reindex`.")
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
    paths: tuple[Path, ...],
    since: str | None,
    all_projects: bool,
    no_vectors: bool,
    form: str | None,
    here: bool,
    strict: bool,
    close_removed: bool,
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> int:
    """Take in transcripts, git, other tools' data, or an exported file.

    SOURCE is claude-code, codex or gemini (their transcripts), git (commits), instructions
    (CLAUDE.md, AGENTS.md and the like), claude-mem, mem0, basic-memory or mcp-memory-service (their
    data). Its files are found by themselves unless a PATH is named. Transcripts of this project
    are taken unless --all-projects or a PATH says otherwise; each goes to its own project.

    Anything else is a file or a folder that `wellkept export` wrote; ./git is a file of that name.
    A single - reads JSONL from standard input. Exits with 1 when a part of the file or the folder
    was refused and the rest taken in, and with 2 when --strict refused all of it.

    Nothing but the memory is written. Doing it again, also after it was broken off, adds only what
    is new.
    """
    from wellkept.cli.commands.data.import_sources import NAMES, ImportRequest, import_from

    if source in NAMES:
        request = ImportRequest(
            paths=paths,
            since=since,
            all_projects=all_projects,
            named_project=project is not None,
            dry_run=dry_run,
            vectors=not no_vectors,
            as_json=as_json,
        )
        with options.opened(project) as wk:
            import_from(wk, source, request)
        return exit_codes.OK
    if paths:
        raise UsageError(f"{source!r} is no source.", hint=f"Known: {', '.join(NAMES)}.")
    if source != "-" and not path_exists(expanded(source)):
        raise NotFoundError(
            f"There is no file {source}, and no source of that name.",
            hint=f"Sources are: {', '.join(NAMES)}.",
        )
    kind = form or ("markdown" if source != "-" and Path(source).is_dir() else "jsonl")
    report: ImportReport | MarkdownReport
    with options.opened(project) as wk, output.progress_bar("Reading") as progress:
        if kind == "markdown":
            report = wk.import_markdown(
                source, close_removed=close_removed, dry_run=dry_run, progress=progress
            )
        else:
            given = sys.stdin if source == "-" else source
            report = wk.import_jsonl(
                given, here=here, strict=strict, dry_run=dry_run, progress=progress
            )
    if as_json:
        output.print_json({"dry_run": dry_run, "report": report})
    else:
        _print(report, dry_run=dry_run)
    return _code(report, all_or_nothing=strict and kind == "jsonl")


def _code(report: ImportReport | MarkdownReport, *, all_or_nothing: bool) -> int:
    """What was left out is no crash, but a script must be able to tell."""
    from wellkept.memory.exchange.markdown_import import MarkdownReport

    outdated = report.outdated if isinstance(report, MarkdownReport) else ()
    if not report.refused and not outdated:
        return exit_codes.OK
    return exit_codes.USAGE if all_or_nothing else exit_codes.NOTHING


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
    if not report.applied and not dry_run:
        output.note("Nothing was written.")


def _one(item: Json) -> str:
    if isinstance(item, dict):
        return ", ".join(f"{name} {value}" for name, value in item.items())
    return str(item)
