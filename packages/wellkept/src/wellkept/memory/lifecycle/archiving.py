"""Archiving: what maintenance does where a person would prune.

An archived memory is neither told nor found by a usual recall. It stays in the store, is listed by
`wellkept list --archived`, and comes back one by one or with the undo of its step. Each run is one
step and one line in the activity log. A rule archives a memory once: what was brought back stays.

Disuse alone archives nothing, and a file that is gone or a recipe that was not used only marks a
memory as stale (`staleness`): that mark goes away by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from wellkept.core.ports.undo import MAINTENANCE, UndoStep
from wellkept.core.query import CONFIDENCE_BANDS, Filter, Validity
from wellkept.core.records import replace
from wellkept.core.types import MemoryType, Scope
from wellkept.memory.lifecycle.pruning import (
    Case,
    PruneRule,
    Retention,
    ends_with_work_unit,
    judge,
)
from wellkept.memory.lifecycle.report import (
    MaintenanceAction,
    MaintenanceItem,
    MaintenanceReport,
    item_for,
)

if TYPE_CHECKING:
    from wellkept.core.memory import Memory, WorkUnitRef
    from wellkept.memory.engine import Engine

RULES: Final = frozenset(
    {
        PruneRule.SESSION_OVER,
        PruneRule.TIMELINE_OLD,
        PruneRule.SAMPLES_OLD,
        PruneRule.LOW_CONFIDENCE,
    }
)


def archive_due(
    engine: Engine, *, project: str, keep: Retention | None = None, dry_run: bool = False
) -> MaintenanceReport:
    """Archive the memories that one of `RULES` matches, as one step that can be undone."""
    engine.store.flush()
    keep = keep or Retention()
    here = Filter(project=project, include_user=False, validity=Validity.ANY)
    bands = range(1, min(CONFIDENCE_BANDS, int(keep.min_confidence * CONFIDENCE_BANDS) + 1) + 1)
    candidates = _each(
        engine,
        replace(here, scopes=(Scope.SESSION,)),
        replace(here, types=(MemoryType.TIMELINE, MemoryType.CONTEXT_COST)),
        replace(here, bands=tuple(bands), scopes=(Scope.GLOBAL, Scope.MODULE)),
    )
    found = judge(candidates, Case(engine.clock(), keep, rules=RULES))
    before = engine.store.archived_by_rule(project=project)
    items = [
        _item(match.memory, rule=match.rule.value, reason=match.reason)
        for match in found.matches
        if match.memory.id not in before
    ]
    return _archive(engine, project, items, found.examined, action=MAINTENANCE, dry_run=dry_run)


def archive_work_unit(
    engine: Engine, *, ref: WorkUnitRef, project: str, by_rule: bool = False, dry_run: bool = False
) -> MaintenanceReport:
    """Archive the memories of a merged work unit and of the units below it.

    `by_rule`: nobody asked for it, so what was brought back before stays.
    """
    here = Filter(project=project, include_user=False, validity=Validity.ANY)
    of_units = (
        replace(here, scopes=(Scope.WORK_UNIT,)),
        replace(here, types=(MemoryType.WORK_UNIT_OUTCOME,)),
    )
    before = engine.store.archived_by_rule(project=project) if by_rule else set[str]()
    examined, items = 0, list[MaintenanceItem]()
    for memory in _each(engine, *of_units):
        examined += 1
        ends = _belongs_to(memory, ref) and ends_with_work_unit(memory) and not memory.pinned
        if ends and memory.id not in before:
            items.append(_item(memory, rule="work unit merged", reason=f"part of {ref.label}"))
    action = MAINTENANCE if by_rule else MaintenanceAction.ARCHIVE.value
    return _archive(engine, project, items, examined, action=action, dry_run=dry_run)


def _each(engine: Engine, *filters: Filter) -> Iterator[Memory]:
    """The memories that any of the filters matches, each once."""
    seen: set[str] = set()
    for where in filters:
        for memory in engine.store.iterate(where):
            if memory.id not in seen:
                seen.add(memory.id)
                yield memory


def _item(memory: Memory, *, rule: str, reason: str) -> MaintenanceItem:
    return item_for(memory, before="current", after="archived", rule=rule, reason=reason)


def _archive(
    engine: Engine,
    project: str,
    items: Sequence[MaintenanceItem],
    examined: int,
    *,
    action: str,
    dry_run: bool,
) -> MaintenanceReport:
    notes: tuple[str, ...] = ()
    if items and not dry_run:
        step = UndoStep(
            id=engine.new_id(), project=project, action=action, at=engine.clock(), count=len(items)
        )
        done = set(engine.store.archive(step, [item.id for item in items]))
        items = [item for item in items if item.id in done]
        notes = (f"Archived, not deleted: `wellkept undo {step.id}` takes it back.",) * bool(done)
    return MaintenanceReport(
        action=MaintenanceAction.ARCHIVE,
        dry_run=dry_run,
        examined=examined,
        items=tuple(items),
        notes=notes,
    )


def _belongs_to(memory: Memory, ref: WorkUnitRef) -> bool:
    unit = memory.work_unit
    return (
        unit is not None
        and unit.methodology == ref.methodology
        and unit.hierarchy[: len(ref.hierarchy)] == ref.hierarchy
    )
