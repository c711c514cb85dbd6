"""Reads renames and deletions from git history and updates memories.

Reads only commits since the last run; after a rewritten history, the latest ones. Invariant: a
second run changes nothing, and other projects are not touched. Without git only the existence of
files decides what is stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path

from wellkept.core.changes import Mark
from wellkept.core.clock import to_ms
from wellkept.core.git.run import ask_git
from wellkept.core.query import Filter
from wellkept.core.records import record
from wellkept.graph.history.commits import ChangeStatus, PastCommit
from wellkept.graph.history.git_log import read_past
from wellkept.memory.engine import Engine
from wellkept.memory.file_presence import exists_below
from wellkept.memory.lifecycle.report import MaintenanceReport, write_each
from wellkept.memory.lifecycle.staleness import follow_renames
from wellkept.observe.upkeep.renamed_evidence import follow_learning

MAX_COMMITS = 500
_NAMESPACE = "followed"
_TIMEOUT_S = 5.0
_BATCH, _MOST_TIED = 200, 1_000


@record
class FileRenames:
    """Renamed and deleted files up to a commit."""

    head: str
    renamed: dict[str, str]
    deleted: tuple[str, ...] = ()


def read_moves(root: Path, *, since: str | None = None) -> FileRenames | None:
    """Renames after a commit, or in the latest commits; None when git cannot tell."""
    head = current_commit(root)
    if head is None:
        return None
    if since == head:
        return FileRenames(head, {})
    past = read_past(root, limit=MAX_COMMITS, after=since) if since else None
    if past is None:
        past = read_past(root, limit=MAX_COMMITS)
    return None if past is None else FileRenames(head, *current_names(past))


def current_commit(root: Path) -> str | None:
    """The commit that is checked out."""
    answer = ask_git(root, ("rev-parse", "-q", "--verify", "HEAD"), timeout_s=_TIMEOUT_S)
    return answer.decode("ascii", "replace").strip() or None if answer else None


def current_names(past: Iterable[PastCommit]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Old name -> current name, and deleted names; takes commits oldest first."""
    names = _NameTracker()
    for change in (change for commit in past for change in commit.changes):
        if change.status is ChangeStatus.RENAMED:
            names.move(change.old, change.new)
        elif change.status is ChangeStatus.DELETED:
            names.move(change.old, None)
        else:
            names.reuse(change.new)
    moved = {old: new for old, new in names.now.items() if new is not None}
    return moved, tuple(old for old, new in names.now.items() if new is None)


class _NameTracker:
    """Maps former names to current ones. A name that is in use again means the new file."""

    def __init__(self) -> None:
        self.now: dict[str, str | None] = {}
        self._names: dict[str, set[str]] = {}

    def move(self, old: str, new: str | None) -> None:
        """A file was renamed, or deleted when `new` is None."""
        names = self._names.pop(old, set[str]()) | {old}
        if new is not None:
            self.reuse(new)
            names.discard(new)
            self._names.setdefault(new, set()).update(names)
        for name in names:
            self.now[name] = new

    def reuse(self, name: str) -> None:
        """A file has this name now."""
        place = self.now.pop(name, None)
        if place is not None:
            # The file at `place` no longer has this former name.
            self._names.get(place, set[str]()).discard(name)


def follow_history(
    engine: Engine,
    *,
    project: str,
    root: Path,
    mark_deleted: bool = False,
    dry_run: bool = False,
) -> MaintenanceReport | None:
    """Let memories follow the renames that came since the last time; None when there are none.

    A rename counts when the old file is gone and the new one is there. With `mark_deleted`, what
    speaks of files that were deleted becomes stale at once, without waiting for a refresh.
    """
    before = engine.store.get_value(_NAMESPACE, _position_key(project, root))
    moves = read_moves(root, since=before if isinstance(before, str) else None)
    if moves is None or not root.is_dir():
        return None
    exists = exists_below(root)
    renames = {o: n for o, n in moves.renamed.items() if exists(n) and not exists(o)}
    report = (
        follow_renames(engine, project=project, renames=renames, dry_run=dry_run)
        if renames
        else None
    )
    gone = [path for path in moves.deleted if not exists(path)]
    if (renames or gone) and not dry_run:
        follow_learning(engine, project, renames, deleted=gone)
    if mark_deleted and not dry_run:
        _mark_deleted(engine, project, gone)
    # Conflicting memories are tried again at the next run.
    if not dry_run and moves.head != before and not (report and report.notes):
        engine.store.put_value(_NAMESPACE, _position_key(project, root), moves.head)
    return report


def _mark_deleted(engine: Engine, project: str, files: Sequence[str]) -> None:
    where = Filter(project=project, include_user=False, stale=False)
    now = engine.clock()
    for start in range(0, len(files), _BATCH):
        some = files[start : start + _BATCH]
        hits = engine.store.search_links(files=some, modules=(), where=where, limit=_MOST_TIED)
        write_each(engine.store, [Mark(hit.id, "stale", now) for hit in hits])


def _position_key(project: str, root: Path) -> str:
    """One position per worktree of a project."""
    return f"{project} {root.as_posix()}"


def changed_since(root: Path) -> Callable[[str, datetime], bool]:
    """Whether a file changed after a moment: by its time on disk, and by git where that may only
    be the time of a checkout."""

    @cache
    def committed_ms(path: str) -> int | None:
        dirty = ask_git(root, ("status", "--porcelain", "--", path), timeout_s=_TIMEOUT_S)
        if dirty is None or dirty.strip():
            return None
        told = ask_git(root, ("log", "-1", "--format=%ct", "--", path), timeout_s=_TIMEOUT_S)
        seconds = (told or b"").strip()
        return int(seconds) * 1_000 if seconds.isdigit() else None

    def changed(path: str, moment: datetime) -> bool:
        try:
            on_disk_ms = int((root / path).stat().st_mtime * 1_000)
        except (OSError, ValueError):
            return False
        if on_disk_ms <= to_ms(moment):
            return False
        told = committed_ms(path)
        return told is None or told > to_ms(moment)

    return changed
