"""The `SessionStore` port, and sessions as rows.

Invariant: a session read equals the one written, except for the revision, which each write
increments.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.errors import ConflictError, UsageError
from wellkept.store.sqlite.checksums import SESSIONS, Covered
from wellkept.store.sqlite.connection.database import (
    Component,
    Connection,
    SqlValue,
    placeholders,
    require_limit,
)
from wellkept.store.sqlite.tables.memory_rows import Row, dump, names_damage

if TYPE_CHECKING:
    from wellkept.core.session.sessions import ReadPosition, SessionRecord

_MAX_IDS = 500
_MIN_PREFIX = 4
SESSION_COLUMNS = (
    "id", "client", "project", "started_ms", "last_event_ms", "cwd", "ended_ms", "end_reason",
    "title", "model", "branch", "commit_sha", "prompt_count", "turn_count", "tool_count",
    "error_count", "agent_count", "observation_count", "discovery_tokens", "summarised_ms",
    "summarised_turn", "revision", "work", "input_tokens", "cached_tokens", "output_tokens",
)  # fmt: skip
_SELECTED = ", ".join(SESSION_COLUMNS)
_COVERED = Covered(SESSIONS, SESSION_COLUMNS)
_WRITTEN = (*SESSION_COLUMNS, "checksum")
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
                f"SELECT {_SELECTED} FROM sessions WHERE id = ?", (session_id,)
            ).fetchone()
        return None if row is None else to_session(row)

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
                f"SELECT {_SELECTED} FROM sessions WHERE {' AND '.join(conditions)}"
                " ORDER BY last_event_ms DESC, id DESC LIMIT ?",
                (*values, limit),
            ).fetchall()
        return list(map(to_session, rows))

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
    values = session_values(session)
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


@names_damage("session")
def to_session(row: Row) -> SessionRecord:
    """The session of a row with the columns of `_SELECTED`."""
    from wellkept.core.session.sessions import SessionRecord

    names, counts = row[:3], (*row[12:19], row[20], row[21])
    if not all(isinstance(one, str) for one in names):
        raise TypeError("a name is damaged")
    if not all(isinstance(one, int) for one in counts):
        raise TypeError("a count is damaged")
    return SessionRecord(
        id=row[0],
        client=row[1],
        project=row[2],
        started_at=from_ms(row[3]),
        last_event_at=from_ms(row[4]),
        cwd=row[5],
        ended_at=_moment(row[6]),
        end_reason=row[7],
        title=row[8],
        model=row[9],
        branch=row[10],
        commit_sha=row[11],
        prompt_count=row[12],
        turn_count=row[13],
        tool_count=row[14],
        error_count=row[15],
        agent_count=row[16],
        observation_count=row[17],
        discovery_tokens=row[18],
        summarised_at=_moment(row[19]),
        summarised_turn=row[20],
        revision=row[21],
        work=json.loads(row[22]),
        input_tokens=row[23],
        cached_tokens=row[24],
        output_tokens=row[25],
    )


def session_values(session: SessionRecord) -> tuple[SqlValue, ...]:
    """The values of `SESSION_COLUMNS`, under the next revision."""
    return (
        session.id, session.client, session.project, to_ms(session.started_at),
        to_ms(session.last_event_at), session.cwd, _ms(session.ended_at), session.end_reason,
        session.title, session.model, session.branch, session.commit_sha, session.prompt_count,
        session.turn_count, session.tool_count, session.error_count, session.agent_count,
        session.observation_count, session.discovery_tokens, _ms(session.summarised_at),
        session.summarised_turn, session.revision + 1, dump(session.work), session.input_tokens,
        session.cached_tokens, session.output_tokens,
    )  # fmt: skip


def session_changed(session: SessionRecord) -> ConflictError:
    """The error for a session whose stored revision differs."""
    return ConflictError(
        f"The session {session.id} was changed by another process.",
        hint="Read it again and retry.",
    )


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else to_ms(moment)


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_ms(value)
