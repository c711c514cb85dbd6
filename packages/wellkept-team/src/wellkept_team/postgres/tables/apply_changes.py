"""Applies changes as SQL inside the caller's transaction.

Inserts that follow each other are written together. A violated constraint becomes an error in terms
of the caller's input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, cast

from psycopg import IntegrityError
from psycopg import errors as pg

from wellkept.core.changes import (
    Announce,
    Change,
    Close,
    CountUse,
    Delete,
    ForgetSessions,
    IndexEntry,
    InjectionChange,
    Insert,
    LearningChange,
    Mark,
    PutExplanation,
    PutInjection,
    PutScratchpad,
    PutSession,
    PutSignals,
    PutSilence,
    PutVerdicts,
    Replace,
    RequestReview,
    Rescore,
    SaveReadPosition,
)
from wellkept.core.clock import to_ms
from wellkept.core.errors import ConflictError, ForbiddenError, NotFoundError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.session.activity import ActivityKind
from wellkept.core.text import comparison_key
from wellkept.store.queries import AccessCount
from wellkept.store.rows import mark_column, require_unit
from wellkept.store.tables.activity import activity_entries, write_activity
from wellkept.store.tables.injections import put_injection_change
from wellkept.store.tables.scratchpads import put_learning_change
from wellkept.store.tables.sessions import drop_sessions, put_read_position, put_session
from wellkept_team.postgres.connection.database import Connection, Value
from wellkept_team.postgres.tables.memories import write_accesses
from wellkept_team.postgres.tables.memory_rows import WRITTEN, home_of, values_of
from wellkept_team.postgres.tables.text_index import IndexWriter, Place

if TYPE_CHECKING:
    from wellkept.store.tables.activity import ActivityEntry

_INSERT = (
    f"INSERT INTO memories (tenant, number, extra, {', '.join(WRITTEN)}) VALUES"
    f" (%(tenant)s, %(number)s, %(extra)s, {', '.join(f'%({name})s' for name in WRITTEN)})"
)
_REPLACE = (
    f"UPDATE memories SET extra = %(extra)s, {', '.join(f'{n} = %({n})s' for n in WRITTEN)}"
    " WHERE tenant = %(tenant)s AND home = %(old_home)s AND id = %(id)s"
)


class _Stored(NamedTuple):
    """What a change needs to know of a stored memory."""

    place: Place
    updated_ms: int
    is_closed: bool
    content: str
    extra: str


def apply_changes(db: Connection, changes: Sequence[Change], *, at_ms: int) -> None:
    """Apply changes in order and log their activity."""
    entries: list[ActivityEntry] = []
    index = IndexWriter(db)
    for kind, run in groupby(changes, key=type):
        if kind is Insert:
            inserts = cast("list[Insert]", list(run))
            for change in inserts:
                entries += activity_entries(db, change)
            insert_memories(db, index, inserts)
        elif kind is Mark:
            entries += _mark(db, cast("list[Mark]", list(run)))
        else:
            for change in run:
                entries += activity_entries(db, change)
                _apply_change(db, index, change)
    index.finish()
    write_activity(db, entries, at_ms=at_ms)


def _apply_change(db: Connection, index: IndexWriter, change: Change) -> None:
    match change:
        case Insert() | Mark():
            raise AssertionError("written together with its neighbours")
        case Replace(memory, index_entry, expected):
            replace_memory(db, index, memory, index_entry, expected)
        case Close():
            _close(db, change)
        case Rescore():
            _rescore(db, change)
        case Delete(id):
            delete_memory(db, index, id)
        case PutSession(session, event_ids):
            put_session(db, session, event_ids)
        case ForgetSessions(project):
            drop_sessions(db, project)
        case SaveReadPosition(position):
            put_read_position(db, position)
        case CountUse(id, at):
            write_accesses(db, {id: AccessCount(1, to_ms(at))})
        case RequestReview(id):
            db.run(
                "UPDATE memories SET needs_review = true WHERE tenant = %(tenant)s AND id = %(id)s",
                id=id,
            )
        case _:
            _put_record(db, change)


def _put_record(db: Connection, change: LearningChange | InjectionChange | Announce) -> None:
    """Apply a change that is about neither a memory nor a session."""
    match change:
        case PutScratchpad() | PutSignals() | PutExplanation():
            put_learning_change(db, change)
        case PutInjection() | PutVerdicts() | PutSilence():
            put_injection_change(db, change)
        case Announce(kind, project, subject):
            if not (project and subject):
                raise UsageError(f"Activity {kind.value} needs a project and a subject.")


def put_index_entry(db: Connection, index: IndexWriter, id: str, entry: IndexEntry) -> None:
    """Set extra text and vector of a memory; an entry without a vector deletes all its vectors.
    An unknown id is skipped.

    Vectors of other models stay: a re-index fills a new model while the old one is in use.
    """
    known = _stored(db, id)
    if known is None:
        return
    if known.extra != entry.extra:
        _update(db, id, "extra = %(extra)s", extra=entry.extra)
        index.replace_text(known.place, known.content, entry.extra)
    if entry.vector is None:
        index.drop_vectors(known.place)
    else:
        index.put_vectors([(known.place, entry)])


# -- Inserting -----------------------------------------------------------------------------------


def insert_memories(db: Connection, index: IndexWriter, changes: Sequence[Insert]) -> None:
    """Add memories with everything derived from them."""
    for change in changes:
        if change.unless_duplicate_since is not None:
            _require_no_duplicate(db, change.memory, change.unless_duplicate_since)
    rows = [values_of(change.memory) for change in changes]
    _require_new_ids(db, [change.memory.id for change in changes])
    numbers = db.rows(
        "SELECT nextval('memory_numbers') FROM generate_series(1, %(n)s)", n=len(changes)
    )
    added: list[tuple[Place, Memory, IndexEntry]] = []
    for change, values, (number,) in zip(changes, rows, numbers, strict=True):
        values |= {"number": number, "extra": change.index_entry.extra}
        place = Place(home_of(change.memory), number)
        added.append((place, change.memory, change.index_entry))
    try:
        db.many(_INSERT, rows)
    except IntegrityError as error:
        raise _integrity_error(error, [change.memory for change in changes]) from error
    index.add(added)


def _require_new_ids(db: Connection, ids: Sequence[str]) -> None:
    """An id is used once in a tenant, although the key of the table has the home in it."""
    twice = [full_id for full_id, times in Counter(ids).items() if times > 1]
    used = db.value(
        "SELECT id FROM memories WHERE tenant = %(tenant)s AND id = ANY(%(ids)s) LIMIT 1",
        ids=list(ids),
    )
    if used is not None or twice:
        raise ConflictError(f"There is already a memory with the id {used or twice[0]}.")


def _require_no_duplicate(db: Connection, memory: Memory, since: int) -> None:
    """ConflictError when the activity since then names a memory with the same text. Entries that
    were already deleted count as a duplicate."""
    oldest = db.value("SELECT coalesce(min(number), 0) FROM activity WHERE tenant = %(tenant)s")
    news = db.rows(
        "SELECT m.content FROM activity a JOIN memories m ON m.tenant = a.tenant"
        " AND m.id = a.memory_id WHERE a.tenant = %(tenant)s AND a.number > %(since)s"
        " AND m.home = %(home)s AND m.scope = %(scope)s AND m.valid_to_ms IS NULL",
        since=since,
        home=home_of(memory),
        scope=memory.scope.value,
    )
    if oldest > since + 1 or any(
        comparison_key(content) == comparison_key(memory.content) for (content,) in news
    ):
        raise ConflictError(
            "Another process has just stored the same text.", hint="Read again and retry."
        )


def _integrity_error(
    error: IntegrityError, memories: Sequence[Memory]
) -> ConflictError | UsageError:
    if isinstance(error, pg.UniqueViolation) and "key" in (error.diag.constraint_name or ""):
        detail = error.diag.message_detail or ""
        keys = [m.key for m in memories if m.key is not None]
        key = next((key for key in keys if key[:60] in detail), keys[0] if keys else "")
        return ConflictError(
            f"The key {key!r} already belongs to another open memory.",
            hint="Close or replace that one, or choose another key.",
        )
    return UsageError(f"A memory cannot be stored: {error.diag.message_primary}.")


# -- Changing ------------------------------------------------------------------------------------


def _stored(db: Connection, id: str) -> _Stored | None:
    row = db.row(
        "SELECT home, number, updated_ms, valid_to_ms IS NOT NULL, content, extra FROM memories"
        " WHERE tenant = %(tenant)s AND id = %(id)s",
        id=id,
    )
    return None if row is None else _Stored(Place(row[0], row[1]), *row[2:])


def _require_stored(db: Connection, id: str) -> _Stored:
    found = _stored(db, id)
    if found is None:
        raise _unknown(id)
    return found


def _not_yours(id: str) -> ForbiddenError:
    """The memory was seen a moment ago, so only a rule of the database can be in the way."""
    return ForbiddenError(
        f"You may not change the memory {id}.", hint="A reviewer may; ask one, or flag it."
    )


def _unknown(id: str) -> NotFoundError:
    return NotFoundError(f"There is no memory with the id {id}.")


def replace_memory(
    db: Connection,
    index: IndexWriter,
    memory: Memory,
    entry: IndexEntry | None,
    expected: datetime | None,
) -> None:
    """Write a memory again; without an entry its extra text and vectors stay."""
    before = _require_stored(db, memory.id)
    if expected is not None:
        _require_unchanged(before, memory.id, expected)
    extra = before.extra if entry is None else entry.extra
    place = Place(home_of(memory), before.place.number)
    # A person sees what is derived from a memory of their own through it: it moves while seen.
    if not before.place.home:
        index.move(before.place, place.home)
    try:
        done = db.run(_REPLACE, old_home=before.place.home, **{**values_of(memory), "extra": extra})
    except IntegrityError as error:
        raise _integrity_error(error, [memory]) from error
    if not done.rowcount:
        raise _not_yours(memory.id)
    if before.place.home:
        index.move(before.place, place.home)
    index.replace_labels(place, memory)
    if (memory.content, extra) != (before.content, before.extra):
        index.replace_text(place, memory.content, extra)
    if memory.content != before.content:
        index.replace_fragments(place, memory.content)
    if entry is not None:
        # Vectors of other models were computed from the old content.
        index.drop_vectors(place)
        if entry.vector is not None:
            index.put_vectors([(place, entry)])


def _close(db: Connection, change: Close) -> None:
    if change.expected_updated_at is not None:
        before = _require_stored(db, change.id)
        _require_unchanged(before, change.id, change.expected_updated_at, is_open=True)
    _update(
        db, change.id,
        "valid_to_ms = %(at)s, updated_ms = greatest(updated_ms, %(at)s),"
        " superseded_by = %(heir)s",
        at=to_ms(change.at), heir=change.superseded_by,
    )  # fmt: skip


def _require_unchanged(
    before: _Stored, id: str, expected: datetime, *, is_open: bool = False
) -> None:
    # A memory closed within the same millisecond has the same updated_ms.
    if before.updated_ms != to_ms(expected) or (is_open and before.is_closed):
        raise ConflictError(
            f"The memory {id} was changed by another process.", hint="Read it again and retry."
        )


def _rescore(db: Connection, change: Rescore) -> None:
    for name, value in (("importance", change.importance), ("confidence", change.confidence)):
        if value is not None:
            require_unit(name, value)
    done = db.run(
        "UPDATE memories SET importance = coalesce(%(importance)s::float8, importance),"
        " confidence = coalesce(%(confidence)s::float8, confidence)"
        " WHERE tenant = %(tenant)s AND id = %(id)s"
        " AND importance = coalesce(%(expected)s::float8, importance)",
        id=change.id, importance=change.importance, confidence=change.confidence,
        expected=change.expected_importance,
    )  # fmt: skip
    if not done.rowcount:
        _require_stored(db, change.id)
        raise ConflictError(
            f"The memory {change.id} was rescored by another process.", hint="Read it again."
        )


def _mark(db: Connection, changes: Sequence[Mark]) -> list[ActivityEntry]:
    """Set marks, each memory once; returns the log entries."""
    rows = db.rows(
        "SELECT id, stale_ms, archived_ms, project, scope = 'user', session_id FROM memories"
        " WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)",
        ids=list({change.id for change in changes}),
    )
    before = {row[0]: {"stale_ms": row[1], "archived_ms": row[2]} for row in rows}
    about = {row[0]: row[3:] for row in rows}
    after = {full_id: dict(marks) for full_id, marks in before.items()}
    entries: list[ActivityEntry] = []
    for change in changes:
        column = mark_column(change.what)
        if change.id not in about:
            raise _unknown(change.id)
        after[change.id][column] = None if change.at is None else to_ms(change.at)
        project, is_user, session_id = about[change.id]
        kind = ActivityKind.MEMORY_CHANGED
        entries.append((kind, project, is_user, change.id, session_id, None))
    db.many(
        "UPDATE memories SET stale_ms = %(stale_ms)s, archived_ms = %(archived_ms)s"
        " WHERE tenant = %(tenant)s AND id = %(id)s",
        [{"id": one, **marks} for one, marks in after.items() if marks != before[one]],
    )
    return entries


def delete_memory(db: Connection, index: IndexWriter, id: str) -> None:
    """Remove a memory with everything derived from it, and its text from the log."""
    place = _require_stored(db, id).place
    index.drop(place)
    done = db.run("DELETE FROM memories WHERE tenant = %(tenant)s AND id = %(id)s", id=id)
    if not done.rowcount:
        raise _not_yours(id)
    db.run(
        "UPDATE memories SET superseded_by = NULL"
        " WHERE tenant = %(tenant)s AND superseded_by = %(id)s",
        id=id,
    )
    db.run("DELETE FROM explanations WHERE tenant = %(tenant)s AND memory_id = %(id)s", id=id)
    # Its text goes from the log; the counts stay.
    db.run(
        "UPDATE injected_lines SET text = '', reason = '', outcome_by = ''"
        " WHERE tenant = %(tenant)s AND memory_id = %(id)s",
        id=id,
    )
    db.run("DELETE FROM silent_lines WHERE tenant = %(tenant)s AND line_id = %(id)s", id=id)


def _update(db: Connection, id: str, assignments: str, **values: Value) -> None:
    done = db.run(
        f"UPDATE memories SET {assignments} WHERE tenant = %(tenant)s AND id = %(id)s",
        id=id,
        **values,
    )
    if not done.rowcount:
        raise _unknown(id)
