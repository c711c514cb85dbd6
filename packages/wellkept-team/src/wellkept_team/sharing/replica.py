"""Brings what a team's server says into a local memory.

Used by every laptop, and by the server for its own memory. What both sides had last is kept as one
`Base` for each record. Beyond the common rule (`merge.py`):

- what the team closed is closed here, with its successor; what it erased is deleted here;
- a proposal that was turned down stays here, no longer shared and up for review;
- a statement that is known here under another id gives way to the team's;
- rivals are up for review until one is gone or somebody decided.

Invariant: taking in the same changes twice changes nothing, and a run that was cut off in the
middle is completed by the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from wellkept.core.changes import Change, Close, Delete, Replace
from wellkept.core.errors import ConflictError
from wellkept.core.memory import Evidence, Memory, Relation
from wellkept.core.query import Filter
from wellkept.core.records import field, record, replace
from wellkept.core.team.records import SharedState
from wellkept.core.types import EvidenceKind, RelationType, Scope
from wellkept.memory.edit import Base, Bases
from wellkept.memory.engine import Engine
from wellkept_team.sharing.merge import Merge, Side, changed_side, local_mark, says_the_same
from wellkept_team.sharing.shared_file import SHARED_TYPES, SharedMemory, shared_statement
from wellkept_team.sharing.team_entry import TeamChange, TeamEntry

REVIEWED = "Reviewed for the team"
_TRIES = 4


@record(kw_only=True)
class ReplicaReport:
    """What taking in did, by memory id."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


def take_changes(
    engine: Engine, changes: Sequence[TeamChange], *, project: str, bases: Bases, me: str
) -> ReplicaReport:
    """Take in changes in their order."""
    run = _Replica(engine=engine, project=project, bases=bases, me=me, now=engine.clock())
    run.known = {m.id: m for m in engine.store.get([one.id for one in changes])}
    for change in changes:
        run.take_surely(change)
    return ReplicaReport(
        new=tuple(run.new),
        changed=tuple(run.changed),
        closed=tuple(run.closed),
        conflicts=tuple(dict.fromkeys(run.conflicts)),
    )


