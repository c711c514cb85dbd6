"""The `ScratchpadStore` port. Rows are those of `store.rows`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.clock import to_ms
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.records import replace
from wellkept.store.queries import require_limit
from wellkept.store.rows import EXPLANATIONS, SCRATCHPADS, SIGNALS, belongs, pad_changed
from wellkept_team.postgres.connection.database import (
    Component,
    Connection,
    Value,
    all_bindable,
    bindable,
)

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


class PostgresScratchpads(Component):
    """The `ScratchpadStore` port."""

    def scratchpad(self, session_id: str) -> Scratchpad | None:
        with self._database.reading() as db:
            row = db.row(
                f"SELECT {SCRATCHPADS.listed()} FROM scratchpads"
                " WHERE tenant = %(tenant)s AND session_id = %(session)s",
                session=bindable(session_id),
            )
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
        conditions, values = ["tenant = %(tenant)s"], dict[str, Value](limit=limit)
        if project is not None:
            conditions.append("project = %(project)s")
            values["project"] = bindable(project)
        if statuses:
            conditions.append("state = ANY(%(states)s)")
            values["states"] = [state.value for state in statuses]
        if before is not None:
            conditions.append("updated_ms < %(before)s")
            values["before"] = to_ms(before)
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {SCRATCHPADS.listed()} FROM scratchpads WHERE {' AND '.join(conditions)}"
                " ORDER BY updated_ms DESC, session_id DESC LIMIT %(limit)s",
                **values,
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
        conditions = ["tenant = %(tenant)s AND project = %(project)s"]
        values = dict[str, Value](project=bindable(project), limit=limit)
        wanted = {
            "kind": [kind.value for kind in kinds],
            "subject": subjects,
            "module": modules,
            "session_id": sessions,
        }
        for column, allowed in wanted.items():
            if allowed:
                conditions.append(f"{column} = ANY(%({column})s)")
                values[column] = all_bindable(allowed)
        if since is not None:
            conditions.append("at_ms >= %(since)s")
            values["since"] = to_ms(since)
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {SIGNALS.listed()} FROM signals WHERE {' AND '.join(conditions)}"
                " ORDER BY at_ms DESC, session_id DESC, kind, subject LIMIT %(limit)s",
                **values,
            )
        return list(map(SIGNALS.read, rows))

    def count_signals(self, *, project: str) -> dict[SignalKind, int]:
        from wellkept.core.session.scratchpad import SignalKind

        with self._database.reading() as db:
            rows = db.rows(
                "SELECT kind, count(*) FROM signals"
                " WHERE tenant = %(tenant)s AND project = %(project)s GROUP BY kind",
                project=bindable(project),
            )
        known = {kind.value: kind for kind in SignalKind}
        return {known[kind]: n for kind, n in rows if kind in known}

    def explanations(self, memory_ids: Sequence[str]) -> dict[str, Explanation]:
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {EXPLANATIONS.listed()} FROM explanations"
                " WHERE tenant = %(tenant)s AND memory_id = ANY(%(ids)s)",
                ids=all_bindable(memory_ids),
            )
        return {row[0]: EXPLANATIONS.read(row) for row in rows}

    def latest_explanations(self, *, project: str, limit: int = 50) -> list[Explanation]:
        require_limit(limit)
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {EXPLANATIONS.listed()} FROM explanations"
                " WHERE tenant = %(tenant)s AND project = %(project)s"
                " ORDER BY at_ms DESC, memory_id DESC LIMIT %(limit)s",
                project=bindable(project),
                limit=limit,
            )
        return list(map(EXPLANATIONS.read, rows))

    def drop_scratchpads(
        self, *, before: datetime, statuses: Sequence[ScratchpadStatus] = ()
    ) -> int:
        some = " AND state = ANY(%(states)s)" if statuses else ""
        with self._database.writing() as db:
            return db.run(
                f"DELETE FROM scratchpads WHERE tenant = %(tenant)s"
                f" AND updated_ms < %(before)s{some}",
                before=to_ms(before),
                states=[state.value for state in statuses],
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
    stored = db.value(
        "SELECT revision FROM scratchpads WHERE tenant = %(tenant)s AND session_id = %(session)s",
        session=pad.session_id,
    )
    if (stored or 0) != pad.revision:
        raise pad_changed(pad)
    db.run(
        "DELETE FROM scratchpads WHERE tenant = %(tenant)s AND session_id = %(session)s",
        session=pad.session_id,
    )
    db.run(
        f"INSERT INTO scratchpads (tenant, {SCRATCHPADS.listed()})"
        f" VALUES (%(tenant)s, {', '.join(f'%({name})s' for name in SCRATCHPADS.columns)})",
        **SCRATCHPADS.named(replace(pad, revision=pad.revision + 1)),
    )


def _put_signals(db: Connection, change: PutSignals) -> None:
    """Replace the signals of a session."""
    from wellkept.core.session.scratchpad import MAX_SESSIONS_PER_SUBJECT

    foreign = [s for s in change.signals if not belongs(s, change)]
    if foreign:
        raise UsageError(f"{foreign[0]} is not a signal of session {change.session_id}.")
    db.run(
        "DELETE FROM signals WHERE tenant = %(tenant)s AND session_id = %(session)s"
        " AND kind = ANY(%(kinds)s)",
        session=change.session_id,
        kinds=[kind.value for kind in change.kinds],
    )
    subject = "(tenant, project, kind, subject) = (%(tenant)s, %(project)s, %(kind)s, %(subject)s)"
    rows = list(map(SIGNALS.named, change.signals))
    db.many(
        f"INSERT INTO signals (tenant, {SIGNALS.listed()})"
        f" VALUES (%(tenant)s, {', '.join(f'%({name})s' for name in SIGNALS.columns)})"
        " ON CONFLICT (tenant, project, kind, subject, session_id) DO UPDATE SET"
        " at_ms = excluded.at_ms, count = excluded.count, module = excluded.module,"
        " detail = excluded.detail",
        rows,
    )
    db.many(
        f"DELETE FROM signals WHERE {subject} AND session_id NOT IN"
        f" (SELECT session_id FROM signals WHERE {subject}"
        "  ORDER BY at_ms DESC, session_id DESC LIMIT %(kept)s)",
        [{**row, "kept": MAX_SESSIONS_PER_SUBJECT} for row in rows],
    )


def _put_explanation(db: Connection, why: Explanation) -> None:
    """Store why a memory was promoted."""
    known = db.row(
        "SELECT 1 FROM memories WHERE tenant = %(tenant)s AND id = %(id)s", id=why.memory_id
    )
    if known is None:
        raise NotFoundError(f"There is no memory with the id {why.memory_id}.")
    db.run(
        "DELETE FROM explanations WHERE tenant = %(tenant)s AND memory_id = %(id)s",
        id=why.memory_id,
    )
    db.run(
        f"INSERT INTO explanations (tenant, {EXPLANATIONS.listed()})"
        f" VALUES (%(tenant)s, {', '.join(f'%({name})s' for name in EXPLANATIONS.columns)})",
        **EXPLANATIONS.named(why),
    )
