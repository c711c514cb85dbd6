"""Imports what a repository says about itself, and links files that change together.

The repository is only read. Invariant: a second run changes nothing. A changed statement supersedes
the old one, one whose source is gone is closed, and what the user deleted or corrected stays that
way. The store remembers what was imported, so an unchanged repository costs almost nothing. What
earlier versions imported as raw chunks and commit messages is closed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from wellkept.core.changes import Close
from wellkept.core.codec import Json
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.query import FileLink
from wellkept.core.records import field, record, replace
from wellkept.core.types import EvidenceKind, Progress
from wellkept.graph.history.commits import PastCommit
from wellkept.graph.history.git_log import Commit, read_history_and_past
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.passages import Passage, fingerprint, remember_passages
from wellkept.memory.remember import RememberOutcome
from wellkept.observe.failures.declared_commands import (
    VERIFIED,
    VERIFIED_CONFIDENCE,
)
from wellkept.observe.imports.repository_docs import (
    Skipped,
    generated_files,
    list_files,
    read_document,
    walk_files,
)
from wellkept.observe.learning.linked_files import history_links, link_history
from wellkept.project.commands.declared import declared
from wellkept.project.pages import renew_layout
from wellkept.project.repository.documents import is_document
from wellkept.project.repository.read import STAGES, ProjectKnowledge, read_project
from wellkept.project.repository.statement import PREFIX, Statement
from wellkept.text.secrets.redaction import redact

DEFAULT_COMMITS = 10_000
LINKED_COMMITS = 1_000
"""Links between files are learned from the newest commits."""
_NAMESPACE = "intake"
_FORMER = ("doc:", "commit:")
"""Keys of what earlier versions imported."""
_COMMITS = f"{PREFIX}commit:"


@record(kw_only=True)
class RepositoryReport:
    """Counts of one import. `history` is False when git failed; `kinds` counts the statements of
    each kind; `replaced` are chunks and raw messages of an earlier version that were closed."""

    documents: int = 0
    commits: int = 0
    links: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    closed: int = 0
    replaced: int = 0
    kinds: dict[str, int] = field(default_factory=dict[str, int])
    skipped: tuple[Skipped, ...] = ()
    history: bool = True


def import_repository(
    engine: Engine,
    project: str,
    root: Path,
    *,
    limit_commits: int = DEFAULT_COMMITS,
    refresh: bool = False,
    progress: Progress | None = None,
) -> RepositoryReport:
    """Import the statements of a repository's files and latest commits.

    With `refresh`, imported memories that were deleted since are imported again.
    """
    if not root.is_dir():
        raise NotFoundError(f"There is no folder {root}.")
    if limit_commits < 0:
        raise UsageError("The number of commits cannot be negative.", hint="Use 0 for none.")
    home = engine.store.canonical_project(project)
    run = _Import(engine, project=home, imported={} if refresh else _imported(engine, home))
    steps = _Steps(progress)
    known = list_files(root)
    names = sorted(known if known is not None else walk_files(root))
    names = [name for name in names if os.path.lexists(root / name)]
    steps.next()
    read = read_history_and_past(root, limit=limit_commits, past_limit=LINKED_COMMITS)
    commits, past = read or ([], [])
    steps.next()
    links = _links(past, present=known)
    steps.next()
    found = read_project(
        root,
        names,
        commits=_with_present_files(commits, frozenset(names)),
        links=links,
        generated=generated_files(root, [name for name in names if is_document(name)]),
        on_stage=lambda _: steps.next(),
    )
    run.skip_unreadable(root, names)
    run.store(found, progress=steps.rest())
    run.close_removed(found.statements)
    if past:
        run.report = replace(run.report, links=link_history(engine, home, links))
    engine.store.put_value(_NAMESPACE, home, dict(run.imported))
    renew_layout(engine, home)
    return replace(
        run.report,
        documents=found.documents,
        commits=len(commits),
        history=read is not None,
        kinds=dict(Counter(one.key.partition(":")[0] for one in found.statements)),
    )


def history_passages(root: Path, *, limit: int) -> list[Passage] | None:
    """Decisions and reverts of a repository, oldest first; None when git cannot tell."""
    from wellkept.project.repository.history import history_statements

    read = read_history_and_past(root, limit=limit, past_limit=0)
    if read is None:
        return None
    present = list_files(root) or frozenset[str]()
    found = history_statements(_with_present_files(read[0], present))
    return [one.passage() for one in sorted(found, key=_age)]


def _age(one: Statement) -> float:
    return one.at.timestamp() if one.at else 0.0


def _imported(engine: Engine, project: str) -> dict[str, str]:
    """What was imported before: key -> fingerprint."""
    known: Json = engine.store.get_value(_NAMESPACE, project)
    return {key: str(mark) for key, mark in known.items()} if isinstance(known, dict) else {}


def _links(past: Sequence[PastCommit], *, present: frozenset[str] | None) -> list[FileLink]:
    return [link for link in history_links(past, present=present) if _has_no_secret(link)]


def _with_present_files(commits: Iterable[Commit], present: frozenset[str]) -> list[Commit]:
    """Commits with those of their files that are still there."""
    return [
        commit
        if commit.is_bulk
        else replace(commit, files=tuple(path for path in commit.files if path in present))
        for commit in commits
    ]


class _Steps:
    """Progress over the stages of reading; storing takes the second half."""

    _STAGES = len(STAGES) + 3

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._done = 0

    def next(self) -> None:
        """One more stage begins."""
        self._done = min(self._done + 1, self._STAGES)
        if self._progress is not None:
            self._progress(self._done, 2 * self._STAGES)

    def rest(self) -> Callable[[int, int], None] | None:
        """The progress of storing as progress of the whole."""
        progress = self._progress
        if progress is None:
            return None
        half = self._STAGES
        return lambda done, total: progress(half + half * done // max(1, total), 2 * half)


@record(frozen=False)
class _Import:
    """The state of one import."""

    engine: Engine
    project: str
    imported: dict[str, str]
    report: RepositoryReport = field(default_factory=RepositoryReport)
    unread: set[str] = field(default_factory=set[str])

    def skip_unreadable(self, root: Path, names: Iterable[str]) -> None:
        """Report documents that cannot be read, and why."""
        for name in filter(is_document, names):
            text = read_document(root, name)
            if isinstance(text, Skipped):
                self._skip(text)

    def store(self, found: ProjectKnowledge, *, progress: Progress | None) -> None:
        """Store statements that are new or changed; history oldest first, so that ids follow the
        order of events."""
        passages = [one.passage() for one in sorted(found.statements, key=_age)]
        changed = [p for p in passages if self.imported.get(_key(p)) != _fingerprint(p)]
        fresh = [self._still_verified(p) for p in changed if not self._is_corrected(p)]
        self._count(RememberOutcome.UNCHANGED, len(passages) - len(fresh))
        self._store_new(fresh, progress=progress)
        if progress is not None:
            progress(1, 1)

    def _is_corrected(self, passage: Passage) -> bool:
        """Whether a person put it right: their word stands, whatever the files say since."""
        known = self._known(passage)
        return known is not None and known.has_persons_word

    def _still_verified(self, passage: Passage) -> Passage:
        """A command that a session saw succeed stays verified when its statement is reworded."""
        known = self._known(passage)
        before = declared(known) if known is not None else None
        if known is None or before is None or before.worked_at is None:
            return passage
        if f"`{before.command}`" not in passage.draft.content:
            return passage
        seen = tuple(one for one in known.evidence if one.kind is EvidenceKind.SESSION)
        draft = replace(
            passage.draft,
            tags=(*passage.draft.tags, VERIFIED),
            confidence=VERIFIED_CONFIDENCE,
            evidence=(*passage.draft.evidence, *seen),
        )
        return replace(passage, draft=draft)

    def _known(self, passage: Passage) -> Memory | None:
        return self.engine.store.find_key(_key(passage), project=self.project, user_scope=False)

    def close_removed(self, statements: Iterable[Statement]) -> None:
        """Close memories whose source is gone, unless the user verified or pinned them. A commit
        is never gone: what was decided then stays."""
        current = {redact(PREFIX + one.key).text for one in statements}
        for key in [key for key in self.imported if key not in current]:
            is_former = key.startswith(_FORMER)
            is_ours = key.startswith(PREFIX) and not key.startswith(_COMMITS)
            if not (is_former or is_ours) or _path(key) in self.unread:
                continue
            del self.imported[key]
            memory = self.engine.store.find_key(key, project=self.project, user_scope=False)
            if memory is None or memory.user_verified or memory.pinned:
                continue
            at = max(self.engine.clock(), memory.valid_from)
            self.engine.store.apply([Close(memory.id, at)])
            name = "replaced" if is_former else "closed"
            self.report = replace(self.report, **{name: getattr(self.report, name) + 1})

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
    """The path of a document that a key names."""
    return key.removeprefix(PREFIX).partition(":")[2].partition("#")[0]
