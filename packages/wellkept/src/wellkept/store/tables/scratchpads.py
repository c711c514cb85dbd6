"""The `ScratchpadStore` port, and scratchpads, signals and explanations as rows.

Invariant: a record read equals the one written, except for a scratchpad's revision, which each
write increments. Of each subject only the signals of the latest sessions stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.clock import to_ms
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.records import replace
from wellkept.store.queries import require_limit
from wellkept.store.rows import EXPLANATIONS, SCRATCHPADS, SIGNALS, belongs, pad_changed
from wellkept.store.tables import Component, Connection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wellkept.core.changes import LearningChange, PutSignals
    from wellkept.core.session.scratchpad import (
        Explanation,
        Scratchpad,
        ScratchpadStatus,
        SessionSignal,
        SignalKind,
    )

_PAD = "FROM scratchpads WHERE tenant = :tenant AND session_id = :session"
_SIGNALS = "FROM signals WHERE tenant = :tenant AND project = :project"
_SUBJECT = f"{_SIGNALS} AND kind = :kind AND subject = :subject"


class Scratchpads(Component):
    """The `ScratchpadStore` port."""

    def scratchpad(self, session_id: str) -> Scratchpad | None:
        with self._tables.reading() as db:
            row = db.row(f"SELECT {SCRATCHPADS.listed()} {_PAD}", session=session_id)
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
        sql = f"SELECT {SCRATCHPADS.listed()} FROM scratchpads WHERE tenant = :tenant"
        if project is not None:
            sql += " AND project = :project"
        if statuses:
            sql += " AND state IN :states"
        if before is not None:
            sql += " AND updated_ms < :before_ms"
        with self._tables.reading() as db:
            rows = db.rows(
                f"{sql} ORDER BY updated_ms DESC, session_id DESC LIMIT :limit",
                project=project,
                states=[state.value for state in statuses],
                before_ms=None if before is None else to_ms(before),
                limit=limit,
            )
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
        wanted: dict[str, list[str]] = {
            "kind": [kind.value for kind in kinds],
            "subject": list(subjects),
            "module": list(modules),
            "session_id": list(sessions),
        }
        sql = f"SELECT {SIGNALS.listed()} {_SIGNALS}"
        sql += "".join(f" AND {name} IN :{name}" for name, allowed in wanted.items() if allowed)
        if since is not None:
            sql += " AND at_ms >= :since_ms"
        with self._tables.reading() as db:
            rows = db.rows(
                f"{sql} ORDER BY at_ms DESC, session_id DESC, kind, subject LIMIT :limit",
                project=project,
                **wanted,
                since_ms=None if since is None else to_ms(since),
                limit=limit,
            )
        return list(map(SIGNALS.read, rows))

    def count_signals(self, *, project: str) -> dict[SignalKind, int]:
        from wellkept.core.session.scratchpad import SignalKind

        with self._tables.reading() as db:
            rows = db.rows(f"SELECT kind, count(*) {_SIGNALS} GROUP BY kind", project=project)
        known = {kind.value: kind for kind in SignalKind}
        return {known[kind]: n for kind, n in rows if kind in known}

    def explanations(self, memory_ids: Sequence[str]) -> dict[str, Explanation]:
        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT {EXPLANATIONS.listed()} FROM explanations"
                " WHERE tenant = :tenant AND memory_id IN :ids",
                ids=memory_ids,
            )
        return {row[0]: EXPLANATIONS.read(row) for row in rows}

    def latest_explanations(self, *, project: str, limit: int = 50) -> list[Explanation]:
        require_limit(limit)
        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT {EXPLANATIONS.listed()} FROM explanations WHERE tenant = :tenant"
                " AND project = :project ORDER BY at_ms DESC, memory_id DESC LIMIT :limit",
                project=project,
                limit=limit,
            )
        return list(map(EXPLANATIONS.read, rows))

    def drop_scratchpads(
        self, *, before: datetime, statuses: Sequence[ScratchpadStatus] = ()
    ) -> int:
        some = " AND state IN :states" if statuses else ""
        with self._tables.writing() as db:
            return db.write(
                f"DELETE FROM scratchpads WHERE tenant = :tenant AND updated_ms < :before_ms{some}",
                before_ms=to_ms(before),
                states=[state.value for state in statuses],
            )


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
    if (db.value(f"SELECT revision {_PAD}", session=pad.session_id) or 0) != pad.revision:
        raise pad_changed(pad)
    row = SCRATCHPADS.named(replace(pad, revision=pad.revision + 1))
    db.put("scratchpads", [row], key=("session_id",))


def _put_signals(db: Connection, change: PutSignals) -> None:
    """Replace the signals of a session."""
    from wellkept.core.session.scratchpad import MAX_SESSIONS_PER_SUBJECT

    foreign = [s for s in change.signals if not belongs(s, change)]
    if foreign:
        raise UsageError(f"{foreign[0]} is not a signal of session {change.session_id}.")
    db.write(
        "DELETE FROM signals WHERE tenant = :tenant AND session_id = :session AND kind IN :kinds",
        session=change.session_id,
        kinds=[kind.value for kind in change.kinds],
    )
    rows = list(map(SIGNALS.named, change.signals))
    db.put("signals", rows, key=("project", "kind", "subject", "session_id"))
    db.many(
        f"DELETE {_SUBJECT} AND session_id NOT IN (SELECT session_id {_SUBJECT}"
        " ORDER BY at_ms DESC, session_id DESC LIMIT :kept)",
        [{**row, "kept": MAX_SESSIONS_PER_SUBJECT} for row in rows],
    )


def _put_explanation(db: Connection, why: Explanation) -> None:
    """Store why a memory was promoted."""
    known = db.row("SELECT 1 FROM memories WHERE tenant = :tenant AND id = :id", id=why.memory_id)
    if known is None:
        raise NotFoundError(f"There is no memory with the id {why.memory_id}.")
    db.put("explanations", [EXPLANATIONS.named(why)], key=("memory_id",))
