"""Stores statements from a repository, instruction files and other memory tools.

Each statement has a key made of its location, so a second import changes nothing. A changed
statement supersedes the old one; one that the user deleted stays deleted. Sources are only read.
Vectors are made later, by a reindex.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
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

# What `init` imported is not imported again.
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


@record(frozen=False)
class Intake:
    """What was taken into one project before, by key and fingerprint, and what is taken in now."""

    engine: Engine
    project: str
    marks: dict[str, str]
    counts: Counter[str] = field(default_factory=Counter[str])
    skipped: list[Skipped] = field(default_factory=list[Skipped])

    @classmethod
    def of(cls, engine: Engine, project: str) -> Intake:
        """The intake of a project so far."""
        known: Json = engine.store.get_value(_NAMESPACE, project)
        marks = {key: str(mark) for key, mark in known.items()} if isinstance(known, dict) else {}
        return cls(engine, project, marks)

    def fresh(self, passages: Sequence[Passage]) -> list[Passage]:
        """What was not taken in with this text before; the rest counts as unchanged."""
        found = [
            one for one in passages if self.marks.get(key_of(one)) != fingerprint(one.draft.content)
        ]
        self.counts["unchanged"] += len(passages) - len(found)
        return found

    def store(
        self,
        fresh: Sequence[Passage],
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> list[Passage]:
        """Store passages; returns those that are new or changed. One that cannot be stored is
        reported and does not stop the others."""
        if not fresh:
            return []
        try:
            outcomes = remember_passages(
                self.engine, fresh, project=self.project, dry_run=dry_run, progress=progress
            )
        except UsageError as error:
            # Nothing was written yet. One at a time shows which one fails.
            if len(fresh) > 1:
                return [one for each in fresh for one in self.store([each], dry_run=dry_run)]
            self.skipped.append(Skipped(fresh[0].ref, f"cannot be stored: {error.message}"))
            return []
        named = {RememberOutcome.INSERTED: "new", RememberOutcome.UNCHANGED: "unchanged"}
        for passage, outcome in zip(fresh, outcomes, strict=True):
            self.marks[key_of(passage)] = fingerprint(passage.draft.content)
            self.counts[named.get(outcome, "changed")] += 1
        pairs = zip(fresh, outcomes, strict=True)
        return [one for one, outcome in pairs if outcome is not RememberOutcome.UNCHANGED]

    def close(self, key: str) -> bool:
        """Close what is said no more, unless a person verified or pinned it."""
        del self.marks[key]
        memory = self.engine.store.find_key(key, project=self.project, user_scope=False)
        if memory is None or memory.user_verified or memory.pinned:
            return False
        at = max(self.engine.clock(), memory.valid_from)
        self.engine.store.apply([Close(memory.id, at)])
        return True

    def save(self) -> None:
        """Remember what was taken in."""
        self.engine.store.put_value(_NAMESPACE, self.project, dict(self.marks))


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
        intake = Intake.of(without_vectors, project)
        for start in range(0, len(passages), _CHUNK):
            chunk = passages[start : start + _CHUNK]
            fresh = intake.fresh(chunk)
            stored = intake.store(fresh, dry_run=dry_run)
            report.redacted += sum(len(redact(one.draft.content).findings) for one in stored)
            if fresh and not dry_run:
                intake.save()
            done += len(chunk)
            if progress is not None:
                progress(done, total)
        report.new += intake.counts["new"]
        report.changed += intake.counts["changed"]
        report.unchanged += intake.counts["unchanged"]
        report.skipped += intake.skipped
        if stored_here := intake.counts["new"] + intake.counts["changed"]:
            report.projects[project] = stored_here
    return report


def has_notes(engine: Engine, project: str) -> bool:
    """Whether agents' memory files of this project were taken in before."""
    return any(key.startswith(CLIENT_NOTES) for key in Intake.of(engine, project).marks)


def close_gone(engine: Engine, project: str, notes: Iterable[ProjectNote | Skipped]) -> int:
    """Close what agents' memory files said and say no more; returns how many. `notes` is everything
    that stands there now."""
    intake = Intake.of(engine, project)
    current = {key_of(note.passage) for note in notes if isinstance(note, ProjectNote)}
    gone = [key for key in intake.marks if key.startswith(CLIENT_NOTES) and key not in current]
    for key in gone:
        intake.close(key)
    if gone:
        intake.save()
    return len(gone)


def key_of(passage: Passage) -> str:
    """The key as stored: without secrets."""
    return redact(passage.draft.key or passage.ref).text


def readable(path: Path) -> str:
    """A path as it is shown, with the home folder as `~`."""
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):
        return path.as_posix()
