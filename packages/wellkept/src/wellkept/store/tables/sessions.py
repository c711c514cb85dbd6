"""The `SessionStore` port, and sessions as rows.

Invariant: a session read equals the one written, except for the revision, which each write
increments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.clock import to_ms
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.records import replace
from wellkept.store.queries import require_limit
from wellkept.store.rows import SESSIONS, session_changed
from wellkept.store.tables import Component, Connection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wellkept.core.session.sessions import ReadPosition, SessionRecord

_MIN_PREFIX = 4
_OF_TENANT = "FROM sessions WHERE tenant = :tenant"
_POSITION = "FROM read_positions WHERE tenant = :tenant AND project = '' AND source = :source"


class Sessions(Component):
    """The `SessionStore` port."""

    def get_session(self, session_id: str) -> SessionRecord | None:
        with self._tables.reading() as db:
            row = db.row(f"SELECT {SESSIONS.listed()} {_OF_TENANT} AND id = :id", id=session_id)
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
        sql = f"SELECT {SESSIONS.listed()} {_OF_TENANT}"
        if project is not None:
            sql += " AND project = :project"
        if open_only:
            sql += " AND ended_ms IS NULL"
        if needs_summary:
            sql += " AND (summarised_ms IS NULL OR last_event_ms > summarised_ms)"
        if idle_since is not None:
            sql += " AND last_event_ms < :idle_ms"
        with self._tables.reading() as db:
            rows = db.rows(
                f"{sql} ORDER BY last_event_ms DESC, id DESC LIMIT :limit",
                project=project,
                idle_ms=None if idle_since is None else to_ms(idle_since),
                limit=limit,
            )
        return list(map(SESSIONS.read, rows))

    def resolve_session(self, text: str) -> list[str]:
        prefix = text.strip()
        with self._tables.reading() as db:
            rows = db.rows(f"SELECT id {_OF_TENANT} AND id = :id", id=prefix)
            if not rows and len(prefix) >= _MIN_PREFIX:
                rows = db.rows(
                    f"SELECT id {_OF_TENANT} AND substr(id, 1, :chars) = :prefix"
                    " ORDER BY id LIMIT 10",
                    chars=len(prefix),
                    prefix=prefix,
                )
        return [row[0] for row in rows]

    def processed_events(self, event_ids: Sequence[str]) -> set[str]:
        with self._tables.reading() as db:
            return _processed(db, event_ids)

    def prune_processed_events(self, *, before: datetime) -> int:
        with self._tables.writing() as db:
            return _drop_events(db, "last_event_ms < :before_ms", before_ms=to_ms(before))

    def read_position(self, source: str) -> ReadPosition | None:
        from wellkept.core.session.sessions import ReadPosition

        with self._tables.reading() as db:
            row = db.row(f'SELECT source, head, "offset" {_POSITION}', source=source)
        return None if row is None else ReadPosition(*row)

    def delete_read_position(self, position: ReadPosition) -> None:
        with self._tables.writing() as db:
            db.write(
                f'DELETE {_POSITION} AND head = :head AND "offset" = :offset',
                source=position.source,
                head=position.head,
                offset=position.offset,
            )


def put_session(db: Connection, session: SessionRecord, event_ids: Sequence[str]) -> None:
    """Write a session under its next revision, and the ids of its processed events."""
    if not session.id or not session.project:
        raise UsageError("A session needs an id and a project.")
    if (db.value(f"SELECT revision {_OF_TENANT} AND id = :id", id=session.id) or 0) != (
        session.revision
    ):
        raise session_changed(session)
    values = SESSIONS.named(replace(session, revision=session.revision + 1))
    db.put("sessions", [values], key=("id",))
    if len(set(event_ids)) < len(event_ids) or _processed(db, event_ids):
        raise ConflictError(f"An event of the session {session.id} was already processed.")
    column, key = db.session_key
    row = db.value(f"SELECT {key} {_OF_TENANT} AND id = :id", id=session.id)
    db.put("processed_events", [{"event_id": one, column: row} for one in event_ids])


def put_read_position(db: Connection, position: ReadPosition) -> None:
    """Record how far a file was read."""
    if position.offset < 0 or not position.source:
        raise UsageError(f"{position} is not a valid read position.")
    row = {"source": position.source, "head": position.head, "offset": position.offset}
    db.put("read_positions", [row], key=("source",))


def drop_sessions(db: Connection, project: str) -> None:
    """Delete the sessions of a project with all that was noted of them, and its undo steps."""
    _drop_events(db, "project = :project", project=project)
    db.write(
        "DELETE FROM injected_lines WHERE tenant = :tenant AND injection IN"
        " (SELECT id FROM injections WHERE tenant = :tenant AND project = :project)",
        project=project,
    )
    for table in (
        "sessions", "scratchpads", "signals", "injections", "silent_lines", "undo_steps",
    ):  # fmt: skip
        db.write(
            f"DELETE FROM {table} WHERE tenant = :tenant AND project = :project", project=project
        )


def _processed(db: Connection, event_ids: Sequence[str]) -> set[str]:
    rows = db.rows(
        "SELECT event_id FROM processed_events"
        " WHERE tenant = :tenant AND project = '' AND event_id IN :ids",
        ids=event_ids,
    )
    return {row[0] for row in rows}


def _drop_events(db: Connection, of_session: str, **params: object) -> int:
    column, key = db.session_key
    return db.write(
        f"DELETE FROM processed_events WHERE tenant = :tenant AND {column} IN"
        f" (SELECT {key} {_OF_TENANT} AND {of_session})",
        **params,
    )
