"""Stores statements from commits, instruction files and other memory tools.

Each statement has a key made of its location, so a second import changes nothing. A changed
statement supersedes the old one; one that the user deleted stays deleted. Sources are only read.
Vectors are made later, by a reindex.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.changes import Close
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.records import field, record, replace
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.passages import Passage, fingerprint, remember_passages
from wellkept.memory.remember import RememberOutcome
from wellkept.observe.imports.repository_docs import Skipped
from wellkept.text.secrets.redaction import redact

if TYPE_CHECKING:
    from wellkept.core.types import Progress

# Shared with `repository`: what `init` imported is not imported again.
_NAMESPACE = "intake"
CLIENT_NOTES = "client-notes:"
"""How the keys of what agents noted in their clients' files begin."""
_CHUNK = 200


@record
class ProjectNote:
    """A statement and its project; None for a project that was not requested."""

    project: str | None
    passage: Passage


@record(frozen=False, kw_only=True)
class NotesReport:
    """Counts of one import."""

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
    engine: Engine,
    source: str,
    notes: Iterable[ProjectNote | Skipped],
    *,
    since: datetime | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> NotesReport:
    """Store statements, each in its own project."""
    report = NotesReport(source=source, dry_run=dry_run)
    # Vectors are made by a later reindex.
    without_vectors = replace(engine, embedder=lambda: None)
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
            _store(without_vectors, report, project, chunk)
            done += len(chunk)
            if progress is not None:
                progress(done, total)
    return report


def _store(engine: Engine, report: NotesReport, project: str, chunk: Sequence[Passage]) -> None:
    known: Json = engine.store.get_value(_NAMESPACE, project)
    imported = dict(known) if isinstance(known, dict) else {}
    fresh = [p for p in chunk if imported.get(_key(p)) != fingerprint(p.draft.content)]
    report.unchanged += len(chunk) - len(fresh)
    stored = _outcomes(engine, report, project, fresh)
    for passage, outcome in stored:
        imported[_key(passage)] = fingerprint(passage.draft.content)
        _count(report, project, passage, outcome)
    if stored and not report.dry_run:
        engine.store.put_value(_NAMESPACE, project, imported)


def has_notes(engine: Engine, project: str) -> bool:
    """Whether agents' memory files of this project were taken in before."""
    known: Json = engine.store.get_value(_NAMESPACE, project)
    return isinstance(known, dict) and any(key.startswith(CLIENT_NOTES) for key in known)


def close_gone(engine: Engine, project: str, notes: Iterable[ProjectNote | Skipped]) -> int:
    """Close what agents' memory files said and say no more, unless a person verified or pinned it;
    returns how many. `notes` is everything that stands there now."""
    known: Json = engine.store.get_value(_NAMESPACE, project)
    imported = dict(known) if isinstance(known, dict) else {}
    current = {_key(note.passage) for note in notes if isinstance(note, ProjectNote)}
    gone = [key for key in imported if key.startswith(CLIENT_NOTES) and key not in current]
    for key in gone:
        del imported[key]
        memory = engine.store.find_key(key, project=project, user_scope=False)
        if memory is not None and not (memory.user_verified or memory.pinned):
            at = max(engine.clock(), memory.valid_from)
            engine.store.apply([Close(memory.id, at)])
    if gone:
        engine.store.put_value(_NAMESPACE, project, imported)
    return len(gone)


def _outcomes(
    engine: Engine, report: NotesReport, project: str, fresh: Sequence[Passage]
) -> list[tuple[Passage, RememberOutcome]]:
    """The outcome of each; one that cannot be stored is reported and does not stop the others."""
    if not fresh:
        return []
    try:
        outcomes = remember_passages(engine, fresh, project=project, dry_run=report.dry_run)
    except UsageError as error:
        if len(fresh) == 1:
            report.skipped.append(Skipped(fresh[0].ref, f"cannot be stored: {error.message}"))
            return []
        return [pair for one in fresh for pair in _outcomes(engine, report, project, [one])]
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
    """The key as stored: without secrets."""
    return redact(passage.draft.key or passage.ref).text


def _chunks(passages: Sequence[Passage]) -> Iterator[Sequence[Passage]]:
    return (passages[at : at + _CHUNK] for at in range(0, len(passages), _CHUNK))


def readable(path: Path) -> str:
    """A path as it is shown, with the home folder as `~`."""
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):
        return path.as_posix()
