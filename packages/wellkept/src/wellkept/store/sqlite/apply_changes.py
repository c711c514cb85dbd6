"""Applies changes as SQL inside the caller's transaction.

Invariant: labels and text indexes are written with their row; triggers update the text indexes on
later changes. A violated constraint becomes an error in terms of the caller's input.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, cast

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
from wellkept.core.errors import ConflictError, NotFoundError, StoreError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.text import comparison_key
from wellkept.core.types import Scope
from wellkept.store import quantization
from wellkept.store.memory_rows import COLUMNS, summed_row
from wellkept.store.queries import AccessCount
from wellkept.store.rows import mark_column, require_unit
from wellkept.store.sqlite.checksums import vector_checksum
from wellkept.store.sqlite.database import Connection, SqlValue, TableConnection
from wellkept.store.sqlite.memories import write_accesses
from wellkept.store.sqlite.schema import INDEX_FRAGMENTS, INDEX_WORDS
from wellkept.store.tables.activity import (
    activity_entries,
    memory_entries,
    write_activity,
)
from wellkept.store.tables.injections import put_injection_change
from wellkept.store.tables.scratchpads import put_learning_change
from wellkept.store.tables.sessions import drop_sessions, put_read_position, put_session

if TYPE_CHECKING:
    from wellkept.store.tables.activity import ActivityEntry

_INSERT = (
    f"INSERT INTO memories ({', '.join(COLUMNS)}, checksum, extra) "
    f"VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
)
_REPLACE = (
    f"UPDATE memories SET {', '.join(f'{name} = ?' for name in (*COLUMNS, 'checksum'))}"
    " WHERE row = ?"
)


def apply_change(db: TableConnection, change: Change) -> None:
    """Apply one change."""
    match change:
        case Insert(memory, index_entry, since):
            _insert(db, memory, index_entry, since)
        case Replace(memory, index_entry, expected):
            _replace(db, memory, index_entry, expected)
        case Close():
            _close(db, change)
        case Rescore() | Mark() | Delete():
            apply_alike(db, [change])
        case PutSession(session, event_ids):
            put_session(db, session, event_ids)
        case ForgetSessions(project):
            drop_sessions(db, project)
        case SaveReadPosition(position):
            put_read_position(db, position)
        case CountUse() | RequestReview():
            _update_if_there(db, change)
        case _:
            _put_record(db, change)


def _update_if_there(db: Connection, change: CountUse | RequestReview) -> None:
    if isinstance(change, CountUse):
        write_accesses(db, {change.id: AccessCount(1, to_ms(change.at))})
    else:
        db.execute("UPDATE memories SET needs_review = 1 WHERE id = ?", (change.id,))


def _put_record(db: TableConnection, change: LearningChange | InjectionChange | Announce) -> None:
    """Apply a change that is about neither a memory nor a session."""
    match change:
        case PutScratchpad() | PutSignals() | PutExplanation():
            put_learning_change(db, change)
        case PutInjection() | PutVerdicts() | PutSilence():
            put_injection_change(db, change)
        case Announce(kind, project, subject):
            if not (project and subject):
                raise UsageError(f"Activity {kind.value} needs a project and a subject.")


def put_index_entry(db: Connection, row: int, index_entry: IndexEntry) -> None:
    """Set extra text and vector of a memory; an entry without a vector deletes all its vectors.

    Vectors of other models stay: a re-index fills a new model while the old one is in use.
    """
    db.execute(
        "UPDATE memories SET extra = :extra WHERE row = :row AND extra IS NOT :extra",
        {"extra": index_entry.extra, "row": row},
    )
    if index_entry.vector is None:
        db.execute("DELETE FROM vectors WHERE memory = ?", (row,))
    else:
        put_vector(db, row, index_entry)


def put_vector(db: Connection, row: int, index_entry: IndexEntry) -> None:
    """Set the vector of a memory for the entry's model."""
    if index_entry.vector is None or index_entry.model_id is None:
        raise UsageError("A vector needs the id of the model that made it.")
    quantization.require_packed(index_entry.vector)
    model = _model(db, index_entry.model_id, dimension=len(index_entry.vector) // 4)
    scale, packed = quantization.pack(index_entry.vector)
    db.execute(
        "INSERT OR REPLACE INTO vectors (memory, model, home, scale, codes, checksum)"
        " SELECT row, ?, home, ?, ?, ? FROM memories WHERE row = ?",
        (model, scale, packed, vector_checksum(scale, packed), row),
    )


def find_row(db: Connection, id: str) -> int:
    """The row of an id, or NotFoundError."""
    found = db.execute("SELECT row FROM memories WHERE id = ?", (id,)).fetchone()
    if found is None:
        raise NotFoundError(f"There is no memory with the id {id}.")
    return int(found[0])


def _require_no_duplicate(db: Connection, memory: Memory, since: int) -> None:
    """ConflictError when the activity since then names a memory with the same text. Entries that
    were already deleted count as a duplicate."""
    oldest = db.execute("SELECT coalesce(min(number), 0) FROM activity").fetchone()[0]
    home = "" if memory.scope is Scope.USER else memory.project
    news = db.execute(
        "SELECT content FROM activity JOIN memories AS m ON m.id = memory_id WHERE number > ?"
        " AND m.home = ? AND m.scope = ? AND m.valid_to_ms IS NULL",
        (since, home, memory.scope.value),
    )
    if oldest > since + 1 or any(
        comparison_key(row[0]) == comparison_key(memory.content) for row in news
    ):
        raise ConflictError(
            "Another process has just stored the same text.", hint="Read again and retry."
        )


def _insert(db: Connection, memory: Memory, index_entry: IndexEntry, since: int | None) -> None:
    if since is not None:
        _require_no_duplicate(db, memory, since)
    try:
        row = db.execute(_INSERT, (*summed_row(memory), index_entry.extra)).lastrowid
    except sqlite3.IntegrityError as error:
        raise _integrity_error(error, memory) from error
    if row is None:
        raise StoreError(f"The memory {memory.id} was not written.")
    db.execute(INDEX_WORDS, (row, memory.content, index_entry.extra))
    db.execute(INDEX_FRAGMENTS, (row, memory.content))
    put_labels(db, row, memory)
    if index_entry.vector is not None:
        put_vector(db, row, index_entry)


def _replace(
    db: Connection, memory: Memory, index_entry: IndexEntry | None, expected: datetime | None
) -> None:
    row = find_row(db, memory.id)
    if expected is not None:
        _require_unchanged(db, row, memory.id, expected)
    try:
        db.execute(_REPLACE, (*summed_row(memory), row))
    except sqlite3.IntegrityError as error:
        raise _integrity_error(error, memory) from error
    db.execute("DELETE FROM labels WHERE memory = ?", (row,))
    put_labels(db, row, memory)
    if index_entry is not None:
        # Vectors of other models were computed from the old content.
        db.execute("DELETE FROM vectors WHERE memory = ?", (row,))
        put_index_entry(db, row, index_entry)


def _close(db: Connection, change: Close) -> None:
    if change.expected_updated_at is not None:
        row = find_row(db, change.id)
        _require_unchanged(db, row, change.id, change.expected_updated_at, is_open=True)
    _update(
        db, change.id,
        "valid_to_ms = ?, updated_ms = max(updated_ms, ?), superseded_by = ?",
        to_ms(change.at), to_ms(change.at), change.superseded_by,
    )  # fmt: skip


def _require_unchanged(
    db: Connection, row: int, id: str, expected: datetime, *, is_open: bool = False
) -> None:
    found = db.execute(
        "SELECT updated_ms, valid_to_ms FROM memories WHERE row = ?", (row,)
    ).fetchone()
    # A memory closed within the same millisecond has the same updated_ms.
    if found[0] != to_ms(expected) or (is_open and found[1] is not None):
        raise ConflictError(
            f"The memory {id} was changed by another process.", hint="Read it again and retry."
        )


def put_labels(db: Connection, row: int, memory: Memory) -> None:
    """Write the labels of a memory that has none yet."""
    labels = [
        *(("tag", value, row) for value in memory.tags),
        *(("file", value, row) for value in memory.files),
        *(("module", value, row) for value in memory.modules),
    ]
    if labels:
        db.executemany("INSERT OR IGNORE INTO labels VALUES (?, ?, ?)", labels)


def apply_alike(db: Connection, run: Sequence[Rescore | Mark | Delete]) -> None:
    """Apply changes of one kind to many memories, with one statement."""
    ids = [(change.id,) for change in run]
    match run[0]:
        case Rescore():
            changed = _rescore(db, cast("Sequence[Rescore]", run))
        case Mark():
            changed = _mark(db, cast("Sequence[Mark]", run))
        case Delete():
            changed = db.executemany("DELETE FROM memories WHERE id = ?", ids).rowcount
            clear = "UPDATE memories SET superseded_by = NULL WHERE superseded_by = ?"
            db.executemany(clear, ids)
    if changed != len(run):
        for (full_id,) in ids:
            find_row(db, full_id)
        raise ConflictError(
            "A memory was rescored or deleted by another process.", hint="Read again and retry."
        )


def _rescore(db: Connection, run: Sequence[Rescore]) -> int:
    for change in run:
        for name, value in (("importance", change.importance), ("confidence", change.confidence)):
            if value is not None:
                require_unit(name, value)
    return db.executemany(
        "UPDATE memories SET importance = coalesce(?1, importance),"
        " confidence = coalesce(?2, confidence) WHERE id = ?3 AND importance = coalesce(?4,"
        " importance)",
        [(one.importance, one.confidence, one.id, one.expected_importance) for one in run],
    ).rowcount


def _mark(db: Connection, run: Sequence[Mark]) -> int:
    changed = 0
    for what, part in groupby(run, key=lambda one: one.what):
        values = [(None if one.at is None else to_ms(one.at), one.id) for one in part]
        statement = f"UPDATE memories SET {mark_column(what)} = ? WHERE id = ?"
        changed += db.executemany(statement, values).rowcount
    return changed


def _update(db: Connection, id: str, assignments: str, *values: SqlValue) -> None:
    row = find_row(db, id)
    db.execute(f"UPDATE memories SET {assignments} WHERE row = {row}", values)


def _model(db: Connection, model_id: str, *, dimension: int) -> int:
    found = db.execute(
        "SELECT model, dimension FROM models WHERE model_id = ?", (model_id,)
    ).fetchone()
    if found is None:
        made = db.execute(
            "INSERT INTO models (model_id, dimension) VALUES (?, ?) RETURNING model",
            (model_id, dimension),
        )
        return int(made.fetchone()[0])
    quantization.require_dimension(model_id, stored=int(found[1]), given=dimension)
    return int(found[0])


def _integrity_error(error: sqlite3.IntegrityError, memory: Memory) -> ConflictError | UsageError:
    text = str(error)
    if "memories.id" in text:
        return ConflictError(f"There is already a memory with the id {memory.id}.")
    if "memories.key" in text:
        return ConflictError(
            f"The key {memory.key!r} already belongs to another open memory.",
            hint="Close or replace that one, or choose another key.",
        )
    return UsageError(f"The memory {memory.id} cannot be stored: {text}.")


def apply_changes(db: TableConnection, changes: Sequence[Change], *, at_ms: int) -> None:
    """Apply changes in order and log their activity."""
    entries: list[ActivityEntry] = []
    for kind, run in groupby(changes, key=type):
        if kind in (Rescore, Mark, Delete):
            alike = cast("list[Rescore | Mark | Delete]", list(run))
            entries += memory_entries(db, alike)
            apply_alike(db, alike)
            continue
        for change in run:
            entries += activity_entries(db, change)
            apply_change(db, change)
    write_activity(db, entries, at_ms=at_ms)
