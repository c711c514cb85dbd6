"""Compaction: merges near-duplicates without losing content.

Among open memories of one project, type and scope, those whose vectors are nearer than the model's
`same` threshold are compared word by word. Duplicates are merged into the better one, in this
order: verified by a person, pinned, more confident, more important, older. Exception: a statement
that says more is never merged into one that says less; the fuller one survives, or both when a
person verified or pinned the shorter. Contradictions are reported and left alone.

The other memory is closed and names its successor. Its text becomes evidence of the survivor; tags,
files, sessions and relations are united. Raw session turns and memories with a payload are never
touched. Each group of duplicates is one transaction; a group changed by another process meanwhile
is skipped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from wellkept.core.changes import Change, Close, IndexEntry, Replace
from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.memory import Evidence, Memory, Relation, WorkUnitRef
from wellkept.core.ports.models import Vector
from wellkept.core.query import Filter
from wellkept.core.records import field, record, replace
from wellkept.core.text import fold
from wellkept.core.types import EvidenceKind, MemoryType, Progress, RelationType, Scope
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.report import (
    MaintenanceAction,
    MaintenanceItem,
    MaintenanceReport,
    all_in_project,
    item_for,
    open_in_project,
)
from wellkept.memory.remember import is_mergeable, reinforced
from wellkept.text.similarity import TextRelation, compare

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Preference: TypeAlias = tuple[bool, bool, float, float, datetime, str]

_REPEATS = frozenset({TextRelation.SAME, TextRelation.COVERED, TextRelation.PARAPHRASE})


@record
class Merge:
    """One merged memory, the id of its final survivor, and the report line."""

    gone: Memory
    kept_id: str
    item: MaintenanceItem


@record
class MergePlan:
    """What to merge. `survivors` are as they will be, `originals` as all memories were."""

    now: datetime
    merges: tuple[Merge, ...]
    remarks: tuple[MaintenanceItem, ...]
    survivors: Mapping[str, Memory]
    originals: Mapping[str, Memory]


def plan_merges(
    memories: Mapping[str, Memory],
    near: Mapping[str, Mapping[str, float]],
    *,
    now: datetime,
) -> MergePlan:
    """Decide about near-duplicates; `near` holds each memory's neighbours with their cosine."""
    planner = _Planner(memories, now)
    for memory in sorted(memories.values(), key=preference):
        planner.consider(memory, near.get(memory.id, {}))
    return planner.plan()


def preference(memory: Memory) -> Preference:
    """Sorts the memory that should survive first."""
    return (
        not memory.user_verified,
        not memory.pinned,
        -memory.confidence,
        -memory.importance,
        memory.created_at,
        memory.id,
    )


def retargeted(
    relations: tuple[Relation, ...], into: Mapping[str, str], *, own_id: str
) -> tuple[Relation, ...]:
    """Relations with merged targets replaced by their survivors, without self-links and repeats."""
    turned: dict[tuple[RelationType, str | None, str | None], Relation] = {}
    for relation in relations:
        target_id = into.get(relation.target_id or "", relation.target_id)
        if target_id != own_id:
            key = (relation.type, target_id, relation.target_file)
            turned.setdefault(key, replace(relation, target_id=target_id))
    return tuple(turned.values())


