"""The `ScratchpadStore` port, and scratchpads, signals and explanations as rows.

Invariant: a record read equals the one written, except for a scratchpad's revision, which each
write increments. Of each subject only the signals of the latest sessions stay.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.clock import to_ms
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.records import replace
from wellkept.store.queries import require_limit
from wellkept.store.rows import EXPLANATIONS, SCRATCHPADS, SIGNALS, belongs, dump, pad_changed
from wellkept.store.sqlite.checksums import checksum
from wellkept.store.sqlite.database import Component, Connection, SqlValue, placeholders

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.core.changes import LearningChange, PutSignals
    from wellkept.core.session.scratchpad import (
        Explanation,
        Scratchpad,
        ScratchpadStatus,
        SessionSignal,
        SignalKind,
    )

_MAX_IDS = 500


class SqliteScratchpads(Component):
    """The `ScratchpadStore` port."""

    def scratchpad(self, session_id: str) -> Scratchpad | None:
        with self._database.reading() as db:
            row = db.execute(
                f"SELECT {SCRATCHPADS.listed()} FROM scratchpads WHERE session_id = ?",
                (session_id,),
            ).fetchone()
        return None if row is None else SCRATCHPADS.read(row)

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
                f"SELECT {SCRATCHPADS.listed()} FROM scratchpads WHERE {' AND '.join(conditions)}"
                " ORDER BY updated_ms DESC, session_id DESC LIMIT ?",
                (*values, limit),
            ).fetchall()
        return list(map(SCRATCHPADS.read, rows))

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
                values.append(dump(list(allowed)))
        if since is not None:
            conditions.append("at_ms >= ?")
            values.append(to_ms(since))
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {SIGNALS.listed()} FROM sightings WHERE {' AND '.join(conditions)}"
                " ORDER BY at_ms DESC, session_id DESC, kind, subject LIMIT ?",
                (*values, limit),
            ).fetchall()
        return list(map(SIGNALS.read, rows))

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
                    f"SELECT {EXPLANATIONS.listed()} FROM explanations"
                    f" WHERE memory_id IN ({placeholders(asked)})",
                    tuple(asked),
                ).fetchall()
                found |= {row[0]: EXPLANATIONS.read(row) for row in rows}
        return found

    def latest_explanations(self, *, project: str, limit: int = 50) -> list[Explanation]:
        require_limit(limit)
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {EXPLANATIONS.listed()} FROM explanations WHERE project = ?"
                " ORDER BY at_ms DESC, memory_id DESC LIMIT ?",
                (project, limit),
            ).fetchall()
        return list(map(EXPLANATIONS.read, rows))

    def drop_scratchpads(
        self, *, before: datetime, statuses: Sequence[ScratchpadStatus] = ()
    ) -> int:
        some = f" AND state IN ({placeholders(statuses)})" if statuses else ""
        with self._database.writing() as db:
            return db.execute(
                f"DELETE FROM scratchpads WHERE updated_ms < ?{some}",
                (to_ms(before), *(state.value for state in statuses)),
            ).rowcount


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
    session, project, *covered = SCRATCHPADS.values(replace(pad, revision=pad.revision + 1))
    values = (project, *covered, checksum((session, *covered)))
    if pad.revision == 0:
        try:
            db.execute(
                f"INSERT INTO scratchpads ({SCRATCHPADS.listed()}, checksum)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
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
        f"INSERT OR REPLACE INTO sightings ({SIGNALS.listed()}, checksum)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(*row, checksum(row[1:])) for row in map(SIGNALS.values, change.signals)],
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


def _put_explanation(db: Connection, why: Explanation) -> None:
    """Store why a memory was promoted."""
    row = EXPLANATIONS.values(why)
    try:
        db.execute(
            f"INSERT OR REPLACE INTO explanations ({EXPLANATIONS.listed()}, checksum)"
            " VALUES (?, ?, ?, ?, ?)",
            (*row, checksum((row[0], *row[2:]))),
        )
    except sqlite3.IntegrityError:
        raise NotFoundError(f"There is no memory with the id {why.memory_id}.") from None


def move_signals(db: Connection, alias: str, target: str) -> None:
    """A session belongs to one project, so there are no conflicts."""
    db.execute("UPDATE OR REPLACE sightings SET project = ? WHERE project = ?", (target, alias))
