"""What is new, with the titles of what it is about, for people and pages that follow along.

Titles are looked up when they are asked for, so what was forgotten meanwhile has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.activity import ACTIVITY_RETENTION, Activity, ActivityRange
from wellkept.core.records import record
from wellkept.core.text import first_line

if TYPE_CHECKING:
    from wellkept.app.wellkept import Wellkept
    from wellkept.core.memory import Memory

TITLE_CHARS = 100


@record
class ActivityItem:
    """One thing that is new, as it stands now. `type` and `short` are those of the memory."""

    news: Activity
    title: str | None = None
    type: str | None = None
    short: str | None = None


def activity_range(wk: Wellkept) -> ActivityRange:
    """From which number to which the news are kept."""
    return wk.engine.store.activity_range()


def read_activity(
    wk: Wellkept, *, after: int, limit: int, all_projects: bool = False
) -> list[ActivityItem]:
    """The first news after a number that concern this project, in order."""
    store = wk.engine.store
    found = store.activity(after=after, project=None if all_projects else wk.project, limit=limit)
    memories = {m.id: m for m in store.get([n.memory_id for n in found if n.memory_id])}
    return [_item(wk, news, memories.get(news.memory_id or "")) for news in found]


def latest_activity(wk: Wellkept, *, limit: int, all_projects: bool = False) -> list[ActivityItem]:
    """The last news that concern this project, in order."""
    project = None if all_projects else wk.project
    known = wk.engine.store.activity(after=0, project=project, limit=ACTIVITY_RETENTION)[-limit:]
    if not known:
        return []
    return read_activity(wk, after=known[0].number - 1, limit=limit, all_projects=all_projects)


def _item(wk: Wellkept, news: Activity, memory: Memory | None) -> ActivityItem:
    if memory is not None:
        title = memory.citation or first_line(memory.content, limit=TITLE_CHARS)
        return ActivityItem(news, title, memory.type.value, memory.short)
    if news.memory_id is None and news.session_id is not None:
        session = wk.engine.store.get_session(news.session_id)
        return ActivityItem(news, session.title if session else None)
    return ActivityItem(news, news.subject)
