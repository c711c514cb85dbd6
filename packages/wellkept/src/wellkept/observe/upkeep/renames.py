"""Reads renames and deletions from git history and updates memories.

Reads only commits since the last run; after a rewritten history, the latest ones. Learned
data follows too: session signals, file links, keys of learned memories. Invariant: a second run
changes nothing, and other projects are not touched. Without git only the existence of
files decides what is stale.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path

from wellkept.core.changes import Mark, PutExplanation, PutSignals, Replace
from wellkept.core.clock import to_ms
from wellkept.core.code_modules import module_of
from wellkept.core.codec import Json
from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.git.run import ask_git
from wellkept.core.memory import Memory
from wellkept.core.query import Filter
from wellkept.core.records import record, replace
from wellkept.core.session.scratchpad import Explanation, SessionSignal, SignalKind
from wellkept.core.types import Source
from wellkept.graph.history.commits import ChangeStatus, PastCommit
from wellkept.graph.history.git_log import read_past
from wellkept.memory.engine import Engine
from wellkept.memory.file_presence import exists_below
from wellkept.memory.lifecycle.report import MaintenanceReport, write_each
from wellkept.memory.lifecycle.staleness import follow_renames
from wellkept.observe.learning.linked_files import forget_links, move_history
from wellkept.observe.learning.rules import key_for

_KINDS = tuple(kind for kind in SignalKind if kind is not SignalKind.E2E)
_OF_USE = (SignalKind.FILE_ACCESS, SignalKind.CO_ACCESS, SignalKind.TIME_ANOMALY)
_OF_MODULES = (SignalKind.SEQUENCE, SignalKind.CONTEXT_COST, SignalKind.CALIBRATION)
_LOOKED_AT = 100_000

Moves = Mapping[str, str]

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
        # Git knows seconds; the time on disk has told which came first within one.
        return told is None or told >= to_ms(moment) // 1_000 * 1_000

    return changed


def follow_learning(
    engine: Engine, project: str, moves: Moves, *, deleted: Collection[str] = ()
) -> None:
    """Rename files in signals, links and learned memories; drop usage signals of deleted files."""
    seen = _whole_sessions(engine.store.signals(project=project, kinds=_KINDS, limit=_LOOKED_AT))
    modules = moved_modules(seen, moves)
    gone = frozenset(deleted)

    def now_of(mine: list[SessionSignal]) -> list[SessionSignal]:
        left = (one for one in mine if not _is_of(one, gone))
        return _joined(renamed_signal(one, moves, modules) for one in left)

    _rewrite(engine, project, seen, now_of)
    forget_links(engine, project, [*moves, *deleted])
    if moves:
        move_history(engine, project, moves)
        _move_learned(engine, project, moves)


# -- Signals --------------------------------------------------------------------------------------


def moved_modules(seen: Iterable[SessionSignal], moves: Moves) -> dict[str, str]:
    """Modules whose used files have all moved, and where most of them went."""
    used = {s.subject for s in seen if s.kind is SignalKind.FILE_ACCESS}
    left = {module_of(path) for path in used if path not in moves}
    gone = sorted(path for path in used if path in moves and module_of(path) not in left)
    new: dict[str, Counter[str]] = defaultdict(Counter)
    for path in gone:
        new[module_of(path)][module_of(moves[path])] += 1
    found = {old: places.most_common(1)[0][0] for old, places in new.items()}
    return {old: place for old, place in found.items() if old != place}


def _whole_sessions(seen: list[SessionSignal]) -> list[SessionSignal]:
    """Skip a session that was only partly read: rewriting it would lose the rest."""
    if len(seen) < _LOOKED_AT:
        return seen
    return [one for one in seen if one.session_id != seen[-1].session_id]


def _rewrite(
    engine: Engine,
    project: str,
    seen: Iterable[SessionSignal],
    now_of: Callable[[list[SessionSignal]], list[SessionSignal]],
) -> None:
    """Write only sessions that change."""
    by_session: dict[str, list[SessionSignal]] = defaultdict(list)
    for signal in seen:
        by_session[signal.session_id].append(signal)
    for session_id, mine in by_session.items():
        now = now_of(mine)
        if now != mine:
            engine.store.apply([PutSignals(project, session_id, _KINDS, tuple(now))])


def renamed_signal(signal: SessionSignal, moves: Moves, modules: Moves) -> SessionSignal:
    """A signal with current names in its subject, module and details."""
    named = signal.subject.split("\n")
    lines = [moves.get(line, line) for line in named]
    if signal.kind in _OF_MODULES:
        lines = [modules.get(signal.subject, signal.subject)]
    detail = _moved(signal.detail, moves)
    if signal.kind is SignalKind.CO_ACCESS and lines != sorted(lines):
        # Pairs are stored sorted, so the count of "first file first" flips too.
        lines.sort()
        detail = _turned(detail, signal.count)
    gone = {module_of(old): module_of(moves[old]) for old in named if old in moves}
    return replace(
        signal,
        subject="\n".join(lines),
        module=gone.get(signal.module) or modules.get(signal.module, signal.module),
        detail=detail,
    )


def _is_of(signal: SessionSignal, files: frozenset[str]) -> bool:
    """Whether a signal is about the use of some of the files."""
    return signal.kind in _OF_USE and not files.isdisjoint(signal.subject.split("\n"))


def _joined(signals: Iterable[SessionSignal]) -> list[SessionSignal]:
    """One signal per subject: a session may have used a file under both names."""
    found: dict[tuple[SignalKind, str], SessionSignal] = {}
    for signal in signals:
        key = (signal.kind, signal.subject)
        known = found.get(key)
        more = 0 if known is None else known.count
        found[key] = replace(signal, count=signal.count + more)
    return list(found.values())


def _turned(detail: Json, count: int) -> Json:
    if not isinstance(detail, dict) or not isinstance(first := detail.get("a_first"), int):
        return detail
    return {**detail, "a_first": count - first}


def _moved(value: Json, moves: Moves) -> Json:
    if isinstance(value, str):
        return moves.get(value, value)
    if isinstance(value, list):
        return [_moved(item, moves) for item in value]
    if isinstance(value, dict):
        return {key: _moved(item, moves) for key, item in value.items()}
    return value


# -- Learned memories -----------------------------------------------------------------------------


def _move_learned(engine: Engine, project: str, moves: Moves) -> None:
    where = Filter(project=project, include_user=False, sources=(Source.OBSERVER_INFERRED,))
    known = [memory for memory in engine.store.iterate(where) if memory.key]
    for start in range(0, len(known), _BATCH):
        some = known[start : start + _BATCH]
        why = engine.store.explanations([memory.id for memory in some])
        for memory in some:
            if memory.id in why:
                _move_learned_memory(engine, memory, why[memory.id], moves)


def _move_learned_memory(engine: Engine, memory: Memory, why: Explanation, moves: Moves) -> None:
    """Give a learned memory the key that its rule makes from current names."""
    lines = [_moved_line(line, moves) for line in why.subject.split("\n")]
    if memory.key != key_for(why.rule, why.subject):
        return
    subject = "\n".join(sorted(lines) if why.rule == "co_dependence" else lines)
    if subject == why.subject:
        return
    again = replace(memory, key=key_for(why.rule, subject))
    try:
        engine.store.apply(
            [
                Replace(again, None, memory.updated_at),
                PutExplanation(replace(why, subject=subject)),
            ]
        )
    except (ConflictError, NotFoundError):
        # It was changed meanwhile, or the new name already has a memory.
        return


def _moved_line(line: str, moves: Moves) -> str:
    """A line of a subject: a path, or a step of a recipe, which is a tool and a path."""
    tool, space, path = line.rpartition(" ")
    return moves[line] if line in moves else f"{tool}{space}{moves.get(path, path)}"
