"""Near-duplicates become one memory, and nothing that was said is lost.

Among open memories of one project, type and scope, those whose vectors are nearer than the
model's `same` threshold are compared word by word. What says the same is merged into the better
one, in this order: verified by a person, pinned, more confident, more important, older. One
exception: a statement that says more is never merged into one that says less; the fuller one is
kept instead, or both when a person vouches for the shorter. What contradicts is left alone and
reported.

The memory that gives way is closed and names its successor; its text stays with the survivor as
evidence, its tags, files, sessions and relations are united. Raw session turns and memories with a
typed payload are never touched. Each group of duplicates is one transaction; a group that another
process changed meanwhile is passed over. `merging` decides, this module finds and writes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from wellkept.core.changes import Change, Close, IndexEntry, Replace
from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.ports.models import Vector
from wellkept.core.query import Filter
from wellkept.core.records import field, record, replace
from wellkept.core.text import fold
from wellkept.core.types import MemoryType, Progress, Scope
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.merge_plan import (
    Merge,
    MergePlan,
    Preference,
    plan_merges,
    preference,
    retargeted,
)
from wellkept.memory.lifecycle.near_pairs import near_pairs
from wellkept.memory.lifecycle.report import (
    MaintenanceAction,
    MaintenanceReport,
    all_in_project,
    in_project,
)
from wellkept.memory.remember import is_mergeable

_LOADED_AT_ONCE = 500

_Kind = tuple[MemoryType, Scope, WorkUnitRef | None, str | None]


class _Member(NamedTuple):
    """What is held of a memory while equal texts are gathered; sorts the best first."""

    preference: Preference
    id: str
    has_key: bool


@record(frozen=False)
class _Search:
    """What may be merged, whose vectors are worth comparing, and what is near to what."""

    examined: int = 0
    distinct: dict[str, _Kind] = field(default_factory=dict[str, _Kind])
    near: dict[str, dict[str, float]] = field(
        default_factory=lambda: defaultdict[str, dict[str, float]](dict)
    )

    def link(self, left: str, right: str, cosine: float) -> None:
        self.near[left][right] = cosine
        self.near[right][left] = cosine


def compact(
    engine: Engine, *, project: str, dry_run: bool = False, progress: Progress | None = None
) -> MaintenanceReport:
    """Merge the near-duplicates of a project; without an embedder, only equal texts."""
    engine.store.flush()
    found = _Search()
    _find_equal_texts(engine, project, found)
    embedder = engine.embedder()
    if embedder is not None and len(found.distinct) > 1:
        _find_near(engine, project, embedder.model_id, found, progress)
    plan = plan_merges(_load(engine, list(found.near)), found.near, now=engine.clock())
    notes = () if embedder else ("No embedding model: only equal texts were compared.",)
    if not dry_run:
        plan, missed = _write(engine, plan)
        _retarget_referrers(engine, project, plan)
        notes += (f"Groups that changed meanwhile: {missed}. Run this again.",) if missed else ()
    return MaintenanceReport(
        action=MaintenanceAction.COMPACT,
        dry_run=dry_run,
        examined=found.examined,
        items=(*(merge.item for merge in plan.merges), *plan.remarks),
        notes=notes,
    )


# -- Finding --------------------------------------------------------------------------------------


def _current(project: str) -> Filter:
    return replace(in_project(project), stale=False)


def _find_equal_texts(engine: Engine, project: str, found: _Search) -> None:
    """Link memories whose texts are equal but for case and blanks to the best of their kind.

    Only that one needs to be compared by meaning; and those with a key, which may have to stand
    for themselves.
    """
    alike: defaultdict[tuple[_Kind, int], list[_Member]] = defaultdict(list)
    for memory in engine.store.iterate(_current(project)):
        if is_mergeable(memory):
            found.examined += 1
            text = hash(" ".join(fold(memory.content).split()))
            member = _Member(preference(memory), memory.id, has_key=memory.key is not None)
            alike[_kind(memory), text].append(member)
    for (kind, _), members in alike.items():
        best, *others = sorted(members)
        found.distinct[best.id] = kind
        found.distinct.update((other.id, kind) for other in others if other.has_key)
        for other in others:
            found.link(best.id, other.id, 1.0)


def _kind(memory: Memory) -> _Kind:
    """Only memories of one kind can be merged: a note on another work unit is another note."""
    return (
        memory.type,
        memory.scope,
        memory.work_unit if memory.scope is Scope.WORK_UNIT else None,
        memory.session_id if memory.scope is Scope.SESSION else None,
    )


def _find_near(
    engine: Engine, project: str, model_id: str, found: _Search, progress: Progress | None
) -> None:
    """Link memories of one kind that the model takes for the same."""
    kinds: defaultdict[_Kind, list[tuple[str, Vector]]] = defaultdict(list)
    for memory_id, vector in engine.store.vectors(model_id=model_id, where=_current(project)):
        if memory_id in found.distinct:
            kinds[found.distinct[memory_id]].append((memory_id, vector))
    cut = engine.thresholds().same
    total, before = sum(map(len, kinds.values())), 0
    for vectors in kinds.values():
        step = _shifted(progress, before, total)
        for pair in near_pairs(vectors, cut=cut, progress=step):
            found.link(*pair)
        before += len(vectors)


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Progress of a part as progress of the whole."""
    return (lambda done, _: progress(before + done, total)) if progress else None


