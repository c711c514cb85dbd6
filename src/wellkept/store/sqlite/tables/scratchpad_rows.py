"""Scratchpads, sightings and explanations as rows and back, and the changes that write them.

Invariant: what is read equals what was written, but for a scratchpad's revision, which each write
counts up; of each subject only the sightings of the latest sessions stay.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.codec import payload_from_json, payload_to_json
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.records import record
from wellkept.store.sqlite.connection.database import Connection, SqlValue, placeholders
from wellkept.store.sqlite.tables.memory_rows import Row, dump

if TYPE_CHECKING:
    from wellkept.core.changes import LearningChange, PutSignals
    from wellkept.core.codec import Json
    from wellkept.core.scratchpad import Explanation, Scratchpad, SessionSignal

PAD_COLUMNS = "session_id, project, state, updated_ms, revision, body"
SIGNAL_COLUMNS = "project, kind, subject, session_id, at_ms, count, module, detail"
EXPLANATION_COLUMNS = "memory_id, project, at_ms, body"
_BODY = ("step", "request", "planned", "done", "failed_runs", "promoted_count", "work")


@record(kw_only=True)
class _Reasons:
    """The part of an explanation that is kept as JSON."""

    rule: str
    subject: str
    validated_by: str
    sessions: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    score: float = 0.0
    frequency: float = 0.0
    recency: float = 0.0
    novelty: float = 0.0
    threshold: float = 0.0


def put_learning_change(db: Connection, change: LearningChange) -> None:
    """Make one change to what the observer keeps."""
    from wellkept.core.changes import PutScratchpad, PutSignals

    if isinstance(change, PutScratchpad):
        put_scratchpad(db, change.pad)
    elif isinstance(change, PutSignals):
        put_signals(db, change)
    else:
        put_explanation(db, change.explanation)


def put_scratchpad(db: Connection, pad: Scratchpad) -> None:
    """Write a scratchpad under its next revision."""
    if not pad.session_id or not pad.project:
        raise UsageError("A scratchpad needs a session and a project.")
    values = (pad.project, pad.state.value, to_ms(pad.updated_at), pad.revision + 1, _body(pad))
    if pad.revision == 0:
        try:
            db.execute(
                "INSERT INTO scratchpads VALUES (?, ?, ?, ?, ?, ?)", (pad.session_id, *values)
            )
        except sqlite3.IntegrityError:
            raise _changed(pad) from None
        return
    done = db.execute(
        "UPDATE scratchpads SET project = ?, state = ?, updated_ms = ?, revision = ?, body = ?"
        " WHERE session_id = ? AND revision = ?",
        (*values, pad.session_id, pad.revision),
    )
    if done.rowcount != 1:
        raise _changed(pad)


def to_scratchpad(row: Row) -> Scratchpad:
    """The scratchpad of a row with the columns of `PAD_COLUMNS`."""
    from wellkept.core.scratchpad import Scratchpad, ScratchpadStatus, TaskScratchpad

    body = json.loads(row[5])
    tasks = tuple(payload_from_json(TaskScratchpad, task) for task in body.pop("tasks"))
    return Scratchpad(
        session_id=row[0],
        project=row[1],
        state=ScratchpadStatus(row[2]),
        updated_at=from_ms(row[3]),
        revision=row[4],
        tasks=tasks,
        **body,
    )


def put_signals(db: Connection, change: PutSignals) -> None:
    """Make some sightings those of a session."""
    from wellkept.core.scratchpad import MAX_SESSIONS_PER_SUBJECT

    strange = [s for s in change.signals if not _belongs(s, change)]
    if strange:
        raise UsageError(f"{strange[0]} is no sighting of session {change.session_id}.")
    db.execute(
        f"DELETE FROM sightings WHERE session_id = ? AND kind IN ({placeholders(change.kinds)})",
        (change.session_id, *(kind.value for kind in change.kinds)),
    )
    db.executemany(
        "INSERT OR REPLACE INTO sightings VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [_signal_row(s) for s in change.signals],
    )
    db.executemany(
        "DELETE FROM sightings WHERE (project, kind, subject) = (:project, :kind, :subject)"
        " AND session_id NOT IN (SELECT session_id FROM sightings"
        "  WHERE (project, kind, subject) = (:project, :kind, :subject)"
        "  ORDER BY at_ms DESC, session_id DESC LIMIT :kept)",
        [
            {
                "project": s.project,
                "kind": s.kind.value,
                "subject": s.subject,
                "kept": MAX_SESSIONS_PER_SUBJECT,
            }
            for s in change.signals
        ],
    )


def to_signal(row: Row) -> SessionSignal:
    """The sighting of a row with the columns of `SIGNAL_COLUMNS`."""
    from wellkept.core.scratchpad import SessionSignal, SignalKind

    return SessionSignal(
        project=row[0],
        kind=SignalKind(row[1]),
        subject=row[2],
        session_id=row[3],
        at=from_ms(row[4]),
        count=row[5],
        module=row[6],
        detail=json.loads(row[7]),
    )


def put_explanation(db: Connection, why: Explanation) -> None:
    """Keep why a memory was promoted."""
    reasons = dump(payload_to_json(_Reasons(**{name: getattr(why, name) for name in _REASONS})))
    try:
        db.execute(
            "INSERT OR REPLACE INTO explanations VALUES (?, ?, ?, ?)",
            (why.memory_id, why.project, to_ms(why.at), reasons),
        )
    except sqlite3.IntegrityError:
        raise NotFoundError(f"There is no memory with the id {why.memory_id}.") from None


def to_explanation(row: Row) -> Explanation:
    """The explanation of a row with the columns of `EXPLANATION_COLUMNS`."""
    from wellkept.core.scratchpad import Explanation

    reasons = payload_from_json(_Reasons, json.loads(row[3]))
    return Explanation(
        memory_id=row[0],
        project=row[1],
        at=from_ms(row[2]),
        **{name: getattr(reasons, name) for name in _REASONS},
    )


def move_signals(db: Connection, alias: str, target: str) -> None:
    """A session belongs to one project, so nothing can clash."""
    db.execute("UPDATE OR REPLACE sightings SET project = ? WHERE project = ?", (target, alias))


_REASONS = (
    "rule", "subject", "validated_by", "sessions", "signals", "score", "frequency", "recency",
    "novelty", "threshold",
)  # fmt: skip


def _body(pad: Scratchpad) -> str:
    body: dict[str, Json] = {name: getattr(pad, name) for name in _BODY}
    return dump({**body, "tasks": [payload_to_json(task) for task in pad.tasks]})


def _belongs(signal: SessionSignal, change: PutSignals) -> bool:
    same = (signal.project, signal.session_id) == (change.project, change.session_id)
    return same and signal.kind in change.kinds and signal.count > 0 and bool(signal.subject)


def _signal_row(signal: SessionSignal) -> tuple[SqlValue, ...]:
    return (
        signal.project, signal.kind.value, signal.subject, signal.session_id,
        to_ms(signal.at), signal.count, signal.module, dump(signal.detail),
    )  # fmt: skip


def _changed(pad: Scratchpad) -> ConflictError:
    return ConflictError(
        f"The scratchpad of session {pad.session_id} was changed by someone else meanwhile.",
        hint="Read it again and repeat the change.",
    )
