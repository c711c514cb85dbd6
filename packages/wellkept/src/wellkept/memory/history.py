"""How a memory came to be, in time, and the activity log with the titles of what it is about.

A memory names its successor; the way back is found by the memories that name this one. Titles are
looked up at read time, so entries about deleted memories have none.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.core.records import record
from wellkept.core.session.activity import ACTIVITY_RETENTION, Activity, ActivityKind
from wellkept.core.session.injected_text import quoted
from wellkept.core.text import first_line

if TYPE_CHECKING:
    from wellkept.core.memory import Memory
    from wellkept.core.ports.store import Store

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from wellkept.core.memory import Evidence, Memory
from wellkept.core.ports.injections import Injection, InjectionFilter

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


TITLE_CHARS = 100


@record
class ActivityItem:
    """One entry. `type` and `short` are those of its memory."""

    news: Activity
    title: str | None = None
    type: str | None = None
    short: str | None = None


@record(kw_only=True)
class Event:
    """Something that happened to a memory or a session; `type` and `short` are the memory's."""

    number: int
    kind: ActivityKind
    at: datetime
    project: str
    memory_id: str | None
    session_id: str | None
    subject: str | None
    type: str | None
    short: str | None
    title: str | None

    @classmethod
    def of(cls, item: ActivityItem) -> Event:
        """The entry as it is shown."""
        news = item.news
        return cls(
            number=news.number,
            kind=news.kind,
            at=news.at,
            project=news.project,
            memory_id=news.memory_id,
            session_id=news.session_id,
            subject=news.subject,
            type=item.type,
            short=item.short,
            title=item.title,
        )

    def as_text(self) -> str:
        """When, what and its title."""
        name = f"m:{self.short}" if self.short else (self.session_id or self.memory_id or "")[:12]
        head = f"{self.at:%Y-%m-%d %H:%M:%S} {self.kind.value:<18} {name}"
        return f"{head} {quoted(self.title or '')}".rstrip()


def read_activity(
    store: Store, *, project: str | None, after: int, limit: int
) -> list[ActivityItem]:
    """The first entries after a number, oldest first; `project` None means all projects."""
    found = store.activity(after=after, project=project, limit=limit)
    memories = {m.id: m for m in store.get([n.memory_id for n in found if n.memory_id])}
    return [_item(store, entry, memories.get(entry.memory_id or "")) for entry in found]


def latest_activity(store: Store, *, project: str | None, limit: int) -> list[ActivityItem]:
    """The last entries, oldest first; `project` None means all projects."""
    found = store.activity(after=0, project=project, limit=ACTIVITY_RETENTION)[-limit:]
    if not found:
        return []
    return read_activity(store, project=project, after=found[0].number - 1, limit=limit)


def _item(store: Store, entry: Activity, memory: Memory | None) -> ActivityItem:
    if memory is not None:
        title = memory.citation or first_line(memory.content, limit=TITLE_CHARS)
        return ActivityItem(entry, title, memory.type.value, memory.short)
    if entry.memory_id is None and entry.session_id is not None:
        session = store.get_session(entry.session_id)
        return ActivityItem(entry, session.title if session else None)
    return ActivityItem(entry, entry.subject)
