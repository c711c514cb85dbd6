"""Confidence moves with evidence, and what one memory gains or loses its relations feel.

When the confidence of a memory changes by d, the target of each of its relations moves by
d x factor x the relation's own confidence, held inside [0, 1]; what the target really moved by
travels on in the same way. A move below 0.05 is not made and goes no further. Because neighbours
move by a share of the *change*, setting the same value again moves nothing, and taking a change
back takes its effects back too, except where 0 or 1 cut them short.

A memory that several paths lead to moves once, by the strongest of them. Factors are below 1, so
moves only shrink along a path and the walk ends on any graph. What a person verified, what is
closed and what belongs to another project does not move and passes nothing on.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from wellkept.core.changes import Rescore
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.memory import Memory, Relation
from wellkept.core.ports.memories import MemoryStore
from wellkept.core.records import record
from wellkept.core.types import RelationType
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.report import (
    MaintenanceAction,
    MaintenanceItem,
    MaintenanceReport,
    item_for,
)

FACTORS: Mapping[RelationType, float] = MappingProxyType(
    {
        RelationType.REQUIRED_WITH: 0.3,
        RelationType.CONFLICTS_WITH: -0.4,
        RelationType.VALIDATES: 0.6,
        RelationType.SUPERSEDES: 0.8,
        RelationType.DERIVED_FROM: 0.5,
    }
)
SMALLEST_MOVE = 0.05
_ROUNDING = 1e-9


@record
class _Move:
    """A memory that moves, by how much, and why."""

    memory: Memory
    after: float
    path: tuple[str, ...]
    rule: str
    reason: str

    @property
    def change(self) -> float:
        return self.after - self.memory.confidence

    def item(self) -> MaintenanceItem:
        return item_for(
            self.memory,
            before=self.memory.confidence,
            after=self.after,
            rule=self.rule,
            reason=self.reason,
            path=self.path,
        )


def set_confidence(
    engine: Engine, *, id: str, confidence: float, dry_run: bool = False
) -> MaintenanceReport:
    """Set how sure we are of a memory and let its relations feel it, in one transaction.

    The report lists the memory itself first, then every other that moved, strongest first, each
    with the path of ids from the memory that was set.
    """
    if not (math.isfinite(confidence) and 0.0 <= confidence <= 1.0):
        raise UsageError(
            f"The confidence {confidence} is out of range.", hint="Give a number from 0 to 1."
        )
    found = engine.store.get([id])
    if not found:
        raise NotFoundError(f"There is no memory {id!r}.", hint="`wellkept list` shows ids.")
    start = _Move(found[0], float(confidence), (id,), "set", "set to this value")
    moves = list(_spread(engine.store, start)) if start.change else []
    if moves and not dry_run:
        engine.store.apply([Rescore(m.memory.id, confidence=m.after) for m in moves])
    return MaintenanceReport(
        action=MaintenanceAction.CONFIDENCE,
        dry_run=dry_run,
        examined=max(1, len(moves)),
        items=tuple(move.item() for move in moves),
    )


def _spread(rows: MemoryStore, start: _Move) -> Iterator[_Move]:
    """Every move, strongest first: a shortest-path walk where a longer path is a weaker move."""
    settled: set[str] = set()
    queue: list[tuple[float, int, str, int, _Move]] = [(-math.inf, 1, start.memory.id, 0, start)]
    pushed = 0
    while queue:
        *_, move = heapq.heappop(queue)
        if move.memory.id in settled:
            continue
        settled.add(move.memory.id)
        yield move
        for onward in _onward(rows, move, settled):
            pushed += 1
            rank = (-abs(onward.change), len(onward.path), onward.memory.id, pushed)
            heapq.heappush(queue, (*rank, onward))


def _onward(rows: MemoryStore, move: _Move, settled: set[str]) -> Iterator[_Move]:
    relations = [r for r in move.memory.relations if r.target_id and r.target_id not in settled]
    targets = {
        m.id: m for m in rows.get(list({r.target_id: None for r in relations if r.target_id}))
    }
    for relation in relations:
        target = targets.get(relation.target_id or "")
        if target is None or not _may_move(target, move.memory):
            continue
        onward = _moved(target, relation, move)
        if abs(onward.change) >= SMALLEST_MOVE - _ROUNDING:
            yield onward


def _may_move(target: Memory, origin: Memory) -> bool:
    return target.is_open and not target.user_verified and target.project == origin.project


def _moved(target: Memory, relation: Relation, by: _Move) -> _Move:
    weight = min(1.0, max(0.0, relation.confidence))
    share = FACTORS[relation.type] * weight
    after = min(1.0, max(0.0, target.confidence + by.change * share))
    reason = f"{by.memory.short} {relation.type.value} it: {by.change:+.2f} x {share:+.2f}"
    return _Move(target, after, (*by.path, target.id), relation.type.value, reason)
