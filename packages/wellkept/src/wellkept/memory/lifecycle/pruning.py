"""Pruning: deletes memories by rule, when a person asks for it. Maintenance archives instead.

Every deletion names its rule; pinned memories are never deleted. Verified memories are not deleted
for low importance or confidence unless the caller says so, but are when their scope or retention
ends. For closed memories only the rules about scope and retention apply.

A rule is a function from a memory to a reason; `_RULES` has them in order. Knows nothing of files
or git: the caller passes `exists`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from wellkept.core.ports.store import MAINTENANCE, UndoStep
from wellkept.core.query import CONFIDENCE_BANDS, Filter, Validity
from wellkept.core.records import replace
from wellkept.core.types import MemoryType, Scope
from wellkept.memory.lifecycle.report import (
    MaintenanceAction,
    MaintenanceItem,
    MaintenanceReport,
    item_for,
)

if TYPE_CHECKING:
    from wellkept.core.memory import WorkUnitRef

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from wellkept.core.changes import Delete
from wellkept.core.clock import days_between
from wellkept.core.memory import Memory
from wellkept.core.payloads import ContextCost, KeptItem
from wellkept.core.records import field, record
from wellkept.core.types import Progress, Source
from wellkept.memory.engine import Engine
from wellkept.memory.file_presence import Exists
from wellkept.memory.lifecycle.report import (
    WRITTEN_AT_ONCE,
    all_in_project,
    write_each,
)
from wellkept.memory.lifecycle.staleness import recipe_held_at


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
class Case:
    """What the rules need besides the memory itself."""

    now: datetime
    keep: Retention
    exists: Exists | None = None
    include_verified: bool = False
    rules: frozenset[PruneRule] = frozenset(PruneRule)

    def age_days(self, moment: datetime) -> float:
        return days_between(moment, self.now)

    def spares(self, memory: Memory) -> bool:
        return memory.user_verified and not self.include_verified


def ends_with_work_unit(memory: Memory) -> bool:
    """Whether a memory is archived with its work unit."""
    return memory.scope is Scope.WORK_UNIT or memory.type is MemoryType.WORK_UNIT_OUTCOME


@record
class Match:
    """A memory that a rule matches, and which."""

    memory: Memory
    rule: PruneRule
    reason: str


@record(frozen=False)
class Findings:
    """What the rules match among the memories examined; `spared` counts what is verified."""

    matches: list[Match] = field(default_factory=list[Match])
    examined: int = 0
    spared: int = 0


def prune(
    engine: Engine,
    *,
    project: str,
    keep: Retention | None = None,
    exists: Exists | None = None,
    include_verified: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> MaintenanceReport:
    """Delete the memories that a rule matches.

    `exists` says whether a project file is there; without it the rule about deleted files is not
    applied.
    """
    engine.store.flush()
    case = Case(engine.clock(), keep or Retention(), exists, include_verified)
    found = judge(engine.store.iterate(all_in_project(project)), case)
    matches = found.matches if dry_run else _delete(engine, found.matches, progress)
    return MaintenanceReport(
        action=MaintenanceAction.PRUNE,
        dry_run=dry_run,
        examined=found.examined,
        items=tuple(map(_item, matches)),
        notes=tuple(_notes(found, case)),
        removed=tuple(match.memory for match in matches),
    )


def judge(memories: Iterable[Memory], case: Case) -> Findings:
    """Which rules of the case match which memories; pinned and kept ones match none."""
    found = Findings()
    samples: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        found.examined += 1
        if isinstance(memory.payload, ContextCost) and memory.is_open:
            samples[memory.payload.module].append(memory)
        if memory.pinned or isinstance(memory.payload, KeptItem):
            continue
        if match := _match(memory, case):
            found.matches.append(match)
        elif case.spares(memory) and _match(memory, replace(case, include_verified=True)):
            found.spared += 1
    if PruneRule.SAMPLES_OLD in case.rules:
        gone = {match.memory.id for match in found.matches}
        old = _old_samples(samples, case.keep)
        found.matches.extend(match for match in old if match.memory.id not in gone)
    return found


def _match(memory: Memory, case: Case) -> Match | None:
    for rule, reason_of in _RULES:
        if rule in case.rules and (reason := reason_of(memory, case)):
            return Match(memory, rule, reason)
    return None


def _notes(found: Findings, case: Case) -> Iterator[str]:
    if case.exists is None:
        yield "Files were not looked at, so records of deleted files stay."
    if found.spared:
        yield f"{found.spared} more would go, but a person verified them."


def _item(match: Match) -> MaintenanceItem:
    memory, rule = match.memory, match.rule
    before = {
        PruneRule.LOW_IMPORTANCE: memory.importance,
        PruneRule.LOW_CONFIDENCE: memory.confidence,
    }.get(rule, "kept")
    return item_for(memory, before=before, after="removed", rule=rule.value, reason=match.reason)


def _delete(engine: Engine, matches: Sequence[Match], progress: Progress | None) -> list[Match]:
    """Delete memories that have not changed meanwhile; others stay for the next run."""
    done: list[Match] = []
    for start in range(0, len(matches), WRITTEN_AT_ONCE):
        chunk = matches[start : start + WRITTEN_AT_ONCE]
        there = {m.id: m for m in engine.store.get([match.memory.id for match in chunk])}
        due = [match for match in chunk if there.get(match.memory.id) == match.memory]
        written = write_each(engine.store, [Delete(match.memory.id) for match in due])
        done.extend(match for match in due if match.memory.id in written)
        if progress:
            progress(start + len(chunk), len(matches))
    return done


# -- The rules ------------------------------------------------------------------------------------


def _session_over(memory: Memory, case: Case) -> str | None:
    age = case.age_days(memory.created_at)
    if memory.scope is not Scope.SESSION or age <= case.keep.session_days:
        return None
    return f"session memory, {age:.0f} days old (kept {case.keep.session_days:g})"


def _work_unit_over(memory: Memory, case: Case) -> str | None:
    if memory.archived_at is None or not ends_with_work_unit(memory):
        return None
    age = case.age_days(memory.archived_at)
    if age <= case.keep.archive_days:
        return None
    return f"archived {age:.0f} days ago (kept {case.keep.archive_days:g})"


def _timeline_old(memory: Memory, case: Case) -> str | None:
    # Counted from when it was stored, not from the event, so that imported history is not lost.
    age = case.age_days(memory.created_at)
    if memory.type is not MemoryType.TIMELINE or age <= case.keep.timeline_days:
        return None
    return f"timeline entry, {age:.0f} days old (kept {case.keep.timeline_days:g})"


def _recipe_unused(memory: Memory, case: Case) -> str | None:
    if memory.type is not MemoryType.WORKFLOW_RECIPE or not memory.is_open:
        return None
    age = case.age_days(recipe_held_at(memory))
    if age <= case.keep.recipe_days:
        return None
    return f"no successful use for {age:.0f} days (kept {case.keep.recipe_days:g})"


def _files_gone(memory: Memory, case: Case) -> str | None:
    automatic = memory.source is Source.COMMIT_AUTO and memory.type is MemoryType.MODULE_INSIGHT
    if case.exists is None or not automatic or not memory.files:
        return None
    if any(case.exists(path) for path in memory.files):
        return None
    return "all files of this commit record are gone"


def _low_confidence(memory: Memory, case: Case) -> str | None:
    lasting = memory.scope in (Scope.GLOBAL, Scope.MODULE)
    if not lasting or not memory.is_open or case.spares(memory):
        return None
    idle = case.age_days(memory.accessed_at)
    if memory.confidence >= case.keep.min_confidence or idle < case.keep.unused_days:
        return None
    return f"confidence {memory.confidence:.2f}, unused for {idle:.0f} days"


def _low_importance(memory: Memory, case: Case) -> str | None:
    current = memory.is_open and memory.archived_at is None
    if not current or case.spares(memory) or memory.importance >= case.keep.min_importance:
        return None
    return f"importance {memory.importance:.3f} is below {case.keep.min_importance:g}"


_RULES: tuple[tuple[PruneRule, Callable[[Memory, Case], str | None]], ...] = (
    (PruneRule.SESSION_OVER, _session_over),
    (PruneRule.WORK_UNIT_OVER, _work_unit_over),
    (PruneRule.TIMELINE_OLD, _timeline_old),
    (PruneRule.RECIPE_UNUSED, _recipe_unused),
    (PruneRule.FILES_GONE, _files_gone),
    (PruneRule.LOW_CONFIDENCE, _low_confidence),
    (PruneRule.LOW_IMPORTANCE, _low_importance),
)


def _old_samples(samples: Mapping[str, list[Memory]], keep: Retention) -> Iterator[Match]:
    """Cost samples older than the newest ones of the same module."""
    for module, memories in samples.items():
        newest_first = sorted(memories, key=lambda m: (m.created_at, m.id), reverse=True)
        for memory in newest_first[keep.samples_per_module :]:
            if not memory.pinned:
                reason = f"older than the last {keep.samples_per_module} samples of {module}"
                yield Match(memory, PruneRule.SAMPLES_OLD, reason)


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
        _archived_item(match.memory, rule=match.rule.value, reason=match.reason)
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
            items.append(
                _archived_item(memory, rule="work unit merged", reason=f"part of {ref.label}")
            )
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


def _archived_item(memory: Memory, *, rule: str, reason: str) -> MaintenanceItem:
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
