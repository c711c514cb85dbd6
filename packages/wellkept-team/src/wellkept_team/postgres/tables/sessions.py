"""The `SessionStore` port. Rows are those of `store.rows`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.core.clock import to_ms
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.records import replace
from wellkept.store.queries import require_limit
from wellkept.store.rows import SESSIONS, session_changed
from wellkept_team.postgres.connection.database import (
    Component,
    Connection,
    Value,
    all_bindable,
    bindable,
)

if TYPE_CHECKING:
    from wellkept.core.session.sessions import ReadPosition, SessionRecord

_MIN_PREFIX = 4
_SELECTED = SESSIONS.listed()
_INSERT = (
    f"INSERT INTO sessions (tenant, {_SELECTED})"
    f" VALUES (%(tenant)s, {', '.join(f'%({name})s' for name in SESSIONS.columns)})"
)
_UPDATE = (
    f"UPDATE sessions SET {', '.join(f'{name} = %({name})s' for name in SESSIONS.columns)}"
    " WHERE tenant = %(tenant)s AND id = %(id)s AND revision = %(expected)s"
)


class PostgresSessions(Component):
    """The `SessionStore` port."""

    def get_session(self, session_id: str) -> SessionRecord | None:
        with self._database.reading() as db:
            row = db.row(
                f"SELECT {_SELECTED} FROM sessions WHERE tenant = %(tenant)s AND id = %(id)s",
                id=bindable(session_id),
            )
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
        conditions, values = ["tenant = %(tenant)s"], dict[str, Value](limit=limit)
        if project is not None:
            conditions.append("project = %(project)s")
            values["project"] = bindable(project)
        if open_only:
            conditions.append("ended_ms IS NULL")
        if needs_summary:
            conditions.append("(summarised_ms IS NULL OR last_event_ms > summarised_ms)")
        if idle_since is not None:
            conditions.append("last_event_ms < %(idle)s")
            values["idle"] = to_ms(idle_since)
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {_SELECTED} FROM sessions WHERE {' AND '.join(conditions)}"
                " ORDER BY last_event_ms DESC, id DESC LIMIT %(limit)s",
                **values,
            )
        return list(map(SESSIONS.read, rows))

    def resolve_session(self, text: str) -> list[str]:
        prefix = bindable(text.strip())
        with self._database.reading() as db:
            rows = db.rows(
                "SELECT id FROM sessions WHERE tenant = %(tenant)s AND id = %(prefix)s",
                prefix=prefix,
            )
            if not rows and len(prefix) >= _MIN_PREFIX:
                rows = db.rows(
                    "SELECT id FROM sessions WHERE tenant = %(tenant)s"
                    " AND starts_with(id, %(prefix)s) ORDER BY id LIMIT 10",
                    prefix=prefix,
                )
        return [row[0] for row in rows]

    def processed_events(self, event_ids: Sequence[str]) -> set[str]:
        with self._database.reading() as db:
            return _processed(db, event_ids)

    def prune_processed_events(self, *, before: datetime) -> int:
        with self._database.writing() as db:
            return db.run(
                "DELETE FROM processed_events e USING sessions s WHERE e.tenant = %(tenant)s"
                " AND s.tenant = e.tenant AND s.id = e.session_id AND s.last_event_ms < %(before)s",
                before=to_ms(before),
            ).rowcount

    def read_position(self, source: str) -> ReadPosition | None:
        from wellkept.core.session.sessions import ReadPosition

        with self._database.reading() as db:
            row = db.row(
                'SELECT source, head, "offset" FROM read_positions'
                " WHERE tenant = %(tenant)s AND project = '' AND source = %(source)s",
                source=bindable(source),
            )
        return None if row is None else ReadPosition(*row)

    def delete_read_position(self, position: ReadPosition) -> None:
        with self._database.writing() as db:
            db.run(
                "DELETE FROM read_positions WHERE tenant = %(tenant)s AND project = ''"
                ' AND source = %(source)s AND head = %(head)s AND "offset" = %(offset)s',
                source=position.source,
                head=position.head,
                offset=position.offset,
            )


def _processed(db: Connection, event_ids: Sequence[str]) -> set[str]:
    rows = db.rows(
        "SELECT event_id FROM processed_events"
        " WHERE tenant = %(tenant)s AND project = '' AND event_id = ANY(%(ids)s)",
        ids=all_bindable(event_ids),
    )
    return {row[0] for row in rows}


def put_session(db: Connection, session: SessionRecord, event_ids: Sequence[str]) -> None:
    """Write a session under its next revision, and the ids of its processed events."""
    if not session.id or not session.project:
        raise UsageError("A session needs an id and a project.")
    values = SESSIONS.named(replace(session, revision=session.revision + 1))
    if session.revision == 0:
        taken = db.row(
            "SELECT 1 FROM sessions WHERE tenant = %(tenant)s AND id = %(id)s", id=session.id
        )
        if taken is not None:
            raise session_changed(session)
        db.run(_INSERT, **values)
    elif db.run(_UPDATE, expected=session.revision, **values).rowcount != 1:
        raise session_changed(session)
    if len(set(event_ids)) < len(event_ids) or _processed(db, event_ids):
        raise ConflictError(f"An event of the session {session.id} was already processed.")
    db.run(
        "INSERT INTO processed_events (tenant, project, event_id, session_id)"
        " SELECT %(tenant)s, '', event_id, %(session)s FROM"
        " unnest(%(ids)s::text[]) AS e (event_id)",
        session=session.id,
        ids=list(event_ids),
    )


def put_read_position(db: Connection, position: ReadPosition) -> None:
    """Record how far a file was read."""
    if position.offset < 0 or not position.source:
        raise UsageError(f"{position} is not a valid read position.")
    db.run(
        'INSERT INTO read_positions (tenant, project, source, head, "offset")'
        " VALUES (%(tenant)s, '', %(source)s, %(head)s, %(offset)s)"
        " ON CONFLICT (tenant, project, source)"
        ' DO UPDATE SET head = excluded.head, "offset" = excluded."offset"',
        source=position.source,
        head=position.head,
        offset=position.offset,
    )


def drop_sessions(db: Connection, project: str) -> None:
    """Delete the sessions of a project with their events, scratchpads, signals and injections."""
    db.run(
        "DELETE FROM processed_events e USING sessions s WHERE e.tenant = %(tenant)s"
        " AND s.tenant = e.tenant AND s.id = e.session_id AND s.project = %(project)s",
        project=project,
    )
    for table in (
        "sessions", "scratchpads", "signals", "injected_lines", "injections", "silent_lines",
    ):  # fmt: skip
        db.run(
            f"DELETE FROM {table} WHERE tenant = %(tenant)s AND project = %(project)s",
            project=project,
        )
