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

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.query import FileLink
from wellkept.core.records import field, record, replace
from wellkept.core.types import EvidenceKind, Progress
from wellkept.graph.history.git_log import Commit, read_history_and_past
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.passages import Passage
from wellkept.observe.failures.command_records import (
    VERIFIED,
    VERIFIED_CONFIDENCE,
)
from wellkept.observe.imports.notes import Intake, key_of
from wellkept.observe.imports.repository_docs import (
    Skipped,
    generated_files,
    list_files,
    read_document,
    walk_files,
)
from wellkept.observe.learning.linked_files import history_links, link_history
from wellkept.project.commands.command import PREFIX
from wellkept.project.commands.declared import declared
from wellkept.project.pages import renew_layout
from wellkept.project.repository.documents import is_document
from wellkept.project.repository.project_files import Statement
from wellkept.project.repository.read import STAGES, read_project
from wellkept.text.secrets.redaction import redact

DEFAULT_COMMITS = 10_000
LINKED_COMMITS = 1_000
"""Links between files are learned from the newest commits."""
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
    intake = Intake(engine, home, {}) if refresh else Intake.of(engine, home)
    steps = _Steps(progress)
    known = list_files(root)
    names = sorted(known if known is not None else walk_files(root))
    names = [name for name in names if os.path.lexists(root / name)]
    steps.next()
    read = read_history_and_past(root, limit=limit_commits, past_limit=LINKED_COMMITS)
    commits, past = read or ([], [])
    steps.next()
    links = [one for one in history_links(past, present=known) if not _has_secret(one)]
    steps.next()
    found = read_project(
        root,
        names,
        commits=_with_present_files(commits, frozenset(names)),
        links=links,
        generated=generated_files(root, [name for name in names if is_document(name)]),
        on_stage=lambda _: steps.next(),
    )
    texts = (read_document(root, name) for name in names if is_document(name))
    intake.skipped += [text for text in texts if isinstance(text, Skipped)]
    # History oldest first, so that ids follow the order of events.
    passages = [one.passage() for one in sorted(found.statements, key=_age)]
    _store(intake, passages, steps.rest())
    current = {redact(PREFIX + one.key).text for one in found.statements}
    unread = {redact(one.path).text for one in intake.skipped}
    closed, replaced = _close_removed(intake, current, unread)
    linked = link_history(engine, home, links) if past else 0
    intake.save()
    renew_layout(engine, home)
    return RepositoryReport(
        documents=found.documents,
        commits=len(commits),
        links=linked,
        new=intake.counts["new"],
        changed=intake.counts["changed"],
        unchanged=intake.counts["unchanged"],
        closed=closed,
        replaced=replaced,
        kinds=dict(Counter(one.key.partition(":")[0] for one in found.statements)),
        skipped=tuple(intake.skipped),
        history=read is not None,
    )


def history_passages(root: Path, *, limit: int) -> list[Passage] | None:
    """Decisions and reverts of a repository, oldest first; None when git cannot tell."""
    from wellkept.project.repository.ownership import history_statements

    read = read_history_and_past(root, limit=limit, past_limit=0)
    if read is None:
        return None
    present = list_files(root) or frozenset[str]()
    found = history_statements(_with_present_files(read[0], present))
    return [one.passage() for one in sorted(found, key=_age)]


def _age(one: Statement) -> float:
    return one.at.timestamp() if one.at else 0.0


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


def _store(intake: Intake, passages: Sequence[Passage], progress: Progress | None) -> None:
    """Store statements that are new or changed. Where a person put one right, their word stands,
    whatever the files say since."""
    fresh: list[Passage] = []
    for passage in intake.fresh(passages):
        known = intake.engine.store.find_key(
            key_of(passage), project=intake.project, user_scope=False
        )
        if known is not None and known.has_persons_word:
            intake.counts["unchanged"] += 1
        else:
            fresh.append(_still_verified(passage, known) if known is not None else passage)
    intake.store(fresh, progress=progress)
    if progress is not None:
        progress(1, 1)


def _still_verified(passage: Passage, known: Memory) -> Passage:
    """A command that a session saw succeed stays verified when its statement is reworded."""
    before = declared(known)
    if before is None or before.worked_at is None:
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


def _close_removed(intake: Intake, current: set[str], unread: set[str]) -> tuple[int, int]:
    """Close memories whose source is gone: how many of ours, and of earlier versions'. A commit is
    never gone: what was decided then stays."""
    closed = replaced = 0
    for key in [key for key in intake.marks if key not in current]:
        is_former = key.startswith(_FORMER)
        is_ours = key.startswith(PREFIX) and not key.startswith(_COMMITS)
        path = key.removeprefix(PREFIX).partition(":")[2].partition("#")[0]
        if (is_former or is_ours) and path not in unread and intake.close(key):
            closed, replaced = closed + (not is_former), replaced + is_former
    return closed, replaced


def _has_secret(link: FileLink) -> bool:
    return redact(link.file_a).changed or redact(link.file_b).changed
