"""`wellkept import SOURCE`: what clients, git and other memory tools already know."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

import wellkept
from wellkept.app.imports.sources import SOURCES as NOTE_SOURCES
from wellkept.cli import output
from wellkept.clients.transcripts.registry import SOURCES as TRANSCRIPT_SOURCES
from wellkept.core.errors import NotFoundError, WellkeptError
from wellkept.core.records import record
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.app.imports.notes import NotesReport
    from wellkept.app.imports.transcripts import TranscriptReport

NAMES = (*TRANSCRIPT_SOURCES, *NOTE_SOURCES)
_SHOWN = 20


@record(kw_only=True)
class ImportRequest:
    """What was asked for on the command line."""

    paths: tuple[Path, ...]
    since: str | None
    all_projects: bool
    named_project: bool
    dry_run: bool
    vectors: bool
    as_json: bool


def import_from(wk: wellkept.Wellkept, source: str, request: ImportRequest) -> None:
    """Take in a source and tell what came of it."""
    if source in TRANSCRIPT_SOURCES:
        report = _transcripts(wk, source, request)
    else:
        report = _notes(wk, source, request)
    if not request.dry_run and request.vectors:
        _make_vectors(wk)
    if request.as_json:
        output.print_json(report)
    elif source in TRANSCRIPT_SOURCES:
        _print_transcripts(report, home=wk.project)  # type: ignore[arg-type]
    else:
        _print_notes(report, home=wk.project)  # type: ignore[arg-type]


def _transcripts(wk: wellkept.Wellkept, source: str, request: ImportRequest) -> TranscriptReport:
    from wellkept.app.imports.transcripts import TranscriptFilter, import_transcripts
    from wellkept.clients.hook_spec import ClientFolders
    from wellkept.clients.transcripts.registry import transcripts

    for path in request.paths:
        if not path.exists():
            raise NotFoundError(
                f"There is no {path}.", hint="Name a transcript or a folder of them."
            )
    folders = ClientFolders(home=Path.home(), project=wk.root, environment=os.environ)
    every = request.all_projects or (bool(request.paths) and not request.named_project)
    wanted = TranscriptFilter(project=None if every else wk.project, since=wk.moment(request.since))
    with output.progress_bar("Reading") as progress:
        return import_transcripts(
            wk.services,
            source,
            transcripts(source, folders=folders, paths=request.paths),
            wanted=wanted,
            dry_run=request.dry_run,
            progress=progress,
        )


def _notes(wk: wellkept.Wellkept, source: str, request: ImportRequest) -> NotesReport:
    from wellkept.app.imports.sources import SourceRequest, import_source

    asked = SourceRequest(
        services=wk.services,
        home=Path.home(),
        environment=os.environ,
        paths=request.paths,
        everything=request.all_projects,
    )
    with output.progress_bar("Reading") as progress:
        return import_source(
            source,
            asked,
            since=wk.moment(request.since),
            dry_run=request.dry_run,
            progress=progress,
        )


def _make_vectors(wk: wellkept.Wellkept) -> None:
    """Words find it already; a model that is missing or broken off costs nothing that was read."""
    try:
        with output.progress_bar("Vectors") as progress:
            wk.reindex(progress=progress)
    except WellkeptError as error:
        output.note(f"No vectors were made: {error.message} `wellkept reindex` makes them.")


def _print_transcripts(report: TranscriptReport, *, home: str) -> None:
    left = (
        ("already in memory", report.unchanged),
        ("that hooks have caught", report.caught),
        ("of other projects; --all-projects takes them in", report.other_projects),
        ("older than asked", report.too_old),
    )
    click.echo(_what_came(report) if report.sessions else _nothing_came(report, left))
    for why, count in left:
        if count:
            output.note(f"Left out: {counted(count, 'session')} {why}.")
    for project, count in report.projects.items():
        if project != home:
            output.note(f"Of these {counted(count, 'session')} in the project {project}.")
    if report.sessions and not report.dry_run:
        output.note("`wellkept sessions` lists them, `wellkept recall` searches them.")
    _print_reading(report)
    for unread in report.unread[:_SHOWN]:
        output.note(f"not read: {unread.path}: {unread.reason}")
    _print_more("not read", len(report.unread))
    for problem in report.problems[:_SHOWN]:
        output.note(problem)
    _print_more("problems", len(report.problems))


def _what_came(report: TranscriptReport) -> str:
    would = "Would take" if report.dry_run else "Took"
    more = f" and {report.continued} continued" if report.continued else ""
    return (
        f"{would} in {report.new} new{more} {'session' if report.sessions == 1 else 'sessions'}"
        f" from {report.bytes_read / 1e6:.1f} MB: {counted(report.prompts, 'prompt')},"
        f" {counted(report.observations, 'observation')};"
        f" {counted(report.redacted, 'secret')} redacted."
    )


def _nothing_came(report: TranscriptReport, left: Sequence[tuple[str, int]]) -> str:
    if any(count for _, count in left) or report.unread:
        return "Nothing new."
    return f"No transcripts of {report.source} were found. Name a file or a folder that holds some."


def _print_reading(report: TranscriptReport) -> None:
    reading = report.reading
    told = (
        ("damaged lines", reading.damaged),
        ("lines above the limit", reading.too_long),
        ("bytes of a line without an end", reading.torn_bytes),
    )
    for what, count in told:
        if count:
            output.note(f"{count} {what} were skipped.")


def _print_notes(report: NotesReport, *, home: str) -> None:
    would = "Would keep" if report.dry_run else "Kept"
    click.echo(
        f"{would} {report.new} new and {report.changed} changed of {report.found} found;"
        f" in already: {report.unchanged}; {counted(report.redacted, 'secret')} redacted."
    )
    if report.too_old:
        output.note(f"{report.too_old} are older.")
    if report.other_projects:
        output.note(f"{report.other_projects} are of other projects; --all-projects takes them in.")
    for project, count in report.projects.items():
        if project != home:
            output.note(f"Of these {count} in the project {project}.")
    for skipped in report.skipped[:_SHOWN]:
        output.note(f"left out: {skipped.path}: {skipped.reason}")
    _print_more("left out", len(report.skipped))


def _print_more(what: str, count: int) -> None:
    if count > _SHOWN:
        output.note(f"{what}: {count - _SHOWN} more; --json lists them all.")