def _load(engine: Engine, ids: Sequence[str]) -> dict[str, Memory]:
    loaded: dict[str, Memory] = {}
    for start in range(0, len(ids), _LOADED_AT_ONCE):
        loaded.update((m.id, m) for m in engine.store.get(ids[start : start + _LOADED_AT_ONCE]))
    return loaded


# -- Writing --------------------------------------------------------------------------------------


def _write(engine: Engine, plan: MergePlan) -> tuple[MergePlan, int]:
    """Write group by group; returns the part of the plan that was done and how much was not."""
    groups: defaultdict[str, list[Merge]] = defaultdict(list)
    for merge in plan.merges:
        groups[merge.kept_id].append(merge)
    fresh = engine.refreshed_cards([plan.survivors[kept_id] for kept_id in groups])
    cards = dict(zip(groups, fresh, strict=True))
    done = {
        kept_id
        for kept_id, merges in groups.items()
        if _write_group(engine, plan, kept_id, merges, cards[kept_id])
    }
    merges = tuple(merge for merge in plan.merges if merge.kept_id in done)
    return replace(plan, merges=merges), len(groups) - len(done)


def _write_group(
    engine: Engine, plan: MergePlan, kept_id: str, merges: list[Merge], card: IndexEntry | None
) -> bool:
    survivor = plan.survivors[kept_id]
    there = {m.id: m for m in engine.store.get([merge.gone.id for merge in merges])}
    if any(not _as_judged(merge.gone, there.get(merge.gone.id)) for merge in merges):
        return False
    # Closing comes first: it frees a key that the survivor may take over.
    changes: list[Change] = [
        Close(merge.gone.id, max(plan.now, merge.gone.valid_from), kept_id) for merge in merges
    ]
    changes.append(Replace(survivor, card, plan.originals[kept_id].updated_at))
    try:
        engine.store.apply(changes)
    except (ConflictError, NotFoundError):
        return False
    return True


def _as_judged(judged: Memory, there: Memory | None) -> bool:
    return there is not None and there.is_open and there.updated_at == judged.updated_at


def _retarget_referrers(engine: Engine, project: str, plan: MergePlan) -> None:
    """Point relations to memories that gave way at their survivors."""
    into = {merge.gone.id: merge.kept_id for merge in plan.merges}
    if not into:
        return
    referrers = [
        memory
        for memory in engine.store.iterate(all_in_project(project))
        if memory.id not in into and any(r.target_id in into for r in memory.relations)
    ]
    for memory in referrers:
        turned = replace(memory, relations=retargeted(memory.relations, into, own_id=memory.id))
        try:
            engine.store.apply([Replace(turned, None, memory.updated_at)])
        except (ConflictError, NotFoundError):
            # Edited or deleted meanwhile; the closed memory still names its successor.
            continue
