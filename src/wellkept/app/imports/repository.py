"""Imports a repository's documents and commits, and links files that change together.

The repository is only read. Invariant: a second run changes nothing. A changed section supersedes
the old one, a removed section closes it, and what the user deleted or corrected stays that way. The
store remembers what was imported, so an unchanged repository costs almost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from wellkept.app.graph.co_change import history_links, link_history
from wellkept.app.imports.repository_docs import (
    MAX_DOCUMENTS,
    Skipped,
    find_documents,
    list_files,
    passages,
    read_document,
)
from wellkept.app.projects.commits import Commit, commit_draft, read_history, read_past
from wellkept.codegraph.history.commits import PastCommit
from wellkept.core.changes import Close
from wellkept.core.codec import Json
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.query import FileLink
from wellkept.core.records import field, record, replace
from wellkept.core.types import Progress
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.passages import Passage, fingerprint, remember_passages
from wellkept.memory.remember import RememberOutcome
from wellkept.memory.text.redaction import redact

_NAMESPACE = "intake"


@record(kw_only=True)
class RepositoryReport:
    """Counts of one import. `history` is False when git failed."""

    documents: int = 0
    commits: int = 0
    links: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    closed: int = 0
    skipped: tuple[Skipped, ...] = ()
    history: bool = True


def import_repository(
    engine: Engine,
    project: str,
    root: Path,
    *,
    limit_commits: int = 500,
    refresh: bool = False,
    progress: Progress | None = None,
) -> RepositoryReport:
    """Import a repository's documents and latest commits.

    With `refresh`, imported memories that were deleted since are imported again.
    """
    if not root.is_dir():
        raise NotFoundError(f"There is no folder {root}.")
    if limit_commits < 0:
        raise UsageError("The number of commits cannot be negative.", hint="Use 0 for none.")
    home = engine.store.canonical_project(project)
    run = _Import(engine, project=home, imported={} if refresh else _imported(engine, home))
    known = list_files(root)
    passages_now = run.read_documents(root, known)
    past = read_history(root, limit=limit_commits)
    run.store(passages_now, _commit_passages(past or []), progress=progress)
    run.close_removed(passages_now)
    if past:
        run.link_files(read_past(root, limit=limit_commits) or [], present=known)
    engine.store.put_value(_NAMESPACE, home, dict(run.imported))
    return replace(run.report, commits=len(past or []), history=past is not None)


def _imported(engine: Engine, project: str) -> dict[str, str]:
    """What was imported before: key -> fingerprint."""
    known: Json = engine.store.get_value(_NAMESPACE, project)
    return {key: str(mark) for key, mark in known.items()} if isinstance(known, dict) else {}


def _commit_passages(commits: Iterable[Commit]) -> list[Passage]:
    """Oldest first, so that ids follow the order of events."""
    drafts = (commit_draft(commit) for commit in reversed(list(commits)))
    return [Passage(draft.commit_sha or "", draft) for draft in drafts if draft]


@record(frozen=False)
class _Import:
    """The state of one import."""

    engine: Engine
    project: str
    imported: dict[str, str]
    report: RepositoryReport = field(default_factory=RepositoryReport)
    unread: set[str] = field(default_factory=set[str])

    def read_documents(self, root: Path, known: frozenset[str] | None) -> list[Passage]:
        """The passages of every document that can be read."""
        paths = find_documents(root, known)
        found: list[Passage] = []
        for path in paths[:MAX_DOCUMENTS]:
            text = read_document(root, path)
            if isinstance(text, Skipped):
                self._skip(text)
            else:
                found.extend(passages(path, text))
                self.report = replace(self.report, documents=self.report.documents + 1)
        for path in paths[MAX_DOCUMENTS:]:
            self._skip(Skipped(path, f"is beyond the first {MAX_DOCUMENTS} documents"))
        return found

    def store(self, *groups: Sequence[Passage], progress: Progress | None) -> None:
        """Store passages that are new or changed."""
        total = sum(map(len, groups))
        done = 0
        for group in groups:
            fresh = [p for p in group if self.imported.get(_key(p)) != _fingerprint(p)]
            self._count(RememberOutcome.UNCHANGED, len(group) - len(fresh))
            self._store_new(fresh, progress=_after(progress, done=done, total=total))
            done += len(group)
        if progress and total:
            progress(total, total)

    def close_removed(self, current_passages: Iterable[Passage]) -> None:
        """Close memories of removed sections, unless the user verified or pinned them."""
        current = {_key(passage) for passage in current_passages}
        for key in [key for key in self.imported if key.startswith("doc:")]:
            if key in current or _path(key) in self.unread:
                continue
            del self.imported[key]
            memory = self.engine.store.find_key(key, project=self.project, user_scope=False)
            if memory is not None and not memory.user_verified and not memory.pinned:
                at = max(self.engine.clock(), memory.valid_from)
                self.engine.store.apply([Close(memory.id, at)])
                self.report = replace(self.report, closed=self.report.closed + 1)

    def link_files(self, past: Sequence[PastCommit], *, present: frozenset[str] | None) -> None:
        """Link files that change together."""
        links = [link for link in history_links(past, present=present) if _has_no_secret(link)]
        count = link_history(self.engine, self.project, links)
        self.report = replace(self.report, links=count)

    def _store_new(self, fresh: Sequence[Passage], *, progress: Progress | None) -> None:
        try:
            outcomes = remember_passages(
                self.engine, fresh, project=self.project, progress=progress
            )
        except UsageError as error:
            # Nothing was written yet. One at a time shows which one fails.
            if len(fresh) == 1:
                self._skip(Skipped(fresh[0].ref, f"cannot be stored: {error.message}"))
            else:
                for passage in fresh:
                    self._store_new([passage], progress=None)
            return
        for passage, outcome in zip(fresh, outcomes, strict=True):
            self.imported[_key(passage)] = _fingerprint(passage)
            self._count(outcome, 1)

    def _count(self, outcome: RememberOutcome, number: int) -> None:
        name = {RememberOutcome.INSERTED: "new", RememberOutcome.UNCHANGED: "unchanged"}.get(
            outcome, "changed"
        )
        self.report = replace(self.report, **{name: getattr(self.report, name) + number})

    def _skip(self, skipped: Skipped) -> None:
        self.unread.add(redact(skipped.path).text)
        self.report = replace(self.report, skipped=(*self.report.skipped, skipped))


def _key(passage: Passage) -> str:
    """The key as stored: without secrets."""
    return redact(passage.draft.key or passage.ref).text


def _has_no_secret(link: FileLink) -> bool:
    return not (redact(link.file_a).changed or redact(link.file_b).changed)


def _fingerprint(passage: Passage) -> str:
    return fingerprint(passage.draft.content)


def _path(key: str) -> str:
    return key.removeprefix("doc:").partition("#")[0]


def _after(
    progress: Progress | None, *, done: int, total: int
) -> Callable[[int, int], None] | None:
    """Report the progress of a part as progress of the whole."""
    if progress is None:
        return None
    return lambda part, _: progress(done + part, total)
