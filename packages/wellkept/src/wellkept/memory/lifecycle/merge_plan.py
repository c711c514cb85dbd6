"""Plans which near-duplicates are merged into which, without touching a store.

Memories are handled best first. Each absorbs those of its own near-duplicates that say no more than
it does, so a merged memory is near to its survivor itself, never only to a neighbour of it.
Invariant: every merged text becomes evidence of a survivor.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias

from wellkept.core.memory import Evidence, Memory, Relation
from wellkept.core.records import field, record, replace
from wellkept.core.types import EvidenceKind, RelationType
from wellkept.memory.lifecycle.report import MaintenanceItem, item_for
from wellkept.memory.remember import reinforced
from wellkept.text.similarity import TextRelation, compare

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
