"""`wellkept admin import SOURCE`: transcripts, git history and data of other memory tools."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

import wellkept
from wellkept.api.cli import output
from wellkept.clients.registry import SOURCES as TRANSCRIPT_SOURCES
from wellkept.core.errors import NotFoundError, WellkeptError
from wellkept.core.records import record
from wellkept.core.text import counted
from wellkept.observe.imports.sources import SOURCES as NOTE_SOURCES

if TYPE_CHECKING:
    from wellkept.observe.imports.notes import NotesReport
    from wellkept.observe.imports.transcripts import TranscriptReport

NAMES = (*TRANSCRIPT_SOURCES, *NOTE_SOURCES)
_SHOWN = 20


@record(kw_only=True)
class ImportRequest:
    """Options of the command line."""

    paths: tuple[Path, ...]
    since: str | None
    all_projects: bool
    named_project: bool
    dry_run: bool
    vectors: bool
    as_json: bool


def import_from(wk: wellkept.Wellkept, source: str, request: ImportRequest) -> None:
    """Import a source and print the report."""
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
    from wellkept.clients.hook_spec import ClientFolders
    from wellkept.clients.registry import transcripts
    from wellkept.observe.imports.transcripts import TranscriptFilter, import_transcripts

    for path in request.paths:
        if not path.exists():
            raise NotFoundError(
                f"{path} does not exist.", hint="Pass a transcript or a folder of transcripts."
            )
    folders = ClientFolders(home=Path.home(), project=wk.root, environment=os.environ)
    every = request.all_projects or (bool(request.paths) and not request.named_project)
    transcript_filter = TranscriptFilter(
        project=None if every else wk.project, since=wk.moment(request.since)
    )
    with output.progress_bar("Reading") as progress:
        return import_transcripts(
            wk.services,
            source,
            transcripts(source, folders=folders, paths=request.paths),
            wanted=transcript_filter,
            dry_run=request.dry_run,
            progress=progress,
        )


def _notes(wk: wellkept.Wellkept, source: str, request: ImportRequest) -> NotesReport:
    from wellkept.observe.imports.sources import SourceRequest, import_source

    source_request = SourceRequest(
        services=wk.services,
        project_name=wk.project_name,
        home=Path.home(),
        environment=os.environ,
        paths=request.paths,
        everything=request.all_projects,
    )
    with output.progress_bar("Reading") as progress:
        return import_source(
            source,
            source_request,
            since=wk.moment(request.since),
            dry_run=request.dry_run,
            progress=progress,
        )


def _make_vectors(wk: wellkept.Wellkept) -> None:
    """Compute vectors. A failure is only noted: full-text search works without them."""
    try:
        with output.progress_bar("Vectors") as progress:
            wk.reindex(progress=progress)
    except WellkeptError as error:
        output.note(f"No vectors yet: {error.message} Run `wellkept admin reindex` later.")


def _print_transcripts(report: TranscriptReport, *, home: str) -> None:
    skipped = (
        ("already imported", report.unchanged),
        ("already captured by hooks", report.caught),
        ("of other projects; add --all-projects to import them", report.other_projects),
        ("older than --since", report.too_old),
    )
    click.echo(_summary(report) if report.sessions else _empty_summary(report, skipped))
    for reason, count in skipped:
        if count:
            output.note(f"Skipped: {counted(count, 'session')} {reason}.")
    for project, count in report.projects.items():
        if project != home:
            output.note(f"{counted(count, 'session')} belong to project {project}.")
    if report.sessions and not report.dry_run:
        output.note("List them with `wellkept session list`, search them with `wellkept recall`.")
    _print_skipped_input(report)
    for unread in report.unread[:_SHOWN]:
        output.note(f"not read: {unread.path}: {unread.reason}")
    _print_more("not read", len(report.unread))
    for problem in report.problems[:_SHOWN]:
        output.note(problem)
    _print_more("problems", len(report.problems))


def _summary(report: TranscriptReport) -> str:
    would = "Would import" if report.dry_run else "Imported"
    more = f" and {report.continued} continued" if report.continued else ""
    return (
        f"{would} {report.new} new{more} {'session' if report.sessions == 1 else 'sessions'}"
        f" from {report.bytes_read / 1e6:.1f} MB: {counted(report.prompts, 'prompt')},"
        f" {counted(report.observations, 'observation')};"
        f" {counted(report.redacted, 'secret')} redacted."
    )


def _empty_summary(report: TranscriptReport, skipped: Sequence[tuple[str, int]]) -> str:
    if any(count for _, count in skipped) or report.unread:
        return "Nothing new."
    return f"No transcripts of {report.source} found. Pass a file or folder."


def _print_skipped_input(report: TranscriptReport) -> None:
    reading = report.reading
    skipped = (
        ("damaged lines", reading.damaged),
        ("lines above the limit", reading.too_long),
        ("bytes of an incomplete line", reading.torn_bytes),
    )
    for what, count in skipped:
        if count:
            output.note(f"{count} {what} were skipped.")


def _print_notes(report: NotesReport, *, home: str) -> None:
    would = "Would store" if report.dry_run else "Stored"
    click.echo(
        f"{would} {report.new} new and {report.changed} changed of {report.found} found;"
        f" {report.unchanged} unchanged; {counted(report.redacted, 'secret')} redacted."
    )
    if report.too_old:
        output.note(f"Skipped: {report.too_old} older than --since.")
    if report.other_projects:
        output.note(
            f"Skipped: {report.other_projects} of other projects; import them with --all-projects."
        )
    for project, count in report.projects.items():
        if project != home:
            output.note(f"{count} belong to project {project}.")
    for skipped in report.skipped[:_SHOWN]:
        output.note(f"skipped: {skipped.path}: {skipped.reason}")
    _print_more("skipped", len(report.skipped))


def _print_more(what: str, count: int) -> None:
    if count > _SHOWN:
        output.note(f"{what}: {count - _SHOWN} more; list all with --json.")
