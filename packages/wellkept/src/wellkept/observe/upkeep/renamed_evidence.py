"""Applies file renames to learned data: session signals, file links, keys of learned memories.

Without it a renamed file would be learned from scratch, and its memories would exist twice.
Memories themselves are handled by `renames`. Invariant: a second run changes nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping

from wellkept.core.changes import PutExplanation, PutSignals, Replace
from wellkept.core.code_modules import module_of
from wellkept.core.codec import Json
from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept.core.session.scratchpad import Explanation, SessionSignal, SignalKind
from wellkept.core.types import Source
from wellkept.memory.engine import Engine
from wellkept.observe.learning.linked_files import forget_links, move_history
from wellkept.observe.learning.rules import key_for

_KINDS = tuple(kind for kind in SignalKind if kind is not SignalKind.E2E)
_OF_USE = (SignalKind.FILE_ACCESS, SignalKind.CO_ACCESS, SignalKind.TIME_ANOMALY)
_OF_MODULES = (SignalKind.SEQUENCE, SignalKind.CONTEXT_COST, SignalKind.CALIBRATION)
_LOOKED_AT = 100_000
_BATCH = 200

Moves = Mapping[str, str]


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
