"""Pruning: deletes memories by rule.

Every deletion names its rule; pinned memories are never deleted. Verified memories are not deleted
for low importance or confidence unless the caller says so, but are when their scope or retention
ends. For closed memories only the rules about scope and retention apply.

A rule is a function from a memory to a reason; `_RULES` has them in order. Knows nothing of files
or git: the caller passes `exists`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from wellkept.core.changes import Delete, Mark
from wellkept.core.clock import days_between
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.payloads import ContextCost, KeptItem
from wellkept.core.query import Filter, Validity
from wellkept.core.records import field, record, replace
from wellkept.core.types import MemoryType, Progress, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.file_presence import Exists
from wellkept.memory.lifecycle.report import (
    MaintenanceAction,
    MaintenanceItem,
    MaintenanceReport,
    all_in_project,
    item_for,
    write_each,
)
from wellkept.memory.lifecycle.staleness import recipe_held_at

_DELETED_AT_ONCE = 200


class PruneRule(StrEnum):
    """Why a memory is removed."""

    SESSION_OVER = "session over"
    WORK_UNIT_OVER = "work unit over"
    TIMELINE_OLD = "timeline old"
    RECIPE_UNUSED = "recipe unused"
    FILES_GONE = "files gone"
    SAMPLES_OLD = "samples old"
    LOW_CONFIDENCE = "low confidence"
    LOW_IMPORTANCE = "low importance"


@record(kw_only=True)
class Retention:
    """Retention times and minimum values."""

    min_importance: float = 0.1
    min_confidence: float = 0.2
    unused_days: float = 60
    session_days: float = 7
    archive_days: float = 90
    timeline_days: float = 90
    recipe_days: float = 60
    samples_per_module: int = 30


@record
class _Case:
    """What the rules need besides the memory itself."""

    now: datetime
    keep: Retention
    exists: Exists | None
    include_verified: bool

    def age_days(self, moment: datetime) -> float:
        return days_between(moment, self.now)

    def spares(self, memory: Memory) -> bool:
        return memory.user_verified and not self.include_verified


OnDelete = Callable[[Sequence[Memory]], None]
"""Called with the memories that are about to be deleted; if it raises, they stay."""


@record
class _ToDelete:
    memory: Memory
    item: MaintenanceItem


@record(frozen=False)
class _Findings:
    to_delete: list[_ToDelete] = field(default_factory=list[_ToDelete])
    examined: int = 0
    spared: int = 0


def prune(
    engine: Engine,
    *,
    project: str,
    keep: Retention | None = None,
    exists: Exists | None = None,
    include_verified: bool = False,
    forecast: Mapping[str, float] | None = None,
    on_delete: OnDelete | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> MaintenanceReport:
    """Delete the memories that a rule matches.

    `exists` says whether a project file is there; without it the rule about deleted files is not
    applied. `forecast` gives importances to assume, for a preview of pruning after a decay.
    """
    engine.store.flush()
    case = _Case(engine.clock(), keep or Retention(), exists, include_verified)
    found = _judge_all(engine, project, case, forecast or {})
    to_delete = (
        found.to_delete if dry_run else _delete(engine, found.to_delete, on_delete, progress)
    )
    return MaintenanceReport(
        action=MaintenanceAction.PRUNE,
        dry_run=dry_run,
        examined=found.examined,
        items=tuple(d.item for d in to_delete),
        notes=tuple(_notes(found, case)),
        removed=tuple(d.memory for d in to_delete),
    )


def _judge_all(
    engine: Engine, project: str, case: _Case, forecast: Mapping[str, float]
) -> _Findings:
    found = _Findings()
    samples: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in engine.store.iterate(all_in_project(project)):
        found.examined += 1
        seen = replace(memory, importance=forecast.get(memory.id, memory.importance))
        if isinstance(memory.payload, ContextCost) and memory.is_open:
            samples[memory.payload.module].append(memory)
        if memory.pinned or isinstance(memory.payload, KeptItem):
            continue
        if verdict := _verdict(seen, case):
            found.to_delete.append(_ToDelete(memory, _item(seen, *verdict)))
        elif case.spares(memory) and _verdict(seen, replace(case, include_verified=True)):
            found.spared += 1
    gone = {d.memory.id for d in found.to_delete}
    found.to_delete.extend(d for d in _old_samples(samples, case.keep) if d.memory.id not in gone)
    return found


def _verdict(memory: Memory, case: _Case) -> tuple[PruneRule, str] | None:
    for rule, reason_of in _RULES:
        if reason := reason_of(memory, case):
            return rule, reason
    return None


def _notes(found: _Findings, case: _Case) -> Iterator[str]:
    if case.exists is None:
        yield "Files were not looked at, so records of deleted files stay."
    if found.spared:
        yield f"{found.spared} more would go, but a person verified them."


def _item(memory: Memory, rule: PruneRule, reason: str) -> MaintenanceItem:
    before = {
        PruneRule.LOW_IMPORTANCE: memory.importance,
        PruneRule.LOW_CONFIDENCE: memory.confidence,
    }.get(rule, "kept")
    return item_for(memory, before=before, after="removed", rule=rule.value, reason=reason)


def _delete(
    engine: Engine,
    to_delete: Sequence[_ToDelete],
    on_delete: OnDelete | None,
    progress: Progress | None,
) -> list[_ToDelete]:
    """Delete memories that have not changed meanwhile; others stay for the next run."""
    done: list[_ToDelete] = []
    for start in range(0, len(to_delete), _DELETED_AT_ONCE):
        chunk = to_delete[start : start + _DELETED_AT_ONCE]
        there = {m.id: m for m in engine.store.get([d.memory.id for d in chunk])}
        due = [d for d in chunk if there.get(d.memory.id) == d.memory]
        if on_delete and due:
            on_delete([d.memory for d in due])
        written = write_each(engine.store, [Delete(d.memory.id) for d in due])
        done.extend(d for d in due if d.memory.id in written)
        if progress:
            progress(start + len(chunk), len(to_delete))
    return done


# -- The rules ------------------------------------------------------------------------------------


def _session_over(memory: Memory, case: _Case) -> str | None:
    age = case.age_days(memory.created_at)
    if memory.scope is not Scope.SESSION or age <= case.keep.session_days:
        return None
    return f"session memory, {age:.0f} days old (kept {case.keep.session_days:g})"


def _work_unit_over(memory: Memory, case: _Case) -> str | None:
    if memory.archived_at is None or not _ends_with_work_unit(memory):
        return None
    age = case.age_days(memory.archived_at)
    if age <= case.keep.archive_days:
        return None
    return f"archived {age:.0f} days ago (kept {case.keep.archive_days:g})"


def _timeline_old(memory: Memory, case: _Case) -> str | None:
    # Counted from when it was stored, not from the event, so that imported history is not lost.
    age = case.age_days(memory.created_at)
    if memory.type is not MemoryType.TIMELINE or age <= case.keep.timeline_days:
        return None
    return f"timeline entry, {age:.0f} days old (kept {case.keep.timeline_days:g})"


def _recipe_unused(memory: Memory, case: _Case) -> str | None:
    if memory.type is not MemoryType.WORKFLOW_RECIPE or not memory.is_open:
        return None
    age = case.age_days(recipe_held_at(memory))
    if age <= case.keep.recipe_days:
        return None
    return f"no successful use for {age:.0f} days (kept {case.keep.recipe_days:g})"


def _files_gone(memory: Memory, case: _Case) -> str | None:
    automatic = memory.source is Source.COMMIT_AUTO and memory.type is MemoryType.MODULE_INSIGHT
    if case.exists is None or not automatic or not memory.files:
        return None
    if any(case.exists(path) for path in memory.files):
        return None
    return "all files of this commit record are gone"


def _low_confidence(memory: Memory, case: _Case) -> str | None:
    lasting = memory.scope in (Scope.GLOBAL, Scope.MODULE)
    if not lasting or not memory.is_open or case.spares(memory):
        return None
    idle = case.age_days(memory.accessed_at)
    if memory.confidence >= case.keep.min_confidence or idle < case.keep.unused_days:
        return None
    return f"confidence {memory.confidence:.2f}, unused for {idle:.0f} days"


def _low_importance(memory: Memory, case: _Case) -> str | None:
    current = memory.is_open and memory.archived_at is None
    if not current or case.spares(memory) or memory.importance >= case.keep.min_importance:
        return None
    return f"importance {memory.importance:.3f} is below {case.keep.min_importance:g}"


_RULES: tuple[tuple[PruneRule, Callable[[Memory, _Case], str | None]], ...] = (
    (PruneRule.SESSION_OVER, _session_over),
    (PruneRule.WORK_UNIT_OVER, _work_unit_over),
    (PruneRule.TIMELINE_OLD, _timeline_old),
    (PruneRule.RECIPE_UNUSED, _recipe_unused),
    (PruneRule.FILES_GONE, _files_gone),
    (PruneRule.LOW_CONFIDENCE, _low_confidence),
    (PruneRule.LOW_IMPORTANCE, _low_importance),
)


def _old_samples(samples: Mapping[str, list[Memory]], keep: Retention) -> Iterator[_ToDelete]:
    """Cost samples older than the newest ones of the same module."""
    for module, memories in samples.items():
        newest_first = sorted(memories, key=lambda m: (m.created_at, m.id), reverse=True)
        for memory in newest_first[keep.samples_per_module :]:
            if not memory.pinned:
                reason = f"older than the last {keep.samples_per_module} samples of {module}"
                yield _ToDelete(memory, _item(memory, PruneRule.SAMPLES_OLD, reason))


# -- Work units -----------------------------------------------------------------------------------


def archive_work_unit(
    engine: Engine,
    *,
    ref: WorkUnitRef,
    project: str,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> MaintenanceReport:
    """Archive the memories of a merged work unit and of the units below it.

    Archived memories leave recall at once and are pruned later. Archiving twice changes nothing:
    the time counts from the first.
    """
    where = Filter(project=project, include_user=False, validity=Validity.ANY)
    now = engine.clock()
    examined, items = 0, list[MaintenanceItem]()
    for memory in engine.store.iterate(where):
        examined += 1
        if _belongs_to(memory, ref) and _ends_with_work_unit(memory) and not memory.pinned:
            items.append(
                item_for(
                    memory,
                    before="current",
                    after="archived",
                    rule="work unit merged",
                    reason=f"part of {ref.label}",
                )
            )
    if not dry_run:
        marks = [Mark(item.id, "archived", now) for item in items]
        written = write_each(engine.store, marks, progress=progress)
        items = [item for item in items if item.id in written]
    return MaintenanceReport(
        action=MaintenanceAction.ARCHIVE, dry_run=dry_run, examined=examined, items=tuple(items)
    )


def _ends_with_work_unit(memory: Memory) -> bool:
    return memory.scope is Scope.WORK_UNIT or memory.type is MemoryType.WORK_UNIT_OUTCOME


def _belongs_to(memory: Memory, ref: WorkUnitRef) -> bool:
    unit = memory.work_unit
    return (
        unit is not None
        and unit.methodology == ref.methodology
        and unit.hierarchy[: len(ref.hierarchy)] == ref.hierarchy
    )
