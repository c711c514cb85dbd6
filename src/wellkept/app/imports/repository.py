"""Taking in what a repository already says about itself: its documents and its history.

The first project of a fresh store, and the cold start of the links between files. Read-only on the
repository. Invariant: taken in twice equals once; a changed section supersedes what it said before,
a section that is gone closes it; what a person has forgotten or corrected since stays that way.
The store's shelf keeps what was taken in, so an unchanged repository costs next to nothing.
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
from wellkept.memory.exchange.passages import Passage, fingerprint, keep_passages
from wellkept.memory.remember import RememberOutcome
from wellkept.memory.text.redaction import redact

_SHELF = "intake"


@record(kw_only=True)
class RepositoryReport:
    """What was found and what became of it. `history` is False when git could not be asked."""

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
    """Take in a repository's documents and latest commits.

    With `refresh`, what was taken in before and has since been forgotten is taken in again.
    """
    if not root.is_dir():
        raise NotFoundError(f"There is no folder {root}.")
    if limit_commits < 0:
        raise UsageError("The number of commits cannot be negative.", hint="Use 0 for none.")
    home = engine.store.canonical_project(project)
    intake = _Intake(engine, project=home, taken={} if refresh else _taken(engine, home))
    known = list_files(root)
    said = intake.read_documents(root, known)
    past = read_history(root, limit=limit_commits)
    intake.keep(said, _commit_passages(past or []), progress=progress)
    intake.close_gone(said)
    if past:
        intake.link_files(read_past(root, limit=limit_commits) or [], present=known)
    engine.store.put_value(_SHELF, home, dict(intake.taken))
    return replace(intake.report, commits=len(past or []), history=past is not None)


def _taken(engine: Engine, project: str) -> dict[str, str]:
    """What was taken in before: the mark of each key's text."""
    known: Json = engine.store.get_value(_SHELF, project)
    return {key: str(mark) for key, mark in known.items()} if isinstance(known, dict) else {}


def _commit_passages(commits: Iterable[Commit]) -> list[Passage]:
    """Oldest first, so that ids follow the order of events."""
    drafts = (commit_draft(commit) for commit in reversed(list(commits)))
    return [Passage(draft.commit_sha or "", draft) for draft in drafts if draft]


@record(frozen=False)
class _Intake:
    """The running account of one intake."""

    engine: Engine
    project: str
    taken: dict[str, str]
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

    def keep(self, *groups: Sequence[Passage], progress: Progress | None) -> None:
        """Keep what was not taken in before with the same words."""
        total = sum(map(len, groups))
        done = 0
        for group in groups:
            fresh = [p for p in group if self.taken.get(_key(p)) != _mark(p)]
            self._count(RememberOutcome.UNCHANGED, len(group) - len(fresh))
            self._keep_fresh(fresh, progress=_after(progress, done=done, total=total))
            done += len(group)
        if progress and total:
            progress(total, total)

    def close_gone(self, said: Iterable[Passage]) -> None:
        """Close what documents no longer say, unless a person stands behind it."""
        current = {_key(passage) for passage in said}
        for key in [key for key in self.taken if key.startswith("doc:")]:
            if key in current or _path(key) in self.unread:
                continue
            del self.taken[key]
            memory = self.engine.store.find_key(key, project=self.project, user_scope=False)
            if memory is not None and not memory.user_verified and not memory.pinned:
                at = max(self.engine.clock(), memory.valid_from)
                self.engine.store.apply([Close(memory.id, at)])
                self.report = replace(self.report, closed=self.report.closed + 1)

    def link_files(self, past: Sequence[PastCommit], *, present: frozenset[str] | None) -> None:
        """Note which files change together."""
        links = [link for link in history_links(past, present=present) if _may_keep(link)]
        count = link_history(self.engine, self.project, links)
        self.report = replace(self.report, links=count)

    def _keep_fresh(self, fresh: Sequence[Passage], *, progress: Progress | None) -> None:
        try:
            outcomes = keep_passages(self.engine, fresh, project=self.project, progress=progress)
        except UsageError as error:
            # Nothing was written yet. One at a time shows which one cannot be kept.
            if len(fresh) == 1:
                self._skip(Skipped(fresh[0].ref, f"cannot be kept: {error.message}"))
            else:
                for passage in fresh:
                    self._keep_fresh([passage], progress=None)
            return
        for passage, outcome in zip(fresh, outcomes, strict=True):
            self.taken[_key(passage)] = _mark(passage)
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
    """The key as its memory carries it, so also without secrets."""
    return redact(passage.draft.key or passage.ref).text


def _may_keep(link: FileLink) -> bool:
    return not (redact(link.file_a).changed or redact(link.file_b).changed)


def _mark(passage: Passage) -> str:
    return fingerprint(passage.draft.content)


def _path(key: str) -> str:
    return key.removeprefix("doc:").partition("#")[0]


def _after(
    progress: Progress | None, *, done: int, total: int
) -> Callable[[int, int], None] | None:
    """The progress of a part, told as progress of the whole."""
    if progress is None:
        return None
    return lambda part, _: progress(done + part, total)
