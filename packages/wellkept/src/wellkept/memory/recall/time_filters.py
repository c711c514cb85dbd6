"""Time modes of recall as filters: the last sessions, and the days around an event."""

from __future__ import annotations

from datetime import datetime, timedelta

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.query import Filter, Order
from wellkept.core.records import replace
from wellkept.memory.engine import Engine
from wellkept.memory.recall.requests import RecallRequest

_AROUND = timedelta(days=1)
_INCLUSIVE = timedelta(milliseconds=1)  # the upper bound of a filter is exclusive
_PAGE = 200


def time_filter(engine: Engine, request: RecallRequest) -> Filter | None:
    """The filter narrowed by the time modes of the request; None when nothing can match.

    A time window of the caller stays part of the filter.
    """
    where = request.where
    if request.around is not None:
        where = _around_event(engine, request.around, where)
    if request.recent_sessions is not None:
        return _recent_sessions(engine, request.recent_sessions, where)
    return where


def _recent_sessions(engine: Engine, count: int, where: Filter) -> Filter | None:
    """Only the most recently active sessions."""
    if count < 1:
        raise UsageError(f"{count} recent sessions is out of range.", hint="Use 1 or more.")
    sessions: dict[str, None] = {}
    cursor: str | None = None
    while len(sessions) < count:
        page = engine.store.list(where, order=Order.EVENT_LATEST, limit=_PAGE, cursor=cursor)
        sessions.update((m.session_id, None) for m in page.items if m.session_id is not None)
        cursor = page.next_cursor
        if cursor is None:
            break
    return replace(where, sessions=tuple(sessions)[:count]) if sessions else None


def _around_event(engine: Engine, memory_id: str, where: Filter) -> Filter:
    """From a day before the session of the event began to a day after it ended."""
    found = engine.store.get([memory_id])
    if not found:
        raise NotFoundError(
            f"No memory has the id {memory_id!r}.", hint="Look it up with `wellkept list`."
        )
    first, last = _extent(engine, found[0].session_id, found[0].valid_from, where)
    since, until = first - _AROUND, last + _AROUND + _INCLUSIVE
    return replace(
        where,
        since=max(since, where.since) if where.since else since,
        until=min(until, where.until) if where.until else until,
    )


def _extent(
    engine: Engine, session_id: str | None, at: datetime, where: Filter
) -> tuple[datetime, datetime]:
    if session_id is None:
        return at, at
    inside = replace(where, sessions=(session_id,))
    first = engine.store.list(inside, order=Order.EVENT, limit=1).items
    last = engine.store.list(inside, order=Order.EVENT_LATEST, limit=1).items
    moments = [at, *(m.valid_from for m in (*first, *last))]
    return min(moments), max(moments)
