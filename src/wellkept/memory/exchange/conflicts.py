"""How a record from elsewhere meets what is known. History is never overwritten.

- Unknown id: it is new, with all its fields as they come.
- Known id: the later `updated_at` wins, and the store when both are the same. Words that lose stay
  with the winner as `merged` evidence; evidence and sessions of both sides are joined. Counters
  alone never cause a write.
- Known id, same time and words, but another type or payload: refused, for neither side is later.
- An open key that another open memory holds: the later one stays open, the other is kept closed
  and points to it.
- Known id under another project: refused; memory does not cross projects by a file.

Invariant: meeting the same records a second time changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from wellkept.core.changes import Change, Insert, Replace
from wellkept.core.errors import UsageError
from wellkept.core.memory import Evidence, Memory
from wellkept.core.ports.store import Store
from wellkept.core.records import record, replace
from wellkept.core.types import EvidenceKind, Scope
from wellkept.memory.engine import Engine

_Slot = tuple[str, str]
_Item = TypeVar("_Item")


class ImportOutcome(StrEnum):
    """What became of a record."""

    NEW = "new"
    MERGED = "merged"
    SKIPPED = "skipped"


@record
class ConflictResult:
    """How one record met the store, and why when that is worth telling."""

    meeting: ImportOutcome
    reason: str | None = None


class Ledger:
    """The store as it will be once the records met so far are written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stored: dict[str, Memory] = {}
        self._pending: dict[str, Memory] = {}
        self._keys: dict[_Slot, str | None] = {}

    def preload(self, ids: Iterable[str]) -> None:
        """Fetch in one question the memories that will be asked for."""
        wanted = [name for name in ids if name not in self._stored]
        self._stored.update((memory.id, memory) for memory in self._store.get(wanted))

    def get(self, id: str) -> Memory | None:
        """The memory as it will be; only preloaded ids and key holders are known."""
        return self._pending.get(id) or self._stored.get(id)

    def holder(self, memory: Memory) -> Memory | None:
        """The other open memory that holds this memory's key."""
        slot = _slot(memory)
        if slot is None:
            return None
        if slot in self._keys:
            held = self._keys[slot]
            found = self.get(held) if held else None
        else:
            found = self._store.find_key(
                slot[1], project=memory.project, user_scope=memory.scope is Scope.USER
            )
            if found is not None:
                self._stored.setdefault(found.id, found)
        return found if found is not None and found.id != memory.id else None

    def put(self, memory: Memory) -> None:
        """Note how a memory will be."""
        before = self.get(memory.id)
        if before is not None and (slot := _slot(before)) is not None:
            self._keys[slot] = None
        self._pending[memory.id] = memory
        if (slot := _slot(memory)) is not None:
            self._keys[slot] = memory.id

    def changes(self, engine: Engine) -> list[Change]:
        """What to write; what gives up a key goes before what takes it."""
        closed_first = sorted(self._pending.values(), key=lambda memory: memory.is_open)
        cards = dict(zip(self._pending, engine.cards(list(self._pending.values())), strict=True))
        return [
            Replace(memory, cards[memory.id], self._stored[memory.id].updated_at)
            if memory.id in self._stored
            else Insert(memory, cards[memory.id])
            for memory in closed_first
        ]


def meet(ledger: Ledger, incoming: Memory) -> ConflictResult:
    """Decide about one record and note the outcome; UsageError when it cannot be taken."""
    known = ledger.get(incoming.id)
    if known is None:
        return _place(ledger, incoming, ConflictResult(ImportOutcome.NEW))
    if known.project != incoming.project:
        raise UsageError(f"The memory {incoming.id} already belongs to {known.project!r}.")
    if incoming.updated_at > known.updated_at:
        merged = _joined(incoming, known)
        verdict = ConflictResult(
            ImportOutcome.MERGED, f"{incoming.short}: the file has the later version"
        )
        return _place(ledger, _with_counters(merged, known), verdict)
    if _differs_in_kind_only(incoming, known):
        raise UsageError(
            f"The memory {incoming.id} has another type or payload but the same updated_at.",
            hint="Give the later one a later updated_at, or edit the Markdown export.",
        )
    merged = _joined(known, incoming)
    if merged == known:
        return ConflictResult(ImportOutcome.SKIPPED)
    ledger.put(merged)
    age = "another" if incoming.updated_at == known.updated_at else "an earlier"
    return ConflictResult(
        ImportOutcome.MERGED, f"{incoming.short}: {age} version, kept as evidence"
    )


def _place(ledger: Ledger, memory: Memory, verdict: ConflictResult) -> ConflictResult:
    """Put a memory down; of two that claim a key the later one stays open."""
    other = ledger.holder(memory)
    if other is None:
        ledger.put(memory)
        return verdict
    if memory.updated_at > other.updated_at:
        ledger.put(_closed(other, memory, at=max(other.updated_at, memory.updated_at)))
        ledger.put(memory)
        reason = f"key {memory.key!r}: {memory.short} is later and supersedes {other.short}"
    else:
        ledger.put(_closed(memory, other, at=memory.updated_at))
        reason = f"key {memory.key!r}: {other.short} is later; {memory.short} is kept as closed"
    return ConflictResult(ImportOutcome.MERGED, reason)


def _closed(memory: Memory, by: Memory, *, at: datetime) -> Memory:
    return replace(
        memory,
        valid_to=max(memory.valid_from, by.valid_from),
        superseded_by=by.id,
        updated_at=at,
    )


def _joined(winner: Memory, loser: Memory) -> Memory:
    """The winner with what the loser knew besides: its words, its evidence, its sessions."""
    evidence = _united(winner.evidence, loser.evidence)
    told = {item.note for item in evidence} | {winner.content}
    if loser.content not in told:
        lost = Evidence(EvidenceKind.MERGED, loser.id, loser.content, loser.updated_at)
        evidence = (*evidence, lost)
    return replace(
        winner,
        evidence=evidence,
        provenance_sessions=_united(winner.provenance_sessions, loser.provenance_sessions),
    )


def _with_counters(memory: Memory, known: Memory) -> Memory:
    return replace(
        memory,
        access_count=max(memory.access_count, known.access_count),
        accessed_at=max(memory.accessed_at, known.accessed_at),
    )


def _differs_in_kind_only(left: Memory, right: Memory) -> bool:
    if (left.updated_at, left.content) != (right.updated_at, right.content):
        return False
    return (left.type, left.payload) != (right.type, right.payload)


def _slot(memory: Memory) -> _Slot | None:
    """What makes an open key unique: the project, or the person for `user` memories."""
    if memory.key is None or not memory.is_open:
        return None
    return ("" if memory.scope is Scope.USER else memory.project, memory.key)


def _united(left: tuple[_Item, ...], right: tuple[_Item, ...]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys((*left, *right)))
