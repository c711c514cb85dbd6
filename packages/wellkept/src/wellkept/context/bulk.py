"""Actions on many memories at once, each with an id that takes it back.

Every action is one transaction: all memories or none. What it changed is kept for `KEPT_DAYS`, so
that an undo restores it exactly. `expected` names the version that a person saw; a memory that was
changed meanwhile stops the action.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from wellkept.core.changes import Change, Close, Delete, Mark, PutSilence, Replace
from wellkept.core.errors import MemoryChangedError, UsageError
from wellkept.core.memory import Evidence, Memory, MemoryPatch
from wellkept.core.ports.store import KEPT_DAYS, MAINTENANCE, UndoStep
from wellkept.core.records import record, replace
from wellkept.core.text import counted
from wellkept.core.types import EvidenceKind
from wellkept.memory.as_text import brief_line
from wellkept.memory.draft import amend
from wellkept.memory.edit import note_erased
from wellkept.memory.lifecycle.report import MaintenanceItem

if TYPE_CHECKING:
    from wellkept.context.workspace import TellingMemory
    from wellkept.core.query import Filter

MAX_MEMORIES: Final = 5_000
_REASON_CHARS: Final = 300


class BulkAction(StrEnum):
    """What can be done with many memories. `reject` closes them and notes why; `archive` puts them
    away and `restore` brings them back; `flag` silences them and asks for review."""

    CONFIRM = "confirm"
    REJECT = "reject"
    ARCHIVE = "archive"
    RESTORE = "restore"
    DELETE = "delete"
    FLAG = "flag"
    IMPORTANCE = "importance"
    TAG = "tag"
    UNTAG = "untag"


@record(kw_only=True)
class Edited:
    """What was changed, or would be. `memories` are the first of them as they stand now; deleted
    ones as they were. `confidence` lists whom a new confidence reaches. `undo_id` takes it back;
    None where that cannot be."""

    action: str
    count: int
    memories: tuple[Memory, ...]
    confidence: tuple[MaintenanceItem, ...] = ()
    undo_id: str | None = None
    undo_until: datetime | None = None
    dry_run: bool = False

    @property
    def memory(self) -> Memory:
        """The memory, where one was changed."""
        return self.memories[0]

    @property
    def ids(self) -> list[str]:
        """Full ids, in order."""
        return [memory.id for memory in self.memories]

    @property
    def question(self) -> str:
        """What a person is asked before many are changed; empty before one."""
        is_much = self.count > 1 or self.action == BulkAction.DELETE
        return f"{self.action.capitalize()} {self.count} memories?" if is_much else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """How to take it back."""
        return (f"`wellkept undo {self.undo_id}` takes it back.",) if self.undo_id else ()

    def as_text(self) -> str:
        """What was done, and to which memories."""
        unchanged = " (nothing changed)" if self.dry_run else ""
        head = f"{self.action}: {counted(self.count, 'memory', 'memories')}{unchanged}"
        moved = (
            f"{one.short} {one.before} -> {one.after} ({one.reason})" for one in self.confidence
        )
        return "\n".join([head, *map(brief_line, self.memories), *moved])


@record(kw_only=True)
class BulkRequest:
    """An action and what it needs."""

    action: BulkAction
    reason: str = ""
    session: str | None = None
    importance: float | None = None
    tags: tuple[str, ...] = ()
    dry_run: bool = False


SHOWN: Final = 50


def bulk(
    wk: TellingMemory,
    request: BulkRequest,
    memories: Sequence[Memory],
    *,
    expected: Mapping[str, datetime] | None = None,
) -> Edited:
    """Do it, in one transaction."""
    _check(request, memories)
    for memory in memories:
        require_version(memory, (expected or {}).get(memory.id))
    if request.dry_run or not memories:
        return Edited(
            action=request.action.value,
            count=len(memories),
            memories=tuple(memories[:SHOWN]),
            dry_run=request.dry_run,
        )
    ids = [memory.id for memory in memories]
    step = begin_step(wk, request.action, ids)
    if request.action is BulkAction.FLAG:
        for one in ids:
            wk.injected.flag(one, reason=request.reason, session=request.session)
    else:
        if request.action is BulkAction.DELETE:
            note_erased(wk.engine, memories)
        wk.engine.store.apply(_changes(wk, request, memories))
    finish_step(wk, step)
    return Edited(
        action=request.action.value,
        count=len(ids),
        undo_id=step.id,
        undo_until=step.at + timedelta(days=KEPT_DAYS),
        memories=tuple(wk.engine.store.get(ids[:SHOWN]) or memories[:SHOWN]),
    )


def chosen(
    wk: TellingMemory, *, names: Iterable[str] = (), where: Filter | None = None
) -> list[Memory]:
    """The memories that are named, or all that match; at most `MAX_MEMORIES`."""
    if where is None:
        found = {memory.id: memory for memory in map(wk.get, names)}
        return list(found.values())
    page = wk.engine.store.list(where, limit=MAX_MEMORIES)
    if page.total > MAX_MEMORIES:
        raise UsageError(
            f"{page.total:,} memories match, and at most {MAX_MEMORIES:,} can be changed at once.",
            hint="Narrow the filter down.",
        )
    return list(page.items)


def require_version(memory: Memory, expected: datetime | None) -> None:
    """Refuse a memory that was changed since a person saw it."""
    if expected is not None and memory.updated_at != expected:
        raise MemoryChangedError(memory)


# -- Undo -----------------------------------------------------------------------------------------


def begin_step(wk: TellingMemory, action: str, ids: Sequence[str]) -> UndoStep:
    """Keep memories as they are; called before an action."""
    store, now = wk.engine.store, wk.engine.clock()
    store.prune_undo(before=now - timedelta(days=KEPT_DAYS))
    step = UndoStep(
        id=wk.engine.new_id(), project=wk.project, action=action, at=now, count=len(ids)
    )
    store.begin_undo(step, ids)
    return step


def finish_step(wk: TellingMemory, step: UndoStep, *, made: Sequence[str] = ()) -> None:
    """Note how an action left the memories; called after it."""
    wk.engine.store.finish_undo(step.id, made=made)


def undo(wk: TellingMemory, step_id: str) -> UndoStep:
    """Take an action back."""
    return wk.engine.store.undo(step_id.strip(), project=wk.project)


def undo_steps(wk: TellingMemory, *, limit: int = 20) -> list[UndoStep]:
    """What can be taken back, latest first."""
    since = wk.engine.clock() - timedelta(days=KEPT_DAYS)
    found = wk.engine.store.undo_steps(project=wk.project, limit=limit)
    return [one for one in found if one.at >= since or one.action == MAINTENANCE]


# -- Changes --------------------------------------------------------------------------------------


def _check(request: BulkRequest, memories: Sequence[Memory]) -> None:
    if request.action is BulkAction.IMPORTANCE and request.importance is None:
        raise UsageError("No importance is given.", hint="Give a number between 0 and 1.")
    if request.action in (BulkAction.TAG, BulkAction.UNTAG) and not request.tags:
        raise UsageError("No tags are given.", hint="Give at least one.")
    if len(memories) > MAX_MEMORIES:
        raise UsageError(
            f"{counted(len(memories), 'memory', 'memories')} are too many at once.",
            hint=f"At most {MAX_MEMORIES:,}.",
        )


def _changes(wk: TellingMemory, request: BulkRequest, memories: Sequence[Memory]) -> list[Change]:
    now = wk.engine.clock()
    match request.action:
        case BulkAction.DELETE:
            return [Delete(memory.id) for memory in memories]
        case BulkAction.ARCHIVE | BulkAction.RESTORE:
            at = now if request.action is BulkAction.ARCHIVE else None
            return [Mark(memory.id, "archived", at) for memory in memories]
        case BulkAction.REJECT:
            return [
                one for memory in memories for one in rejection(memory, request.reason, now=now)
            ]
        case _:
            changed = [amend(memory, _patch(request, memory), now=now) for memory in memories]
            entries = wk.engine.refreshed_entries(changed)
            pairs = zip(changed, entries, memories, strict=True)
            silence = request.action is BulkAction.CONFIRM
            return [
                *(Replace(new, entry, old.updated_at) for new, entry, old in pairs),
                # What a person vouches for may be given again.
                *(PutSilence(wk.project, m.id, None) for m in memories if silence),
            ]


def rejection(memory: Memory, reason: str, *, now: datetime) -> list[Change]:
    """The changes that close a memory a person rejects, with the reason as evidence."""
    note = " ".join(reason.split())[:_REASON_CHARS] or None
    evidence = Evidence(EvidenceKind.PERSON, "rejected", note, now)
    at = max(now, memory.updated_at)
    judged = replace(
        memory,
        evidence=(*memory.evidence, evidence),
        needs_review=False,
        user_verified=False,
        updated_at=at,
    )
    closing = [Close(memory.id, max(now, memory.valid_from))] if memory.is_open else []
    return [Replace(judged, None, memory.updated_at), *closing]


def _patch(request: BulkRequest, memory: Memory) -> MemoryPatch:
    match request.action:
        case BulkAction.CONFIRM:
            return MemoryPatch(user_verified=True, needs_review=False)
        case BulkAction.IMPORTANCE:
            return MemoryPatch(importance=request.importance)
        case BulkAction.TAG:
            return MemoryPatch(tags=tuple(dict.fromkeys((*memory.tags, *request.tags))))
        case _:
            return MemoryPatch(tags=tuple(t for t in memory.tags if t not in request.tags))
