"""Activity log entries with the titles of the memories and sessions they are about.

Titles are looked up at read time, so entries about deleted memories have none.
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
