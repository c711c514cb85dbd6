"""Time modes of recall as filters: the last sessions, and the days around an event."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.query import Filter, Order
from wellkept.core.records import replace
from wellkept.core.text import query_terms
from wellkept.memory.engine import Engine
from wellkept.memory.recall.features import READ_CHARS, begins_a_word
from wellkept.memory.recall.requests import RecallRequest
from wellkept.text.dates import BEGINNING, DateWindow

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store
    from wellkept.core.query import Filter

_CERTAINTY = 0.7
_LOOK_AT = 20
_NAME = r"[\w.+#-]*\w(?: (?-i:[A-Z0-9])[\w.+#-]*\w)*"
_CHANGE = re.compile(
    r"\b(?:(?:before|prior to|until) (?:the |we |our )?"
    r"(?:migrat|mov|switch|upgrad|chang)\w* (?:\w+ ){0,3}?to"
    r"|(?:vor|bis zu[rm]?) (?:de[rmn] )?(?:umstellung|migration|wechsel|umzug) (?:auf|zu|nach)"
    r"|(?:avant|jusqu['’]à) (?:la |le |l['’])?(?:migration|passage|changement) (?:vers|à|pour)"
    r"|(?:antes de|hasta) (?:la |el )?(?:migración|cambio|paso) a)"
    rf" (?P<name>{_NAME})",
    re.IGNORECASE,
)
# A bare name is a time only in a question about the past: "what served search before Solr?"
_BARE = re.compile(
    rf"\b(?:before|prior to|avant|vor|antes de) (?P<name>(?-i:(?=[A-Z])){_NAME})", re.IGNORECASE
)
_OF_THE_PAST = re.compile(
    r"\b(?:did|was|were|had|used to|war|waren|hatten?|était|étaient|era|eran)\b"
    r"|^(?:what|which|who|how|where) (?:\w+ )?\w+ed\b",
    re.IGNORECASE,
)


def window_before_change(store: Store, query: str, *, where: Filter) -> DateWindow | None:
    """The time before the first memory that names what a change led to; `span_text` is the part of
    the query that says so."""
    match = _CHANGE.search(query) or (_OF_THE_PAST.search(query) and _BARE.search(query))
    if not match:
        return None
    terms, name = query_terms(match["name"]), match["name"].casefold()
    hits = store.search_fulltext(terms, where, limit=_LOOK_AT) if terms else []
    texts = store.contents([hit.id for hit in hits])
    moments = [
        hit.candidate.valid_from_ms
        for hit in hits
        if begins_a_word(name, (text := texts.get(hit.id, "")[:READ_CHARS]).casefold(), text)
    ]
    if not moments:
        return None
    until = datetime.fromtimestamp(min(moments) / 1000, tz=UTC)
    return DateWindow(BEGINNING, until, match.group(), _CERTAINTY) if until > BEGINNING else None


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
