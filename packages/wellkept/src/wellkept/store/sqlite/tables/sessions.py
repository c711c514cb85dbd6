"""The `SessionStore` port, and sessions as rows.

Invariant: a session read equals the one written, except for the revision, which each write
increments.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.core.clock import to_ms
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.records import replace
from wellkept.store.queries import require_limit
from wellkept.store.rows import SESSIONS, session_changed
from wellkept.store.sqlite import checksums
from wellkept.store.sqlite.checksums import Covered
from wellkept.store.sqlite.database import Component, Connection, SqlValue, placeholders

if TYPE_CHECKING:
    from wellkept.core.session.sessions import ReadPosition, SessionRecord

_MAX_IDS = 500
_MIN_PREFIX = 4
_COVERED = Covered(checksums.SESSIONS, SESSIONS.columns)
_WRITTEN = (*SESSIONS.columns, "checksum")
_INSERT = f"INSERT INTO sessions ({', '.join(_WRITTEN)}) VALUES ({', '.join('?' * len(_WRITTEN))})"
_UPDATE = (
    f"UPDATE sessions SET {', '.join(f'{name} = ?' for name in _WRITTEN)}"
    " WHERE id = ? AND revision = ?"
)


class SqliteSessions(Component):
    """The `SessionStore` port."""

    def get_session(self, session_id: str) -> SessionRecord | None:
        with self._database.reading() as db:
            row = db.execute(
                f"SELECT {SESSIONS.listed()} FROM sessions WHERE id = ?", (session_id,)
            ).fetchone()
        return None if row is None else SESSIONS.read(row)

    def sessions(
        self,
        *,
        project: str | None,
        open_only: bool = False,
        needs_summary: bool = False,
        idle_since: datetime | None = None,
        limit: int = 50,
    ) -> list[SessionRecord]:
        require_limit(limit)
        conditions, values = ["1"], list[SqlValue]()
        if project is not None:
            conditions.append("project = ?")
            values.append(project)
        if open_only:
            conditions.append("ended_ms IS NULL")
        if needs_summary:
            conditions.append("(summarised_ms IS NULL OR last_event_ms > summarised_ms)")
        if idle_since is not None:
            conditions.append("last_event_ms < ?")
            values.append(to_ms(idle_since))
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {SESSIONS.listed()} FROM sessions WHERE {' AND '.join(conditions)}"
                " ORDER BY last_event_ms DESC, id DESC LIMIT ?",
                (*values, limit),
            ).fetchall()
        return list(map(SESSIONS.read, rows))

    def resolve_session(self, text: str) -> list[str]:
        prefix = text.strip()
        with self._database.reading() as db:
            if db.execute("SELECT 1 FROM sessions WHERE id = ?", (prefix,)).fetchone():
                return [prefix]
            if len(prefix) < _MIN_PREFIX:
                return []
            rows = db.execute(
                "SELECT id FROM sessions WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT 10",
                (len(prefix), prefix),
            ).fetchall()
        return [row[0] for row in rows]

    def processed_events(self, event_ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        with self._database.reading() as db:
            for start in range(0, len(event_ids), _MAX_IDS):
                asked = event_ids[start : start + _MAX_IDS]
                rows = db.execute(
                    f"SELECT event_id FROM taken_events WHERE event_id IN ({placeholders(asked)})",
                    tuple(asked),
                ).fetchall()
                found.update(row[0] for row in rows)
        return found

    def prune_processed_events(self, *, before: datetime) -> int:
        with self._database.writing() as db:
            return db.execute(
                "DELETE FROM taken_events WHERE session IN"
                " (SELECT row FROM sessions WHERE last_event_ms < ?)",
                (to_ms(before),),
            ).rowcount

    def read_position(self, source: str) -> ReadPosition | None:
        from wellkept.core.session.sessions import ReadPosition

        with self._database.reading() as db:
            row = db.execute(
                "SELECT source, head, offset FROM reading_marks WHERE source = ?", (source,)
            ).fetchone()
        return None if row is None else ReadPosition(*row)

    def delete_read_position(self, position: ReadPosition) -> None:
        with self._database.writing() as db:
            db.execute(
                "DELETE FROM reading_marks WHERE source = ? AND head = ? AND offset = ?",
                (position.source, position.head, position.offset),
            )


def put_session(db: Connection, session: SessionRecord, event_ids: Sequence[str]) -> None:
    """Write a session under its next revision, and the ids of its processed events."""
    if not session.id or not session.project:
        raise UsageError("A session needs an id and a project.")
    values = SESSIONS.values(replace(session, revision=session.revision + 1))
    values = (*values, _COVERED.checksum(values))
    if session.revision == 0:
        try:
            db.execute(_INSERT, values)
        except sqlite3.IntegrityError:
            raise session_changed(session) from None
    elif db.execute(_UPDATE, (*values, session.id, session.revision)).rowcount != 1:
        raise session_changed(session)
    (row,) = db.execute("SELECT row FROM sessions WHERE id = ?", (session.id,)).fetchone()
    try:
        db.executemany(
            "INSERT INTO taken_events VALUES (?, ?)", [(event_id, row) for event_id in event_ids]
        )
    except sqlite3.IntegrityError:
        raise ConflictError(
            f"An event of the session {session.id} was already processed."
        ) from None


def put_read_position(db: Connection, position: ReadPosition) -> None:
    """Record how far a file was read."""
    if position.offset < 0 or not position.source:
        raise UsageError(f"{position} is not a valid read position.")
    db.execute(
        "INSERT OR REPLACE INTO reading_marks VALUES (?, ?, ?)",
        (position.source, position.head, position.offset),
    )


def drop_sessions(db: Connection, project: str) -> None:
    """Delete the sessions of a project with all that was noted of them, and its undo steps."""
    tables = ("sessions", "scratchpads", "sightings", "injections", "silent_lines", "undo_steps")
    for table in tables:
        db.execute(f"DELETE FROM {table} WHERE project = ?", (project,))