@record(frozen=False)
class _Planner:
    originals: Mapping[str, Memory]
    now: datetime
    current: dict[str, Memory] = field(default_factory=dict[str, Memory])
    into: dict[str, str] = field(default_factory=dict[str, str])
    items: dict[str, MaintenanceItem] = field(default_factory=dict[str, MaintenanceItem])
    remarks: list[MaintenanceItem] = field(default_factory=list[MaintenanceItem])
    compared: set[frozenset[str]] = field(default_factory=set[frozenset[str]])

    def consider(self, memory: Memory, neighbours: Mapping[str, float]) -> None:
        """Merge the neighbours of a memory into it, or it into a fuller one."""
        for other_id, cosine in sorted(neighbours.items(), key=lambda pair: (-pair[1], pair[0])):
            if memory.id in self.into:
                return
            pair = frozenset((memory.id, other_id))
            is_left = other_id in self.originals and other_id not in self.into
            if is_left and pair not in self.compared:
                self.compared.add(pair)
                self._compare(memory, self.originals[other_id], cosine)

    def _compare(self, better: Memory, other: Memory, cosine: float) -> None:
        relation = compare(better.content, other.content)
        if obstacle := self._obstacle(better, other, relation):
            rule, reason = obstacle
            self.remarks.append(
                item_for(other, before="open", after="open", rule=rule, reason=reason)
            )
        elif relation in _REPEATS:
            self._merge(other, better, f"{relation.value}, cosine {cosine:.2f}")
        elif relation is TextRelation.REFINES:
            self._merge(better, other, f"says less, cosine {cosine:.2f}")

    def _obstacle(
        self, better: Memory, other: Memory, relation: TextRelation
    ) -> tuple[str, str] | None:
        """The rule and reason that keep two near-duplicates apart, if worth reporting."""
        if relation is TextRelation.DIFFERENT:
            return None
        if relation is TextRelation.CONTRADICTS or _in_conflict(better, other):
            return "contradiction", f"contradicts {better.short}; settle which one holds"
        if len({self._now(better).key, self._now(other).key} - {None}) > 1:
            return "kept apart", f"repeats {better.short}, but each has a key of its own"
        if relation is TextRelation.REFINES and (better.user_verified or better.pinned):
            return "kept apart", f"says more than {better.short}, which a person verified or pinned"
        words = {better.has_persons_word, other.has_persons_word}
        is_note = better.is_agent_note or other.is_agent_note
        if relation is not TextRelation.SAME and is_note and len(words) > 1:
            return "kept apart", f"repeats {better.short}, but only one is a person's word"
        return None

    def _merge(self, gone: Memory, kept: Memory, why: str) -> None:
        self.current[kept.id] = merge_into(self._now(kept), self._now(gone), now=self.now)
        self.into[gone.id] = kept.id
        self.items[gone.id] = item_for(
            gone, before="open", after=f"merged into {kept.short}", rule="merged", reason=why
        )

    def _now(self, memory: Memory) -> Memory:
        return self.current.get(memory.id, memory)

    def _root(self, memory_id: str) -> str:
        while memory_id in self.into:
            memory_id = self.into[memory_id]
        return memory_id

    def plan(self) -> MergePlan:
        roots = {gone_id: self._root(gone_id) for gone_id in self.into}
        survivors = {
            m.id: replace(m, relations=retargeted(m.relations, roots, own_id=m.id))
            for m in self.current.values()
            if m.id not in self.into
        }
        merges = tuple(
            Merge(self.originals[item.id], roots[item.id], item) for item in self.items.values()
        )
        return MergePlan(self.now, merges, tuple(self.remarks), survivors, self.originals)


def merge_into(kept: Memory, gone: Memory, *, now: datetime) -> Memory:
    """The survivor with the text, links, use count and confidence of the other."""
    stronger = reinforced(kept, gone, now=now)
    words = Evidence(EvidenceKind.MERGED, gone.id, gone.content, now)
    return replace(
        stronger,
        evidence=(*stronger.evidence, words),
        relations=(*kept.relations, *gone.relations),
        access_count=kept.access_count + gone.access_count,
        accessed_at=max(kept.accessed_at, gone.accessed_at),
        stale_at=kept.stale_at,
    )


def _in_conflict(left: Memory, right: Memory) -> bool:
    pairs = ((left, right.id), (right, left.id))
    return any(
        relation.type is RelationType.CONFLICTS_WITH and relation.target_id == other_id
        for memory, other_id in pairs
        for relation in memory.relations
    )


_LOADED_AT_ONCE = 500
_BLOCK_ROWS = 512
_MAX_NEIGHBOURS = 64

_Kind = tuple[MemoryType, Scope, WorkUnitRef | None, str | None]


class _Member(NamedTuple):
    """A memory among equal texts; sorts the best first."""

    preference: Preference
    id: str
    has_key: bool


@record(frozen=False)
class _Search:
    """Memories that may be merged, by kind, and which are near to each other."""

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
    ids = list(found.near)
    loaded: dict[str, Memory] = {}
    for start in range(0, len(ids), _LOADED_AT_ONCE):
        loaded.update((m.id, m) for m in engine.store.get(ids[start : start + _LOADED_AT_ONCE]))
    plan = plan_merges(loaded, found.near, now=engine.clock())
    notes = () if embedder else ("No embedding model: only equal texts were compared.",)
    if not dry_run:
        plan, skipped = _write(engine, plan)
        _retarget_referrers(engine, project, plan)
        notes += (f"Groups that changed meanwhile: {skipped}. Run this again.",) if skipped else ()
    return MaintenanceReport(
        action=MaintenanceAction.COMPACT,
        dry_run=dry_run,
        examined=found.examined,
        items=(*(merge.item for merge in plan.merges), *plan.remarks),
        notes=notes,
    )


# -- Finding --------------------------------------------------------------------------------------


def _current(project: str) -> Filter:
    return replace(open_in_project(project), stale=False)


