"""The operations themselves: an input, a memory, an output. Each is one verb of `Wellkept`.

Synchronous and blocking; whoever serves them decides on which thread. Knows no transport.
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


def search(wk: Wellkept, asked: inputs.SearchInput) -> outputs.SearchOutput:
    """Layer one: what answers a question, or what is newest, as index rows."""
    if not asked.query.strip():
        return _newest(wk, asked)
    found = wk.recall(
        asked.query,
        limit=asked.limit,
        offset=_offset(asked.cursor),
        neighbours=0,
        count_access=False,
        **asked.which(),
    )
    rows = [outputs.IndexRowOutput.of(index_row(wk.engine, hit.memory)) for hit in found]
    following = "" if found.next_offset is None else f"{_OFFSET}{found.next_offset}"
    return outputs.SearchOutput(rows=rows, next_cursor=following, notes=list(found.notes))


def _newest(wk: Wellkept, asked: inputs.SearchInput) -> outputs.SearchOutput:
    if asked.cursor and not asked.cursor.startswith(_PAGE):
        raise _bad_cursor(asked.cursor)
    cursor = asked.cursor.removeprefix(_PAGE) or None
    page = wk.list(order="newest", limit=asked.limit, cursor=cursor, **asked.which())
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


def timeline(wk: Wellkept, asked: inputs.TimelineInput) -> outputs.TimelineOutput:
    """Layer two: what stands before and after a memory in time."""
    found = wk.timeline(
        asked.anchor or _best_match(wk, asked),
        before=asked.before,
        after=asked.after,
        **asked.which(),
    )
    rows = [outputs.IndexRowOutput.of(row) for row in (*found.before, found.anchor, *found.after)]
    return outputs.TimelineOutput(anchor=found.anchor.short, rows=rows)


def _best_match(wk: Wellkept, asked: inputs.TimelineInput) -> str:
    if not asked.query.strip():
        raise UsageError("A timeline needs an anchor or a query.", hint="Search for an id first.")
    found = wk.recall(asked.query, limit=1, count_access=False, **asked.which())
    if not found.hits:
        raise NotFoundError(f"Nothing matches {asked.query!r}.", hint="Try other words.")
    return found[0].memory.id


def get(wk: Wellkept, asked: inputs.GetInput) -> outputs.MemoriesOutput:
    """Layer three: full records; names that fit nothing are listed, unless all do."""
    records: list[outputs.MemoryOutput] = []
    missing: list[str] = []
    for name in dict.fromkeys(asked.ids):
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


def recall(wk: Wellkept, asked: inputs.RecallInput) -> outputs.RecallOutput:
    """Answer a question with texts, long ones shortened."""
    found = wk.recall(asked.query, limit=asked.limit, offset=asked.offset, **asked.which())
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


def store(wk: Wellkept, asked: inputs.RememberInput) -> outputs.RememberOutput:
    """Keep a statement: new, merged with what it repeats, or in place of what it contradicts."""
    kept = wk.remember(
        asked.content,
        type=asked.type,
        key=asked.key or None,
        tags=asked.tags,
        files=asked.files,
        importance=asked.importance,
        scope="user" if asked.about_person else None,
        source="user_taught" if asked.said_by_person else "agent_explicit",
        session=asked.session or None,
    )
    return _stored(kept)


def store_observation(wk: Wellkept, asked: inputs.ObservationInput) -> outputs.RememberOutput:
    """Keep something that happened, as the observer would."""
    from wellkept.core.payloads import Observation
    from wellkept.observe.session.drafts import observation_text

    seen = Observation(
        kind=asked.kind,
        title=asked.title,
        subtitle=asked.subtitle or None,
        facts=tuple(asked.facts),
        narrative=asked.narrative or None,
        concepts=tuple(asked.concepts),
        files_read=tuple(asked.files_read),
        files_modified=tuple(asked.files_modified),
    )
    kept = wk.remember(
        observation_text(seen),
        type="observation",
        tags=(asked.kind,),
        files=asked.files_modified,
        session=asked.session or None,
        work_tokens=asked.work_tokens,
        payload=seen,
    )
    return _stored(kept)


def _stored(kept: RememberResult) -> outputs.RememberOutput:
    old = kept.previous
    return outputs.RememberOutput(
        id=kept.memory.short,
        outcome=kept.outcome.value,
        reason=kept.reason,
        previous=old.short if old and old.id != kept.memory.id else "",
    )


def forget(wk: Wellkept, asked: inputs.ForgetInput) -> outputs.ForgetOutput:
    """Delete memories, but only when that was confirmed."""
    gone = wk.forget(*asked.ids, keep_history=asked.keep_history, dry_run=not asked.confirm)
    rows = [outputs.IndexRowOutput.of(index_row(wk.engine, memory)) for memory in gone]
    return outputs.ForgetOutput(done=asked.confirm, rows=rows)


def context(wk: Wellkept, asked: inputs.ContextInput) -> outputs.ContextOutput:
    """What is worth saying now, inside a token budget."""
    pack = wk.context(
        asked.query,
        moment=asked.moment or None,
        files=asked.files,
        phase=asked.phase or None,
        budget_tokens=asked.budget_tokens,
        session=asked.session or None,
    )
    return outputs.ContextOutput(
        context=render_context(pack),
        ids=[item.memory.short for item in pack.items],
        skills=[extra.name for extra in pack.extras],
        used_tokens=pack.used_tokens,
    )


def stats(wk: Wellkept, asked: inputs.StatsInput) -> outputs.StatsOutput:
    """How much is known."""
    found = wk.stats(**asked.which())
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
