"""Progressive disclosure: index rows, then the timeline around one, then full records.

An index row costs a few dozen tokens and states the cost of the full record, so a model fetches
only what it needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order
from wellkept.core.records import record, replace
from wellkept.core.text import first_line
from wellkept.core.types import TYPE_RULES, MemoryType
from wellkept.memory.engine import Engine

TITLE_CHARS = 80
MAX_DEPTH = 100


@record(kw_only=True)
class IndexRow:
    """A memory as one line: enough to decide whether to read it."""

    id: str
    short: str
    type: MemoryType
    badge: str
    title: str
    at: datetime
    read_tokens: int
    work_tokens: int | None
    stale: bool
    score: float | None = None


@record
class Timeline:
    """The memories before and after an anchor, in order of time."""

    before: tuple[IndexRow, ...]
    anchor: IndexRow
    after: tuple[IndexRow, ...]


def index_row(engine: Engine, memory: Memory, *, score: float | None = None) -> IndexRow:
    """The one-line view of a memory."""
    return IndexRow(
        id=memory.id,
        short=memory.short,
        type=memory.type,
        badge=TYPE_RULES[memory.type].badge,
        title=memory.citation or first_line(memory.content, limit=TITLE_CHARS),
        at=memory.valid_from,
        read_tokens=engine.count_tokens(memory.content),
        work_tokens=memory.work_tokens,
        stale=memory.stale_at is not None,
        score=score,
    )


def timeline(
    engine: Engine, anchor_id: str, *, where: Filter, before: int = 5, after: int = 5
) -> Timeline:
    """The memories around an anchor in time, inside the filter."""
    from wellkept.memory.edit import get_memory

    for depth in (before, after):
        if not 0 <= depth <= MAX_DEPTH:
            raise UsageError(f"A depth of {depth} is out of range.", hint=f"Use 0 to {MAX_DEPTH}.")
    anchor = get_memory(engine, anchor_id)
    earlier = _side(engine, anchor, where, count=before, order=Order.EVENT_LATEST)
    later = _side(engine, anchor, where, count=after, order=Order.EVENT)
    return Timeline(
        tuple(index_row(engine, m) for m in reversed(earlier)),
        index_row(engine, anchor),
        tuple(index_row(engine, m) for m in later),
    )


def _side(
    engine: Engine, anchor: Memory, where: Filter, *, count: int, order: Order
) -> list[Memory]:
    """Up to `count` memories on one side of the anchor, nearest first; ids order one moment."""
    if count == 0:
        return []
    backwards = order is Order.EVENT_LATEST
    bounds = (
        replace(where, until=anchor.valid_from + timedelta(milliseconds=1))
        if backwards
        else replace(where, since=anchor.valid_from)
    )
    found: list[Memory] = []
    own = _position(anchor)
    for memory in _stream(engine, bounds, order=order):
        position = _position(memory)
        if position == own or (position < own) != backwards:
            continue
        found.append(memory)
        if len(found) == count:
            break
    return found


def _stream(engine: Engine, where: Filter, *, order: Order) -> Iterable[Memory]:
    cursor: str | None = None
    while True:
        page = engine.store.list(where, order=order, limit=100, cursor=cursor)
        yield from page.items
        if page.next_cursor is None:
            return
        cursor = page.next_cursor


def _position(memory: Memory) -> tuple[datetime, str]:
    return (memory.valid_from, memory.id)
