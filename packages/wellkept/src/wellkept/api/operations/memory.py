"""Memory operations: search, recall, store, forget, context, statistics.

Synchronous; the server decides on which thread they run. Knows no transport.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from wellkept.api.operations import inputs, outputs
from wellkept.api.server.caller import asking
from wellkept.context.packing import quoted, render_context
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.records import replace
from wellkept.core.text import shorten
from wellkept.core.types import MemoryType
from wellkept.memory.recall.progressive import index_row

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.context.packing import ContextItem, ContextPack
    from wellkept.core.memory import Memory
    from wellkept.memory.remember import RememberResult

HIT_CHARS = 600
_ATTEMPTS = 16
_OFFSET = "o"


def search(wk: Wellkept, request: inputs.SearchInput) -> outputs.SearchOutput:
    """Layer one: what answers a question, or what is newest, as index rows."""
    if request.concepts or request.order_by != "relevance" or not request.query.strip():
        return _ordered(wk, request)
    found = wk.recall(
        request.query,
        limit=request.limit,
        offset=_offset(request.cursor) or request.offset,
        neighbours=0,
        count_access=False,
        min_score=request.min_score,
        **request.filters(),
    )
    rows = [_row(wk, hit.memory) for hit in found]
    following = "" if found.next_offset is None else f"{_OFFSET}{found.next_offset}"
    return outputs.SearchOutput(rows=rows, next_cursor=following, notes=list(found.notes))


def decisions(wk: Wellkept, request: inputs.DecisionsInput) -> outputs.SearchOutput:
    """The newest decisions: those taken, and those noted as finished work."""
    taken = wk.list(order="event-latest", types="decision", limit=request.limit)
    noted = wk.list(order="event-latest", types="observation", tags="decision", limit=request.limit)
    both = sorted([*taken.items, *noted.items], key=lambda m: (m.valid_from, m.id), reverse=True)
    return outputs.SearchOutput(rows=[_row(wk, memory) for memory in both[: request.limit]])


def changes_for_file(wk: Wellkept, request: inputs.FileChangesInput) -> outputs.SearchOutput:
    """What was done to a file and learned about it, newest first."""
    found = wk.list(order="event-latest", files=request.file, limit=request.limit)
    return outputs.SearchOutput(rows=[_row(wk, memory) for memory in found.items])


def _row(wk: Wellkept, memory: Memory) -> outputs.IndexRowOutput:
    return outputs.IndexRowOutput.of(index_row(wk.engine, memory), memory=memory)


def _ordered(wk: Wellkept, request: inputs.SearchInput) -> outputs.SearchOutput:
    """A search by date or by concepts: of the best matches, or of all memories without a query."""
    start = _offset(request.cursor) or request.offset
    end = start + request.limit
    found = list(islice(_fitting(wk, request), end + 1))
    following = f"{_OFFSET}{end}" if len(found) > end else ""
    rows = [_row(wk, memory) for memory in found[start:end]]
    return outputs.SearchOutput(rows=rows, next_cursor=following)


def _fitting(wk: Wellkept, request: inputs.SearchInput) -> Iterator[Memory]:
    concepts = frozenset(one.casefold() for one in request.concepts)
    if request.query.strip():
        hits = wk.recall(
            request.query,
            limit=inputs.MAX_ROWS,
            neighbours=0,
            count_access=False,
            min_score=request.min_score,
            **request.filters(),
        )
        found: Iterable[Memory] = [hit.memory for hit in hits]
        if request.order_by != "relevance":
            backwards = request.order_by == "date_desc"
            found = sorted(found, key=lambda m: (m.valid_from, m.id), reverse=backwards)
    else:
        found = _by_date(wk, request)
    return (m for m in found if not concepts or concepts & _concepts(m))


def _by_date(wk: Wellkept, request: inputs.SearchInput) -> Iterator[Memory]:
    order = "event" if request.order_by == "date_asc" else "event-latest"
    cursor: str | None = None
    while True:
        page = wk.list(order=order, limit=inputs.MAX_ROWS, cursor=cursor, **request.filters())
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def _concepts(memory: Memory) -> frozenset[str]:
    from wellkept.core.payloads import Observation

    payload = memory.payload
    named = payload.concepts if isinstance(payload, Observation) else ()
    return frozenset(one.casefold() for one in (*named, *memory.tags))


def _offset(cursor: str) -> int:
    if not cursor:
        return 0
    number = cursor.removeprefix(_OFFSET)
    if not (number.isascii() and number.isdigit() and len(number) < 8):
        raise _bad_cursor(cursor)
    return int(number)


def _bad_cursor(cursor: str) -> UsageError:
    return UsageError(
        f"The cursor {cursor!r} does not belong to this search.",
        hint="Pass next_cursor of the page before, with the same query, or none to start over.",
    )


def timeline(wk: Wellkept, request: inputs.TimelineInput) -> outputs.TimelineOutput:
    """Layer two: what stands before and after a memory in time."""
    found = wk.timeline(
        _plain_id(request.anchor) if request.anchor else _best_match(wk, request),
        before=request.before,
        after=request.after,
        **request.filters(),
    )
    rows = (*found.before, found.anchor, *found.after)
    memories = {memory.id: memory for memory in wk.engine.store.get([row.id for row in rows])}
    shown = [outputs.IndexRowOutput.of(row, memory=memories.get(row.id)) for row in rows]
    return outputs.TimelineOutput(anchor=found.anchor.short, rows=shown)


def _best_match(wk: Wellkept, request: inputs.TimelineInput) -> str:
    if not request.query.strip():
        raise UsageError("A timeline needs an anchor or a query.", hint="Search for an id first.")
    found = wk.recall(
        request.query, limit=1, min_score=0.0, count_access=False, **request.filters()
    )
    if not found.hits:
        raise NotFoundError(f"Nothing matches {request.query!r}.", hint="Try other words.")
    return found[0].memory.id


def get(wk: Wellkept, request: inputs.GetInput) -> outputs.MemoriesOutput:
    """Layer three: full records; names that fit nothing are listed, unless all do."""
    records: list[outputs.MemoryOutput] = []
    missing: list[str] = []
    for name in dict.fromkeys(_plain_id(one) for one in request.ids):
        try:
            records.append(outputs.MemoryOutput.of(wk.get(name)))
        except NotFoundError:
            missing.append(name)
    if not records:
        raise NotFoundError(
            f"No memory has the id or key {', '.join(missing)}.",
            hint="Search first; ids are in its first column.",
        )
    if request.order_by:
        records.sort(key=lambda one: one.at, reverse=request.order_by == "date_desc")
    return outputs.MemoriesOutput(records=records[: request.limit], missing=missing)


def _plain_id(name: str) -> str:
    """An id without the marks that citations put around it: `[m:1a2b]`, `m:1a2b`."""
    return name.strip().removeprefix("[").removesuffix("]").removeprefix("m:") or name


def recall(wk: Wellkept, request: inputs.RecallInput) -> outputs.RecallOutput:
    """Answer a question with texts, long ones shortened."""
    found = wk.recall(
        request.query,
        limit=request.limit,
        offset=request.offset,
        min_score=request.min_score,
        **request.filters(),
    )
    if not found.hits and not request.offset and (request.since or request.until):
        return _recall_by_time(wk, request)
    return outputs.RecallOutput(
        hits=[_hit(hit.memory, score=hit.score, stale=hit.stale) for hit in found],
        next_offset=found.next_offset,
        notes=list(found.notes),
    )


def _recall_by_time(wk: Wellkept, request: inputs.RecallInput) -> outputs.RecallOutput:
    """What a period holds, when nothing in it matches the words."""
    page = wk.list(order="event-latest", limit=request.limit, **request.filters())
    note = ["No words match; these are the newest of that time."] if page.items else []
    return outputs.RecallOutput(hits=[_hit(memory) for memory in page.items], notes=note)


def _hit(memory: Memory, *, score: float = 0.0, stale: bool = False) -> outputs.RecallHitOutput:
    return outputs.RecallHitOutput(
        id=memory.short,
        type=memory.type.value,
        date=f"{memory.valid_from:%Y-%m-%d}",
        content=shorten(quoted(memory.content), limit=HIT_CHARS),
        score=round(score, 3),
        stale=stale,
        closed=f"{memory.valid_to:%Y-%m-%d}" if memory.valid_to else "",
    )


_PROVED = (
    "whose words it is follows from the prompts of the session. The person can say it in a prompt,"
    " or confirm it with `wellkept bulk confirm ID` or on the page."
)


def store(wk: Wellkept, request: inputs.RememberInput) -> outputs.RememberOutput:
    """Keep a statement: new, merged with what it repeats, or in place of what it contradicts."""
    for _ in range(_ATTEMPTS):
        try:
            return _store_once(wk, request)
        except ConflictError:
            continue  # another caller changed what this one repeats or contradicts
    return _store_once(wk, request)


def _store_once(wk: Wellkept, request: inputs.RememberInput) -> outputs.RememberOutput:
    is_agent = asking().is_agent
    result = wk.remember(
        request.content,
        type=request.type,
        key=request.key or None,
        tags=request.tags,
        files=request.files,
        importance=request.importance,
        scope="user" if request.about_person and not is_agent else None,
        source="user_taught" if request.said_by_person and not is_agent else "agent_explicit",
        session=request.session or None,
    )
    claims = [name for name in ("said_by_person", "about_person") if getattr(request, name)]
    ignored = f"{' and '.join(claims)} ignored: {_PROVED}" if claims and is_agent else ""
    return stored(result, note=ignored)


def stored(result: RememberResult, *, note: str = "") -> outputs.RememberOutput:
    """What became of a statement, and whose words it counts as."""
    old = result.previous
    return outputs.RememberOutput(
        id=result.memory.short,
        outcome=result.outcome.value,
        reason=result.reason,
        previous=old.short if old and old.id != result.memory.id else "",
        told_by=result.memory.told_by,
        note=note,
    )


def forget(wk: Wellkept, request: inputs.ForgetInput) -> outputs.ForgetOutput:
    """Delete memories, but only when that was confirmed."""
    names = [_plain_id(one) for one in request.ids]
    gone = wk.forget(*names, keep_history=request.keep_history, dry_run=not request.confirm)
    rows = [outputs.IndexRowOutput.of(index_row(wk.engine, memory)) for memory in gone]
    return outputs.ForgetOutput(done=request.confirm, kept=request.keep_history, rows=rows)


def context(wk: Wellkept, request: inputs.ContextInput) -> outputs.ContextOutput:
    """What is worth saying now, inside a token budget."""
    pack = wk.context(
        request.query,
        moment=request.moment or None,
        files=request.files,
        phase=request.phase or None,
        complexity=request.complexity or None,
        budget_tokens=request.budget_tokens,
        session=request.session or None,
        session_limit=request.session_limit,
        observation_limit=request.observation_limit,
        days=request.days,
    )
    pack = with_observations(pack, request)
    return outputs.ContextOutput(
        context=render_context(pack),
        sections=[one.name.value for one in pack.sections],
        ids=[item.memory.short for item in pack.items],
        skills=[extra.name for extra in pack.extras],
        used_tokens=pack.used_tokens,
    )


def with_observations(pack: ContextPack, request: inputs.ContextInput) -> ContextPack:
    """The pack with no more observations than were asked for, and only of those kinds."""
    if request.observation_limit is None and not request.observation_types:
        return pack
    kinds = frozenset(one.casefold() for one in request.observation_types)
    left = inputs.MAX_ROWS if request.observation_limit is None else request.observation_limit
    items: list[ContextItem] = []
    for item in pack.items:
        if item.memory.type is MemoryType.OBSERVATION:
            if left <= 0 or (kinds and not kinds & set(item.memory.tags)):
                continue
            left -= 1
        items.append(item)
    return replace(pack, items=tuple(items))


def stats(wk: Wellkept, request: inputs.StatsInput) -> outputs.StatsOutput:
    """How much is known."""
    found = wk.stats(**request.filters())
    return outputs.StatsOutput(
        project=wk.project_name,
        total=found.total,
        by_type=found.by_type,
        by_source=found.by_source,
        stale=found.stale,
        needs_review=found.needs_review,
        oldest=f"{found.oldest:%Y-%m-%d}" if found.oldest else "",
        newest=f"{found.newest:%Y-%m-%d}" if found.newest else "",
    )
