"""A `SessionRecord` as a row and back, and the two changes that write sessions.

Invariant: `to_session(to_values(s)) == s` but for the revision, which each write counts up.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.errors import ConflictError, UsageError
from wellkept.store.sqlite.connection.database import Connection, SqlValue
from wellkept.store.sqlite.tables.memory_rows import Row, dump

if TYPE_CHECKING:
    from wellkept.core.sessions import ReadPosition, SessionRecord

_COLUMNS = (
    "id", "client", "project", "started_ms", "last_event_ms", "cwd", "ended_ms", "end_reason",
    "title", "model", "branch", "commit_sha", "prompt_count", "turn_count", "tool_count",
    "error_count", "agent_count", "observation_count", "discovery_tokens", "summarised_ms",
    "summarised_turn", "revision", "work",
)  # fmt: skip
SELECTED = ", ".join(_COLUMNS)
_INSERT = f"INSERT INTO sessions ({SELECTED}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_UPDATE = (
    f"UPDATE sessions SET {', '.join(f'{name} = ?' for name in _COLUMNS)}"
    " WHERE id = ? AND revision = ?"
)


def put_session(db: Connection, session: SessionRecord, taken: Sequence[str]) -> None:
    """Write a session under its next revision, and the events that went into it."""
    if not session.id or not session.project:
        raise UsageError("A session needs an id and a project.")
    values = _to_values(session)
    if session.revision == 0:
        _insert(db, session, values)
    elif db.execute(_UPDATE, (*values, session.id, session.revision)).rowcount != 1:
        raise _changed(session)
    (row,) = db.execute("SELECT row FROM sessions WHERE id = ?", (session.id,)).fetchone()
    try:
        db.executemany(
            "INSERT INTO taken_events VALUES (?, ?)", [(event_id, row) for event_id in taken]
        )
    except sqlite3.IntegrityError:
        raise ConflictError(f"An event of the session {session.id} was taken before.") from None


def put_mark(db: Connection, mark: ReadPosition) -> None:
    """Note how far a file was read."""
    if mark.offset < 0 or not mark.source:
        raise UsageError(f"{mark} is no place in a file.")
    db.execute(
        "INSERT OR REPLACE INTO reading_marks VALUES (?, ?, ?)",
        (mark.source, mark.head, mark.offset),
    )


def drop_sessions(db: Connection, project: str) -> None:
    """Remove the sessions of a project and all that was noticed in them."""
    for table in ("sessions", "scratchpads", "sightings"):
        db.execute(f"DELETE FROM {table} WHERE project = ?", (project,))


def to_session(row: Row) -> SessionRecord:
    """The session of a row with the columns of `SELECTED`."""
    from wellkept.core.sessions import SessionRecord

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
    )


def _to_values(session: SessionRecord) -> tuple[SqlValue, ...]:
    return (
        session.id, session.client, session.project, to_ms(session.started_at),
        to_ms(session.last_event_at), session.cwd, _ms(session.ended_at), session.end_reason,
        session.title, session.model, session.branch, session.commit_sha, session.prompt_count,
        session.turn_count, session.tool_count, session.error_count, session.agent_count,
        session.observation_count, session.discovery_tokens, _ms(session.summarised_at),
        session.summarised_turn, session.revision + 1, dump(session.work),
    )  # fmt: skip


def _insert(db: Connection, session: SessionRecord, values: tuple[SqlValue, ...]) -> None:
    try:
        db.execute(_INSERT, values)
    except sqlite3.IntegrityError:
        raise _changed(session) from None


def _changed(session: SessionRecord) -> ConflictError:
    return ConflictError(
        f"The session {session.id} was changed by someone else meanwhile.",
        hint="Read it again and repeat the change.",
    )


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else to_ms(moment)


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_ms(value)
