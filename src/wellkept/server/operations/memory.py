"""Memory operations: search, recall, store, forget, context, statistics.

Synchronous; the server decides on which thread they run. Knows no transport.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.text import shorten
from wellkept.memory.context.packing import quoted, render_context
from wellkept.memory.recall.progressive import index_row
from wellkept.server.operations import inputs, outputs

if TYPE_CHECKING:
    from wellkept.app import Wellkept
    from wellkept.memory.recall.requests import RecallHit
    from wellkept.memory.remember import RememberResult

HIT_CHARS = 600
_OFFSET, _PAGE = "o", "p"


def search(wk: Wellkept, request: inputs.SearchInput) -> outputs.SearchOutput:
    """Layer one: what answers a question, or what is newest, as index rows."""
    if not request.query.strip():
        return _newest(wk, request)
    found = wk.recall(
        request.query,
        limit=request.limit,
        offset=_offset(request.cursor),
        neighbours=0,
        count_access=False,
        **request.filters(),
    )
    rows = [outputs.IndexRowOutput.of(index_row(wk.engine, hit.memory)) for hit in found]
    following = "" if found.next_offset is None else f"{_OFFSET}{found.next_offset}"
    return outputs.SearchOutput(rows=rows, next_cursor=following, notes=list(found.notes))


def _newest(wk: Wellkept, request: inputs.SearchInput) -> outputs.SearchOutput:
    if request.cursor and not request.cursor.startswith(_PAGE):
        raise _bad_cursor(request.cursor)
    cursor = request.cursor.removeprefix(_PAGE) or None
    page = wk.list(order="newest", limit=request.limit, cursor=cursor, **request.filters())
    rows = [outputs.IndexRowOutput.of(index_row(wk.engine, memory)) for memory in page.items]
    following = f"{_PAGE}{page.next_cursor}" if page.next_cursor else ""
    return outputs.SearchOutput(rows=rows, next_cursor=following)


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
        request.anchor or _best_match(wk, request),
        before=request.before,
        after=request.after,
        **request.filters(),
    )
    rows = [outputs.IndexRowOutput.of(row) for row in (*found.before, found.anchor, *found.after)]
    return outputs.TimelineOutput(anchor=found.anchor.short, rows=rows)


def _best_match(wk: Wellkept, request: inputs.TimelineInput) -> str:
    if not request.query.strip():
        raise UsageError("A timeline needs an anchor or a query.", hint="Search for an id first.")
    found = wk.recall(request.query, limit=1, count_access=False, **request.filters())
    if not found.hits:
        raise NotFoundError(f"Nothing matches {request.query!r}.", hint="Try other words.")
    return found[0].memory.id


def get(wk: Wellkept, request: inputs.GetInput) -> outputs.MemoriesOutput:
    """Layer three: full records; names that fit nothing are listed, unless all do."""
    records: list[outputs.MemoryOutput] = []
    missing: list[str] = []
    for name in dict.fromkeys(request.ids):
        try:
            records.append(outputs.MemoryOutput.of(wk.get(name)))
        except NotFoundError:
            missing.append(name)
    if not records:
        raise NotFoundError(
            f"No memory has the id or key {', '.join(missing)}.",
            hint="Search first; ids are in its first column.",
        )
    return outputs.MemoriesOutput(records=records, missing=missing)


def recall(wk: Wellkept, request: inputs.RecallInput) -> outputs.RecallOutput:
    """Answer a question with texts, long ones shortened."""
    found = wk.recall(
        request.query, limit=request.limit, offset=request.offset, **request.filters()
    )
    return outputs.RecallOutput(
        hits=[_hit(hit) for hit in found],
        next_offset=found.next_offset,
        notes=list(found.notes),
    )


def _hit(hit: RecallHit) -> outputs.RecallHitOutput:
    memory = hit.memory
    return outputs.RecallHitOutput(
        id=memory.short,
        type=memory.type.value,
        date=f"{memory.valid_from:%Y-%m-%d}",
        content=shorten(quoted(memory.content), limit=HIT_CHARS),
        score=round(hit.score, 3),
        stale=hit.stale,
    )


def store(wk: Wellkept, request: inputs.RememberInput) -> outputs.RememberOutput:
    """Keep a statement: new, merged with what it repeats, or in place of what it contradicts."""
    result = wk.remember(
        request.content,
        type=request.type,
        key=request.key or None,
        tags=request.tags,
        files=request.files,
        importance=request.importance,
        scope="user" if request.about_person else None,
        source="user_taught" if request.said_by_person else "agent_explicit",
        session=request.session or None,
    )
    return _stored(result)


def store_observation(wk: Wellkept, request: inputs.ObservationInput) -> outputs.RememberOutput:
    """Keep something that happened, as the observer would."""
    from wellkept.core.payloads import Observation
    from wellkept.observe.session.drafts import observation_text

    seen = Observation(
        kind=request.kind,
        title=request.title,
        subtitle=request.subtitle or None,
        facts=tuple(request.facts),
        narrative=request.narrative or None,
        concepts=tuple(request.concepts),
        files_read=tuple(request.files_read),
        files_modified=tuple(request.files_modified),
    )
    result = wk.remember(
        observation_text(seen),
        type="observation",
        tags=(request.kind,),
        files=request.files_modified,
        session=request.session or None,
        work_tokens=request.work_tokens,
        payload=seen,
    )
    return _stored(result)


def _stored(result: RememberResult) -> outputs.RememberOutput:
    old = result.previous
    return outputs.RememberOutput(
        id=result.memory.short,
        outcome=result.outcome.value,
        reason=result.reason,
        previous=old.short if old and old.id != result.memory.id else "",
    )


def forget(wk: Wellkept, request: inputs.ForgetInput) -> outputs.ForgetOutput:
    """Delete memories, but only when that was confirmed."""
    gone = wk.forget(*request.ids, keep_history=request.keep_history, dry_run=not request.confirm)
    rows = [outputs.IndexRowOutput.of(index_row(wk.engine, memory)) for memory in gone]
    return outputs.ForgetOutput(done=request.confirm, rows=rows)


def context(wk: Wellkept, request: inputs.ContextInput) -> outputs.ContextOutput:
    """What is worth saying now, inside a token budget."""
    pack = wk.context(
        request.query,
        moment=request.moment or None,
        files=request.files,
        phase=request.phase or None,
        budget_tokens=request.budget_tokens,
        session=request.session or None,
        session_limit=request.session_limit,
        observation_limit=request.observation_limit,
        days=request.days,
    )
    return outputs.ContextOutput(
        context=render_context(pack),
        sections=[one.name.value for one in pack.sections],
        ids=[item.memory.short for item in pack.items],
        skills=[extra.name for extra in pack.extras],
        used_tokens=pack.used_tokens,
    )


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
