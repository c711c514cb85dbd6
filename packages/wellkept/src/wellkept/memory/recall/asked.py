"""A question as a caller asks it: by relevance, by date, or about concepts. Answers `recall`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order
from wellkept.core.records import record, replace
from wellkept.core.text import first_line
from wellkept.core.types import TYPE_RULES, MemoryType
from wellkept.memory.engine import Engine
from wellkept.memory.file_presence import exists_below
from wellkept.memory.recall.ranking import STALE_FACTOR
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import (
    RecallHit,
    RecallRequest,
    RecallResult,
    ScorePart,
    SearchMode,
)

if TYPE_CHECKING:
    from wellkept.core.memory import Memory
    from wellkept.memory.arguments import Names
    from wellkept.memory.workspace import OpenMemory

TITLE_CHARS = 80


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
    engine: Engine, anchor: Memory, *, where: Filter, before: int = 5, after: int = 5
) -> tuple[Memory, ...]:
    """The memories around an anchor in time, inside the filter, with the anchor among them."""
    earlier = _side(engine, anchor, where, count=before, order=Order.EVENT_LATEST)
    later = _side(engine, anchor, where, count=after, order=Order.EVENT)
    return (*reversed(earlier), anchor, *later)


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


def mark_missing_files(found: RecallResult, *, root: Path, sure: bool) -> RecallResult:
    """The result with hits whose files are gone marked as stale and reordered."""
    files = {path for hit in found.hits for path in hit.memory.files}
    if not files or not root.is_dir():
        return found
    exists = exists_below(root)
    gone = {path for path in files if not exists(path)}
    if not gone or (not sure and gone == files):
        return found
    hits = tuple(_marked(hit, gone) for hit in found.hits)
    if hits == found.hits:
        return found
    scores = [hit.score for hit in found.hits]
    # Results of a reranker or a listing by time keep their own order.
    by_score = scores == sorted(scores, reverse=True)
    ordered = sorted(hits, key=lambda hit: -hit.score) if by_score else hits
    return replace(found, hits=tuple(ordered))


def _marked(hit: RecallHit, gone: set[str]) -> RecallHit:
    if hit.stale or gone.isdisjoint(hit.memory.files):
        return hit
    part = ScorePart("stale", 1.0, STALE_FACTOR, STALE_FACTOR)
    return replace(hit, stale=True, score=hit.score * STALE_FACTOR, parts=(*hit.parts, part))


MOST = 100
NO_QUESTION = "No question was given: the newest are listed."
NEWEST_OF_THAT_TIME = "No words match; these are the newest of that time."


def answer(
    wk: OpenMemory, request: RecallRequest, *, order: str = "relevance", concepts: Names = ()
) -> RecallResult:
    """What answers a question; without one, or by date or concept, what fits in that order."""
    if concepts or order != "relevance" or not request.query.strip():
        return _ordered(wk, request, order, concepts)
    found = _by_relevance(wk, request)
    where = request.where
    if found.hits or request.offset or (where.since is None and where.until is None):
        return found
    newest = wk.engine.store.list(where, order=Order.EVENT_LATEST, limit=request.limit)
    notes = (*found.notes, *((NEWEST_OF_THAT_TIME,) if newest.items else ()))
    return replace(found, hits=_plain_hits(newest.items), notes=notes)


def _by_relevance(wk: OpenMemory, request: RecallRequest) -> RecallResult:
    found = recall(wk.engine, request)
    if request.where.project is not None and any(hit.memory.files for hit in found.hits):
        found = mark_missing_files(found, root=wk.root, sure=wk.has_own_folder)
    note = None if request.mode is SearchMode.WORDS else wk.embedding_note()
    return replace(found, notes=(*found.notes, note)) if note else found


def _ordered(wk: OpenMemory, request: RecallRequest, order: str, concepts: Names) -> RecallResult:
    """By date or concept: of the best matches, or of all memories without a query."""
    named = frozenset(
        one.casefold() for one in ((concepts,) if isinstance(concepts, str) else concepts)
    )
    if request.query.strip():
        best = replace(request, limit=MOST, offset=0, neighbours=0, count_access=False)
        matches = [hit.memory for hit in _by_relevance(wk, best)]
        if order != "relevance":
            matches.sort(key=lambda m: (m.valid_from, m.id), reverse=order == "date_desc")
        memories: Iterable[Memory] = matches
    else:
        by = Order.EVENT if order == "date_asc" else Order.EVENT_LATEST
        memories = _stream(wk.engine, request.where, order=by)
    end = request.offset + request.limit
    fitting = list(islice((m for m in memories if not named or named & _concepts(m)), end + 1))
    return RecallResult(
        hits=_plain_hits(fitting[request.offset : end]),
        considered=0,
        notes=() if named or order != "relevance" else (NO_QUESTION,),
        next_offset=end if len(fitting) > end else None,
    )


def _plain_hits(memories: Iterable[Memory]) -> tuple[RecallHit, ...]:
    return tuple(
        RecallHit(memory=one, score=0.0, retrievers=(), stale=one.stale_at is not None)
        for one in memories
    )


def _concepts(memory: Memory) -> frozenset[str]:
    from wellkept.core.payloads import Observation

    payload = memory.payload
    named = payload.concepts if isinstance(payload, Observation) else ()
    return frozenset(one.casefold() for one in (*named, *memory.tags))
