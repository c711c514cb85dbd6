"""The `ScratchpadStore` port, and scratchpads, signals and explanations as rows.

Invariant: a record read equals the one written, except for a scratchpad's revision, which each
write increments. Of each subject only the signals of the latest sessions stay.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.codec import record_from_json, record_to_json
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.records import fields, record
from wellkept.store.sqlite.checksums import checksum
from wellkept.store.sqlite.connection.database import (
    Component,
    Connection,
    SqlValue,
    placeholders,
    require_limit,
)
from wellkept.store.sqlite.tables.memory_rows import Row, dump, names_damage

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.core.changes import LearningChange, PutSignals
    from wellkept.core.codec import Json
    from wellkept.core.session.scratchpad import (
        Explanation,
        Scratchpad,
        ScratchpadStatus,
        SessionSignal,
        SignalKind,
    )

_MAX_IDS = 500
PAD_COLUMNS = "session_id, project, state, updated_ms, revision, body"
SIGNAL_COLUMNS = "project, kind, subject, session_id, at_ms, count, module, detail"
EXPLANATION_COLUMNS = "memory_id, project, at_ms, body"
_BODY = ("step", "failed_runs", "promoted_count")


class SqliteScratchpads(Component):
    """The `ScratchpadStore` port."""

    def scratchpad(self, session_id: str) -> Scratchpad | None:
        with self._database.reading() as db:
            row = db.execute(
                f"SELECT {PAD_COLUMNS} FROM scratchpads WHERE session_id = ?", (session_id,)
            ).fetchone()
        return None if row is None else to_scratchpad(row)

    def scratchpads(
        self,
        *,
        project: str | None,
        statuses: Sequence[ScratchpadStatus] = (),
        before: datetime | None = None,
        limit: int = 50,
    ) -> list[Scratchpad]:
        require_limit(limit)
        conditions, values = ["1"], list[SqlValue]()
        if project is not None:
            conditions.append("project = ?")
            values.append(project)
        if statuses:
            conditions.append(f"state IN ({placeholders(statuses)})")
            values += [state.value for state in statuses]
        if before is not None:
            conditions.append("updated_ms < ?")
            values.append(to_ms(before))
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {PAD_COLUMNS} FROM scratchpads WHERE {' AND '.join(conditions)}"
                " ORDER BY updated_ms DESC, session_id DESC LIMIT ?",
                (*values, limit),
            ).fetchall()
        return list(map(to_scratchpad, rows))

    def signals(
        self,
        *,
        project: str,
        kinds: Sequence[SignalKind],
        subjects: Sequence[str] = (),
        modules: Sequence[str] = (),
        sessions: Sequence[str] = (),
        since: datetime | None = None,
        limit: int = 1_000,
    ) -> list[SessionSignal]:
        require_limit(limit)
        conditions, values = ["project = ?"], list[SqlValue]([project])
        wanted = {
            "kind": [kind.value for kind in kinds],
            "subject": subjects,
            "module": modules,
            "session_id": sessions,
        }
        for column, allowed in wanted.items():
            if allowed:
                # One parameter for any number of values: SQLite limits parameters.
                conditions.append(f"{column} IN (SELECT value FROM json_each(?))")
                values.append(_listed(allowed))
        if since is not None:
            conditions.append("at_ms >= ?")
            values.append(to_ms(since))
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {SIGNAL_COLUMNS} FROM sightings WHERE {' AND '.join(conditions)}"
                " ORDER BY at_ms DESC, session_id DESC, kind, subject LIMIT ?",
                (*values, limit),
            ).fetchall()
        return list(map(to_signal, rows))

    def count_signals(self, *, project: str) -> dict[SignalKind, int]:
        from wellkept.core.session.scratchpad import SignalKind

        with self._database.reading() as db:
            rows = db.execute(
                "SELECT kind, count(*) FROM sightings WHERE project = ? GROUP BY kind", (project,)
            ).fetchall()
        known = {kind.value: kind for kind in SignalKind}
        return {known[kind]: n for kind, n in rows if kind in known}

    def explanations(self, memory_ids: Sequence[str]) -> dict[str, Explanation]:
        found: dict[str, Explanation] = {}
        with self._database.reading() as db:
            for start in range(0, len(memory_ids), _MAX_IDS):
                asked = memory_ids[start : start + _MAX_IDS]
                rows = db.execute(
                    f"SELECT {EXPLANATION_COLUMNS} FROM explanations"
                    f" WHERE memory_id IN ({placeholders(asked)})",
                    tuple(asked),
                ).fetchall()
                found |= {row[0]: to_explanation(row) for row in rows}
        return found

    def latest_explanations(self, *, project: str, limit: int = 50) -> list[Explanation]:
        require_limit(limit)
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {EXPLANATION_COLUMNS} FROM explanations WHERE project = ?"
                " ORDER BY at_ms DESC, memory_id DESC LIMIT ?",
                (project, limit),
            ).fetchall()
        return list(map(to_explanation, rows))

    def drop_scratchpads(
        self, *, before: datetime, statuses: Sequence[ScratchpadStatus] = ()
    ) -> int:
        some = f" AND state IN ({placeholders(statuses)})" if statuses else ""
        with self._database.writing() as db:
            return db.execute(
                f"DELETE FROM scratchpads WHERE updated_ms < ?{some}",
                (to_ms(before), *(state.value for state in statuses)),
            ).rowcount


def _listed(values: Sequence[str]) -> str:
    from wellkept.store.sqlite.tables.memory_rows import dump

    return dump(list(values))


@record(kw_only=True)
class _Reasons:
    """The part of an explanation stored as JSON."""

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
    """Apply one change of learning data."""
    from wellkept.core.changes import PutScratchpad, PutSignals

    if isinstance(change, PutScratchpad):
        _put_scratchpad(db, change.pad)
    elif isinstance(change, PutSignals):
        _put_signals(db, change)
    else:
        _put_explanation(db, change.explanation)


def _put_scratchpad(db: Connection, pad: Scratchpad) -> None:
    """Write a scratchpad under its next revision."""
    if not pad.session_id or not pad.project:
        raise UsageError("A scratchpad needs a session and a project.")
    covered = (pad.state.value, to_ms(pad.updated_at), pad.revision + 1, pad_body(pad))
    values = (pad.project, *covered, checksum((pad.session_id, *covered)))
    if pad.revision == 0:
        try:
            db.execute(
                f"INSERT INTO scratchpads ({PAD_COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (pad.session_id, *values),
            )
        except sqlite3.IntegrityError:
            raise pad_changed(pad) from None
        return
    done = db.execute(
        "UPDATE scratchpads SET project = ?, state = ?, updated_ms = ?, revision = ?, body = ?,"
        " checksum = ? WHERE session_id = ? AND revision = ?",
        (*values, pad.session_id, pad.revision),
    )
    if done.rowcount != 1:
        raise pad_changed(pad)


@names_damage("scratchpad of session")
def to_scratchpad(row: Row) -> Scratchpad:
    """The scratchpad of a row with the columns of `PAD_COLUMNS`."""
    from wellkept.core.session.scratchpad import Scratchpad, ScratchpadStatus, TaskScratchpad

    if not isinstance(row[4], int):
        raise TypeError("the revision is damaged")
    body = json.loads(row[5])
    known = {one.name for one in fields(TaskScratchpad)}  # earlier versions stored more
    kept = ({name: task[name] for name in task.keys() & known} for task in body["tasks"])
    tasks = tuple(record_from_json(TaskScratchpad, task) for task in kept)
    return Scratchpad(
        session_id=row[0],
        project=row[1],
        state=ScratchpadStatus(row[2]),
        updated_at=from_ms(row[3]),
        revision=row[4],
        tasks=tasks,
        **{name: body[name] for name in _BODY},
    )


def _put_signals(db: Connection, change: PutSignals) -> None:
    """Replace the signals of a session."""
    from wellkept.core.session.scratchpad import MAX_SESSIONS_PER_SUBJECT

    foreign = [s for s in change.signals if not belongs(s, change)]
    if foreign:
        raise UsageError(f"{foreign[0]} is not a signal of session {change.session_id}.")
    db.execute(
        f"DELETE FROM sightings WHERE session_id = ? AND kind IN ({placeholders(change.kinds)})",
        (change.session_id, *(kind.value for kind in change.kinds)),
    )
    db.executemany(
        f"INSERT OR REPLACE INTO sightings ({SIGNAL_COLUMNS}, checksum)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(*row, checksum(row[1:])) for row in map(signal_row, change.signals)],
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


@names_damage("signal in project")
def to_signal(row: Row) -> SessionSignal:
    """The signal of a row with the columns of `SIGNAL_COLUMNS`."""
    from wellkept.core.session.scratchpad import SessionSignal, SignalKind

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


def _put_explanation(db: Connection, why: Explanation) -> None:
    """Store why a memory was promoted."""
    row = explanation_row(why)
    try:
        db.execute(
            f"INSERT OR REPLACE INTO explanations ({EXPLANATION_COLUMNS}, checksum)"
            " VALUES (?, ?, ?, ?, ?)",
            (*row, checksum((row[0], *row[2:]))),
        )
    except sqlite3.IntegrityError:
        raise NotFoundError(f"There is no memory with the id {why.memory_id}.") from None


def explanation_row(why: Explanation) -> tuple[str, str, int, str]:
    """The values of `EXPLANATION_COLUMNS`."""
    reasons = _Reasons(**{name: getattr(why, name) for name in _REASONS})
    return why.memory_id, why.project, to_ms(why.at), dump(record_to_json(reasons))


@names_damage("explanation of memory")
def to_explanation(row: Row) -> Explanation:
    """The explanation of a row with the columns of `EXPLANATION_COLUMNS`."""
    from wellkept.core.session.scratchpad import Explanation

    reasons = record_from_json(_Reasons, json.loads(row[3]))
    return Explanation(
        memory_id=row[0],
        project=row[1],
        at=from_ms(row[2]),
        **{name: getattr(reasons, name) for name in _REASONS},
    )


def move_signals(db: Connection, alias: str, target: str) -> None:
    """A session belongs to one project, so there are no conflicts."""
    db.execute("UPDATE OR REPLACE sightings SET project = ? WHERE project = ?", (target, alias))


_REASONS = (
    "rule", "subject", "validated_by", "sessions", "signals", "score", "frequency", "recency",
    "novelty", "threshold",
)  # fmt: skip


def pad_body(pad: Scratchpad) -> str:
    """The part of a scratchpad stored as JSON."""
    tasks: list[Json] = [record_to_json(task) for task in pad.tasks]
    return dump({"tasks": tasks, **{name: getattr(pad, name) for name in _BODY}})


def belongs(signal: SessionSignal, change: PutSignals) -> bool:
    """Whether a signal is valid and of the session that the change is about."""
    same = (signal.project, signal.session_id) == (change.project, change.session_id)
    return same and signal.kind in change.kinds and signal.count > 0 and bool(signal.subject)


def signal_row(signal: SessionSignal) -> tuple[SqlValue, ...]:
    """The values of `SIGNAL_COLUMNS`."""
    return (
        signal.project, signal.kind.value, signal.subject, signal.session_id,
        to_ms(signal.at), signal.count, signal.module, dump(signal.detail),
    )  # fmt: skip


def pad_changed(pad: Scratchpad) -> ConflictError:
    """The error for a scratchpad whose stored revision differs."""
    told = f"The scratchpad of session {pad.session_id} was changed by another process."
    return ConflictError(told, hint="Read it again and retry.")
