"""Confidence propagation: a change of one memory spreads along its relations.

When the confidence of a memory changes by d, the target of each relation changes by d x factor x
the confidence of the relation, clipped to [0, 1]; the actual change of the target spreads on in the
same way. Changes below 0.05 are not made and do not spread. Because targets move by a share of the
*change*, setting the same value again changes nothing, and reverting a change reverts its effects,
except where 0 or 1 clipped them.

A memory reached by several paths changes once, by the strongest. Factors are below 1, so changes
shrink along a path and the walk ends on any graph. Verified, closed and foreign memories do not
change and pass nothing on.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from wellkept.core.changes import Rescore
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.memory import Memory
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
    """A memory whose confidence changes, the new value, and why."""

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
    """Set the confidence of a memory and spread the change, in one transaction.

    The report lists the memory first, then every other that changed, strongest first, each with the
    path of ids from the first.
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
    """Every change, strongest first, by a best-first walk."""
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
        if target is None or not (
            target.is_open and not target.user_verified and target.project == move.memory.project
        ):
            continue
        weight = min(1.0, max(0.0, relation.confidence))
        share = FACTORS[relation.type] * weight
        after = min(1.0, max(0.0, target.confidence + move.change * share))
        reason = f"{move.memory.short} {relation.type.value} it: {move.change:+.2f} x {share:+.2f}"
        onward = _Move(target, after, (*move.path, target.id), relation.type.value, reason)
        if abs(onward.change) >= SMALLEST_MOVE - _ROUNDING:
            yield onward