def _find_equal_texts(engine: Engine, project: str, found: _Search) -> None:
    """Link memories whose texts are equal but for case and blanks to the best of their kind.

    Only that one, and those with a key, are then compared by vector.
    """
    equal: defaultdict[tuple[_Kind, int], list[_Member]] = defaultdict(list)
    for memory in engine.store.iterate(_current(project)):
        if is_mergeable(memory):
            found.examined += 1
            text = hash(" ".join(fold(memory.content).split()))
            member = _Member(preference(memory), memory.id, has_key=memory.key is not None)
            equal[_kind(memory), text].append(member)
    for (kind, _), members in equal.items():
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
    """Link memories of one kind whose vectors are near enough to be the same."""
    kinds: defaultdict[_Kind, list[tuple[str, Vector]]] = defaultdict(list)
    for memory_id, vector in engine.store.vectors(model_id=model_id, where=_current(project)):
        if memory_id in found.distinct:
            kinds[found.distinct[memory_id]].append((memory_id, vector))
    cut = engine.thresholds().same
    total, before = sum(map(len, kinds.values())), 0
    for vectors in kinds.values():
        step = _offset_progress(progress, before, total)
        for pair in near_pairs(vectors, cut=cut, progress=step):
            found.link(*pair)
        before += len(vectors)


def near_pairs(
    vectors: Iterable[tuple[str, Vector]], *, cut: float, progress: Progress | None = None
) -> Iterator[tuple[str, str, float]]:
    """Every pair of ids with a cosine of at least `cut`, and the cosine; each pair once.

    For one vector at most its 64 nearest among those after it. Pairs are compared block by block
    as matrix products: far faster than a search for each, but still quadratic. 10,000 vectors take
    seconds, 100,000 minutes.
    """
    named = list(vectors)
    if len(named) < 2:
        return
    matrix = _unit_rows([vector for _, vector in named])
    for start in range(0, len(named), _BLOCK_ROWS):
        cosines = matrix[start : start + _BLOCK_ROWS] @ matrix[start:].T
        for row, row_cosines in enumerate(cosines):
            for column in _nearest_after(row_cosines, row, cut):
                left, right = named[start + row][0], named[start + column][0]
                yield left, right, float(row_cosines[column])
        if progress:
            progress(min(start + _BLOCK_ROWS, len(named)), len(named))


def _nearest_after(cosines: NDArray[np.float32], row: int, cut: float) -> list[int]:
    import numpy as np

    columns = row + 1 + np.flatnonzero(cosines[row + 1 :] >= cut)
    best_first = columns[np.argsort(-cosines[columns], kind="stable")]
    return best_first[:_MAX_NEIGHBOURS].tolist()


def _unit_rows(vectors: list[Vector]) -> NDArray[np.float32]:
    import numpy as np

    matrix = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix.astype(np.float32) / np.maximum(lengths, np.float32(1e-12))


def _offset_progress(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Progress of one part as progress of the whole."""
    return (lambda done, _: progress(before + done, total)) if progress else None


# -- Writing --------------------------------------------------------------------------------------


def _write(engine: Engine, plan: MergePlan) -> tuple[MergePlan, int]:
    """Write group by group; returns the part of the plan that was done and the number skipped."""
    groups: defaultdict[str, list[Merge]] = defaultdict(list)
    for merge in plan.merges:
        groups[merge.kept_id].append(merge)
    refreshed = engine.refreshed_entries([plan.survivors[kept_id] for kept_id in groups])
    entries = dict(zip(groups, refreshed, strict=True))
    done = {
        kept_id
        for kept_id, merges in groups.items()
        if _write_group(engine, plan, kept_id, merges, entries[kept_id])
    }
    merges = tuple(merge for merge in plan.merges if merge.kept_id in done)
    return replace(plan, merges=merges), len(groups) - len(done)


def _write_group(
    engine: Engine, plan: MergePlan, kept_id: str, merges: list[Merge], entry: IndexEntry | None
) -> bool:
    survivor = plan.survivors[kept_id]
    there = {m.id: m for m in engine.store.get([merge.gone.id for merge in merges])}
    if any(not _is_unchanged(merge.gone, there.get(merge.gone.id)) for merge in merges):
        return False
    # Closing comes first: it frees a key that the survivor may take over.
    changes: list[Change] = [
        Close(merge.gone.id, max(plan.now, merge.gone.valid_from), kept_id) for merge in merges
    ]
    changes.append(Replace(survivor, entry, plan.originals[kept_id].updated_at))
    try:
        engine.store.apply(changes)
    except (ConflictError, NotFoundError):
        return False
    return True


def _is_unchanged(planned: Memory, stored: Memory | None) -> bool:
    return stored is not None and stored.is_open and stored.updated_at == planned.updated_at


def _retarget_referrers(engine: Engine, project: str, plan: MergePlan) -> None:
    """Point relations at merged memories to their survivors."""
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
