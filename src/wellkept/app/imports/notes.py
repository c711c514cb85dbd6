"""Taking in what is already written down: commits, instruction files, and other tools' memories.

Each statement is kept under a key that its place gives, so taken in twice equals once; one whose
words changed supersedes what it said before, and one that a person has forgotten since stays
forgotten. Read-only on every source. Vectors are made later, by a re-index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.app.imports.repository_docs import Skipped
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.records import field, record, replace
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.passages import Passage, fingerprint, keep_passages
from wellkept.memory.remember import RememberOutcome
from wellkept.memory.text.redaction import redact

if TYPE_CHECKING:
    from wellkept.app.wellkept import Wellkept
    from wellkept.core.types import Progress

# The same shelf as `init` uses: what it took in is not taken in again.
_SHELF = "intake"
_CHUNK = 200


@record
class ProjectNote:
    """A statement and the project that it belongs to; None when it is not asked for."""

    project: str | None
    passage: Passage


@record(frozen=False, kw_only=True)
class NotesReport:
    """What was found and what became of it."""

    source: str
    dry_run: bool = False
    found: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    too_old: int = 0
    other_projects: int = 0
    redacted: int = 0
    projects: dict[str, int] = field(default_factory=dict[str, int])
    skipped: list[Skipped] = field(default_factory=list[Skipped])


def import_notes(
    wk: Wellkept,
    source: str,
    notes: Iterable[ProjectNote | Skipped],
    *,
    since: datetime | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> NotesReport:
    """Keep statements, each in its own project."""
    report = NotesReport(source=source, dry_run=dry_run)
    engine = replace(wk.engine, embedder=lambda: None)
    by_project: dict[str, list[Passage]] = {}
    for note in notes:
        if isinstance(note, Skipped):
            report.skipped.append(note)
            continue
        report.found += 1
        at = note.passage.draft.valid_from
        if note.project is None:
            report.other_projects += 1
        elif since is not None and at is not None and at < since:
            report.too_old += 1
        else:
            by_project.setdefault(note.project, []).append(note.passage)
    total, done = sum(map(len, by_project.values())), 0
    for project, passages in by_project.items():
        for chunk in _chunks(passages):
            _keep(engine, report, project, chunk)
            done += len(chunk)
            if progress is not None:
                progress(done, total)
    return report


def _keep(engine: Engine, report: NotesReport, project: str, chunk: Sequence[Passage]) -> None:
    known: Json = engine.store.get_value(_SHELF, project)
    taken = dict(known) if isinstance(known, dict) else {}
    fresh = [p for p in chunk if taken.get(_key(p)) != fingerprint(p.draft.content)]
    report.unchanged += len(chunk) - len(fresh)
    kept = _kept(engine, report, project, fresh)
    for passage, outcome in kept:
        taken[_key(passage)] = fingerprint(passage.draft.content)
        _count(report, project, passage, outcome)
    if kept and not report.dry_run:
        engine.store.put_value(_SHELF, project, taken)


def _kept(
    engine: Engine, report: NotesReport, project: str, fresh: Sequence[Passage]
) -> list[tuple[Passage, RememberOutcome]]:
    """What became of each; one that cannot be kept is reported and does not keep others out."""
    if not fresh:
        return []
    try:
        outcomes = keep_passages(engine, fresh, project=project, dry_run=report.dry_run)
    except UsageError as error:
        if len(fresh) == 1:
            report.skipped.append(Skipped(fresh[0].ref, f"cannot be kept: {error.message}"))
            return []
        return [pair for one in fresh for pair in _kept(engine, report, project, [one])]
    return list(zip(fresh, outcomes, strict=True))


def _count(report: NotesReport, project: str, passage: Passage, outcome: RememberOutcome) -> None:
    if outcome is RememberOutcome.UNCHANGED:
        report.unchanged += 1
        return
    if outcome is RememberOutcome.INSERTED:
        report.new += 1
    else:
        report.changed += 1
    report.redacted += len(redact(passage.draft.content).findings)
    report.projects[project] = report.projects.get(project, 0) + 1


def _key(passage: Passage) -> str:
    """The key as its memory carries it, so also without secrets."""
    return redact(passage.draft.key or passage.ref).text


def _chunks(passages: Sequence[Passage]) -> Iterator[Sequence[Passage]]:
    return (passages[at : at + _CHUNK] for at in range(0, len(passages), _CHUNK))


def readable(path: Path) -> str:
    """A path as it is shown, with the home folder as `~`."""
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):
        return path.as_posix()
