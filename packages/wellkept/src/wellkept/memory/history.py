"""`wk.history()`: how a memory came to be, in time: what it replaced, its evidence, its use.

A memory names its successor; the way back is found by the memories that name this one.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from wellkept.core.memory import Evidence, Memory
from wellkept.core.ports.injections import Injection, InjectionFilter
from wellkept.core.records import record

if TYPE_CHECKING:
    from wellkept.memory.workspace import OpenMemory

MAX_VERSIONS: Final = 100
MAX_GIVEN: Final = 100


class HistoryKind(StrEnum):
    """What happened to a memory."""

    LEARNED = "learned"
    EVIDENCE = "evidence"
    GIVEN = "given"
    REPLACED = "replaced"
    CLOSED = "closed"
    STALE = "stale"
    ARCHIVED = "archived"


@record(kw_only=True)
class HistoryEntry:
    """One thing that happened, to which version of the memory."""

    at: datetime
    kind: HistoryKind
    memory_id: str
    text: str
    evidence: Evidence | None = None
    given: Injection | None = None


@record(kw_only=True)
class MemoryHistory:
    """Versions, oldest first, and what happened to them. `current` is the one that stands."""

    current: str | None
    versions: tuple[Memory, ...]
    entries: tuple[HistoryEntry, ...]


def history(wk: OpenMemory, memory: Memory) -> MemoryHistory:
    """The history of a memory, from its first version to the last."""
    versions = _versions(wk, memory)
    entries = [one for version in versions for one in _entries(wk, version)]
    last = versions[-1]
    return MemoryHistory(
        current=last.id if last.is_open else None,
        versions=versions,
        entries=tuple(sorted(entries, key=lambda one: one.at)),
    )


def _versions(wk: OpenMemory, memory: Memory) -> tuple[Memory, ...]:
    store = wk.engine.store
    found = {memory.id: memory}
    later = memory
    while later.superseded_by and later.superseded_by not in found and len(found) < MAX_VERSIONS:
        following = store.get([later.superseded_by])
        if not following:
            break
        later = following[0]
        found[later.id] = later
    waiting = [memory.id]
    while waiting and len(found) < MAX_VERSIONS:
        for one in store.replaced_by(waiting.pop()):
            if one.id not in found:
                found[one.id] = one
                waiting.append(one.id)
    ordered = sorted(found.values(), key=lambda one: (one.valid_from, one.created_at, one.id))
    # The one that stands, or the last that did, comes last whatever dates say.
    end = [one for one in ordered if one.id == later.id]
    return (*(one for one in ordered if one.id != later.id), *end)


def _entries(wk: OpenMemory, memory: Memory) -> list[HistoryEntry]:
    def entry(at: datetime, kind: HistoryKind, text: str = "") -> HistoryEntry:
        return HistoryEntry(at=at, kind=kind, memory_id=memory.id, text=text)

    found = [entry(memory.created_at, HistoryKind.LEARNED, memory.content)]
    found += [
        HistoryEntry(
            at=one.at or memory.created_at,
            kind=HistoryKind.EVIDENCE,
            memory_id=memory.id,
            text=one.note or one.ref,
            evidence=one,
        )
        for one in memory.evidence
    ]
    if memory.valid_to is not None:
        kind = HistoryKind.REPLACED if memory.superseded_by else HistoryKind.CLOSED
        found.append(entry(memory.valid_to, kind, memory.superseded_by or ""))
    if memory.stale_at is not None:
        found.append(entry(memory.stale_at, HistoryKind.STALE))
    if memory.archived_at is not None:
        found.append(entry(memory.archived_at, HistoryKind.ARCHIVED))
    where = InjectionFilter(project=wk.project, line_id=memory.id)
    found += [
        HistoryEntry(
            at=one.at,
            kind=HistoryKind.GIVEN,
            memory_id=memory.id,
            text=", ".join(line.outcome.value for line in one.lines),
            given=one,
        )
        for one in wk.engine.store.injections(where, limit=MAX_GIVEN)
    ]
    return found