@record(frozen=False, kw_only=True)
class _Replica:
    """State of one run."""

    engine: Engine
    project: str
    bases: Bases
    me: str
    now: datetime
    known: dict[str, Memory] = field(default_factory=dict[str, Memory])
    twins: dict[str, list[Memory]] | None = None
    new: list[str] = field(default_factory=list[str])
    changed: list[str] = field(default_factory=list[str])
    closed: list[str] = field(default_factory=list[str])
    conflicts: list[str] = field(default_factory=list[str])

    def take_surely(self, change: TeamChange) -> None:
        """Take in one record, again when somebody here changed it at the same moment."""
        for left in reversed(range(_TRIES)):
            try:
                self.take(change)
            except ConflictError:
                if not left:
                    raise
                found = self.engine.store.get([change.id])
                self.known = {**self.known, **{one.id: one for one in found}}
                self.twins = None
            else:
                return

    def take(self, change: TeamChange) -> None:
        """Take in one record."""
        known, base = self.known.get(change.id), self.bases.get(change.id)
        if known is not None and (known.project != self.project or known.scope is Scope.USER):
            return
        if base is not None and base.left and change.state is not SharedState.TEAM:
            return
        if base is not None and base.erase and known is None:
            return
        match change.state:
            case SharedState.ERASED:
                if known is not None:
                    self._apply([Delete(known.id)])
                    self.closed.append(known.id)
                self.bases.put(change.id, Base(seq=change.seq, state=change.state))
            case SharedState.CLOSED:
                self._close(change, known, base)
            case SharedState.TEAM | SharedState.PROPOSED | SharedState.BROUGHT_BACK:
                self._hold(change, known, base)

    # -- What no longer holds ---------------------------------------------------------------------

    def _close(self, change: TeamChange, known: Memory | None, base: Base | None) -> None:
        entry = change.entry
        mark = base.mark if base else ""
        if known is None or not known.is_open:
            self.bases.put(change.id, Base(seq=change.seq, mark=mark, state=change.state))
            return
        was_proposal = (
            base is not None and base.state is SharedState.PROPOSED and not entry.was_team
        )
        if was_proposal and change.owner == self.me and entry.superseded_by is None:
            self._turn_down(change, known)
            return
        at = max(min(entry.until or self.now, self.now), known.valid_from)
        self._apply([Close(known.id, at, entry.superseded_by)])
        self.closed.append(known.id)
        self.bases.put(change.id, Base(seq=change.seq, mark=mark, state=change.state))

    def _turn_down(self, change: TeamChange, known: Memory) -> None:
        """The team said no; here it stays, for its owner to look at."""
        told = Evidence(
            EvidenceKind.PERSON,
            change.entry.reviewer or change.entry.ended_by or "the team",
            "Turned down for the team",
            self.now,
        )
        kept = replace(known, needs_review=True, evidence=(*known.evidence, told))
        self._apply([Replace(kept, None, known.updated_at)])
        self.conflicts.append(known.id)
        self.bases.put(change.id, Base(seq=change.seq, state=change.state, left=True))

    # -- What holds -------------------------------------------------------------------------------

    def _hold(self, change: TeamChange, known: Memory | None, base: Base | None) -> None:
        shared = change.entry.shared
        if shared is None:
            return
        if known is None:
            is_pruned = base is not None and base.mark == shared.mark
            if not is_pruned or change.state is SharedState.PROPOSED:
                self._insert(change, shared)
            self._note(change, shared)
        elif not known.is_open:
            self._hold_closed(change, shared, known, base)
        else:
            self._compare(change, shared, known, base)

    def _insert(self, change: TeamChange, shared: SharedMemory) -> None:
        memory = self._with_decision(self._merge.new_memory(shared), change, None)
        twins = self._twins(shared)
        memory = replace(
            memory,
            key=next((one.key for one in twins if one.key), None),
            pinned=any(one.pinned for one in twins),
            user_verified=any(one.user_verified for one in twins),
        )
        self._apply([*self._giving_way(twins, memory), self._merge.insert(memory)])
        self.new.append(memory.id)
        self.known[memory.id] = memory
        if memory.needs_review:
            self.conflicts.append(memory.id)
        self._forget_twins(shared)

    def _hold_closed(
        self, change: TeamChange, shared: SharedMemory, known: Memory, base: Base | None
    ) -> None:
        """Closed here, but the team holds on to it: then it says here what it says there."""
        asked = base is not None and base.asked
        was_told = base is not None and base.state is SharedState.CLOSED
        if (asked and self.me not in change.entry.withdrawn_by) or was_told:
            is_same = local_mark(known) == shared.mark
            opened = replace(
                known if is_same else self._merge.theirs(shared, known),
                valid_to=None,
                superseded_by=None,
                needs_review=known.needs_review or asked,
                updated_at=max(self.now, known.updated_at),
            )
            opened = self._with_decision(opened, change, base)
            twins = self._twins(shared)
            reopened = self._merge.update(opened, known)
            self._apply([*self._giving_way(twins, opened), reopened])
            self._forget_twins(shared)
            self.known[known.id] = opened
            self.changed.append(known.id)
            self._note(change, shared)
        elif base is not None:
            self.bases.put(change.id, replace(base, seq=change.seq, state=change.state))
        else:
            self._note(change, shared)  # the next push says that it was closed here

    def _compare(
        self, change: TeamChange, shared: SharedMemory, known: Memory, base: Base | None
    ) -> None:
        merge = self._merge
        side = changed_side(
            ours=local_mark(known), theirs=shared.mark, base=base.mark if base else None
        )
        changes: list[Change] = []
        new = known
        if side is Side.THEIRS:
            new = merge.theirs(shared, known)
        elif side is Side.BOTH and says_the_same(shared, known):
            new = merge.united(shared, known)
        elif side is Side.BOTH:
            new = replace(merge.theirs(shared, known), needs_review=True)
            changes.append(merge.kept_beside(known))
            self.conflicts.append(known.id)
        decided = self._with_decision(new, change, base)
        if decided != known:
            changes.insert(0, merge.update(decided, known))
        self._apply(changes)
        if changes:
            self.changed.append(known.id)
            self.known[known.id] = decided
        self._note(change, shared, keep_mark=base.mark if base and side is Side.OURS else None)

    def _with_decision(self, memory: Memory, change: TeamChange, base: Base | None) -> Memory:
        """With the reviewer's name, and its rivals."""
        entry = change.entry
        evidence = memory.evidence
        told = _decision(change)
        if told is not None and told not in evidence:
            kept = (one for one in evidence if (one.kind, one.note) != (told.kind, told.note))
            evidence = (*kept, told)
        # What the server no longer names is decided; links that it never knew stay.
        before = {
            one.target_id
            for one in memory.relations
            if one.type is RelationType.CONFLICTS_WITH
            and one.target_id is not None
            and (base is not None or self.bases.get(one.target_id) is not None)
        }
        links = tuple(
            one
            for one in memory.relations
            if one.type is not RelationType.CONFLICTS_WITH
            or one.target_id not in before
            or one.target_id in entry.rivals
        )
        links += tuple(
            Relation(RelationType.CONFLICTS_WITH, target_id=one)
            for one in entry.rivals
            if one not in before
        )
        review = memory.needs_review
        if set(entry.rivals) - before:
            review = True
        elif before and not entry.rivals:
            review = False
        return replace(memory, evidence=evidence, relations=links, needs_review=review)

    # -- Writing ----------------------------------------------------------------------------------

    def _twins(self, shared: SharedMemory) -> list[Memory]:
        """Memories of this project that say the same and are not shared yet."""
        if self.twins is None:
            self.twins = {}
            where = Filter(project=self.project, types=SHARED_TYPES)
            for one in self.engine.store.iterate(where):
                if one.scope is not Scope.USER and one.project == self.project:
                    self.twins.setdefault(shared_statement(one), []).append(one)
        found = (one for one in self.twins.get(shared.statement, ()) if one.id != shared.id)
        return [one for one in found if self._is_unshared(one)]

    def _is_unshared(self, memory: Memory) -> bool:
        base = self.bases.get(memory.id)
        return base is None or base.left

    def _giving_way(self, twins: list[Memory], to: Memory) -> list[Change]:
        return [Close(one.id, max(self.now, one.valid_from), to.id) for one in twins]

    def _forget_twins(self, shared: SharedMemory) -> None:
        if self.twins is not None:
            self.twins.pop(shared.statement, None)

    def _note(self, change: TeamChange, shared: SharedMemory, keep_mark: str | None = None) -> None:
        base = Base(
            seq=change.seq,
            mark=shared.mark if keep_mark is None else keep_mark,
            state=change.state,
            rivals=change.entry.rivals,
        )
        self.bases.put(change.id, base)

    def _apply(self, changes: list[Change]) -> None:
        if changes:
            self.engine.store.apply(changes)

    @property
    def _merge(self) -> Merge:
        return Merge(engine=self.engine, project=self.project, now=self.now, origin=self._evidence)

    def _evidence(self, shared: SharedMemory) -> Evidence:
        return Evidence(EvidenceKind.PERSON, shared.author or "the team", "Shared", self.now)


def _decision(change: TeamChange) -> Evidence | None:
    """Who made it the team's, as evidence that stays with the memory."""
    entry: TeamEntry = change.entry
    if change.state is not SharedState.TEAM or entry.decided_by is None:
        return None
    return Evidence(EvidenceKind.PERSON, entry.decided_by, REVIEWED, entry.reviewed_at)
