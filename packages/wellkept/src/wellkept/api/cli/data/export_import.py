"""`wellkept admin export` and `wellkept admin import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import exit_codes, options, output
from wellkept.api.cli.names import FILE
from wellkept.core.codec import Json
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.settings.paths import expanded
from wellkept.core.text import counted
from wellkept.memory.file_presence import path_exists

if TYPE_CHECKING:
    from wellkept.memory.arguments import FilterArgs
    from wellkept.memory.exchange.jsonl import ImportReport
    from wellkept.memory.exchange.markdown_import import MarkdownReport

format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "markdown"]),
    help="jsonl (one file) or markdown (a folder). Default: from the target.",
)


# What a repository says about itself is no person's word, whoever asks to read it.
_OF_REPOSITORY = frozenset({"git", "instructions"})


@click.command()
@click.argument("target", metavar="FILE|FOLDER|-", type=FILE)
@format_option
@click.option("--overwrite", is_flag=True, help="Replace an earlier export.")
@options.filter_options
@options.project_option
@options.json_option
def export(
    *,
    target: str,
    form: str | None,
    overwrite: bool,
    filters: FilterArgs,
    project: str | None,
    as_json: bool,
) -> None:
    """Export memories to JSONL or Markdown.

    The same memories always produce the same bytes, so exports can be compared in git. Closed
    memories are included unless --validity is given. A single - writes to standard output.
    """
    if "validity" not in filters:
        filters["validity"] = "any"
        filters.setdefault("archived", None)
    kind = form or ("jsonl" if target == "-" or Path(target).suffix else "markdown")
    if target == "-" and (kind == "markdown" or as_json):
        raise UsageError(
            "Standard output takes JSONL only, without --json.", hint="Pass a file name."
        )
    with options.open_wellkept(project, reads=True) as wk:
        if target == "-":
            wk.export(output.exact_stdout(), **filters)
            return
        with output.progress_bar("Writing") as progress:
            write = wk.export if kind == "jsonl" else wk.export_markdown
            count = write(target, overwrite=overwrite, progress=progress, **filters)
    if as_json:
        output.print_json({"target": target, "format": kind, "count": count})
    else:
        click.echo(f"{counted(count, 'memory', 'memories')} in {output.safe(target)}")


@click.command("import")
@click.argument("source", metavar="SOURCE|FILE|FOLDER|-", type=FILE)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option(
    "--since", metavar="WHEN", help="Only import newer data (SOURCE only): 2026-03-01, 30d."
)
@click.option(
    "--all-projects", is_flag=True, help="Also import sessions of other projects (SOURCE only)."
)
@click.option(
    "--no-vectors", is_flag=True, help="Do not compute vectors; run `reindex` later (SOURCE only)."
)
@format_option
@click.option("--here", is_flag=True, help="Import everything into this project (JSONL only).")
@click.option("--strict", is_flag=True, help="Import nothing if any line is invalid.")
@click.option(
    "--close-removed", is_flag=True, help="Close memories whose Markdown file was removed."
)
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
    """Import transcripts, git history, other tools' data or an export.

    SOURCE is claude-code, codex, gemini or opencode (transcripts), git (commits), instructions
    (CLAUDE.md, AGENTS.md and similar), client-notes (agents' memory files and plans), claude-mem,
    mem0, basic-memory or mcp-memory-service. Files are found automatically unless PATH is given.
    Only transcripts of this project are imported unless --all-projects or PATH is given.

    Any other name is a file or folder of `wellkept admin export`; write ./git for a file of that
    name. A single - reads JSONL from standard input. Exits with 1 when part of the input was
    rejected, and with 2 when --strict rejected all of it.

    Only the store is changed. A repeated or resumed import adds only new data.
    """
    from wellkept.api.cli.data.import_sources import NAMES, ImportRequest, import_from
    from wellkept.core.team.people import asking

    if source not in _OF_REPOSITORY:
        asking().require_person("Importing memories and transcripts")
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
        with options.open_wellkept(project) as wk:
            import_from(wk, source, request)
        return exit_codes.OK
    if paths:
        raise UsageError(f"Unknown source {source!r}.", hint=f"Sources: {', '.join(NAMES)}.")
    if source != "-" and not path_exists(expanded(source)):
        raise NotFoundError(
            f"{source!r} is neither a file nor a known source.",
            hint=f"Sources: {', '.join(NAMES)}.",
        )
    kind = form or ("markdown" if source != "-" and Path(source).is_dir() else "jsonl")
    report: ImportReport | MarkdownReport
    with options.open_wellkept(project) as wk, output.progress_bar("Reading") as progress:
        if kind == "markdown":
            report = wk.import_markdown(
                source, close_removed=close_removed, dry_run=dry_run, progress=progress
            )
        else:
            stream = sys.stdin if source == "-" else source
            report = wk.import_jsonl(
                stream, here=here, strict=strict, dry_run=dry_run, progress=progress
            )
    if as_json:
        output.print_json({"dry_run": dry_run, "report": report})
    else:
        _print(report, dry_run=dry_run)
    return _exit_code(report, all_or_nothing=strict and kind == "jsonl")


def _exit_code(report: ImportReport | MarkdownReport, *, all_or_nothing: bool) -> int:
    """Partly rejected input is not a failure, but scripts must be able to detect it."""
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
                output.note(f"{name}: {_item_text(item)}")
    if not report.applied and not dry_run:
        output.note("Nothing was written.")


def _item_text(item: Json) -> str:
    if isinstance(item, dict):
        return ", ".join(f"{name} {value}" for name, value in item.items())
    return str(item)
