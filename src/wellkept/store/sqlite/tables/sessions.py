"""Sessions, taken events and reading marks: the `SessionBook` port."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.core.clock import to_ms
from wellkept.store.sqlite.connection.component import Component, require_limit
from wellkept.store.sqlite.connection.database import SqlValue, placeholders
from wellkept.store.sqlite.tables.session_rows import SELECTED, to_session

if TYPE_CHECKING:
    from wellkept.core.sessions import ReadPosition, SessionRecord

_MOST_IDS = 500
_SHORTEST_PREFIX = 4


class SqliteSessions(Component):
    """The `SessionBook` port."""

    def get_session(self, session_id: str) -> SessionRecord | None:
        with self._database.reading() as db:
            row = db.execute(
                f"SELECT {SELECTED} FROM sessions WHERE id = ?", (session_id,)
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
                f"SELECT {SELECTED} FROM sessions WHERE {' AND '.join(conditions)}"
                " ORDER BY last_event_ms DESC, id DESC LIMIT ?",
                (*values, limit),
            ).fetchall()
        return list(map(to_session, rows))

    def resolve_session(self, text: str) -> list[str]:
        wanted = text.strip()
        with self._database.reading() as db:
            if db.execute("SELECT 1 FROM sessions WHERE id = ?", (wanted,)).fetchone():
                return [wanted]
            if len(wanted) < _SHORTEST_PREFIX:
                return []
            rows = db.execute(
                "SELECT id FROM sessions WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT 10",
                (len(wanted), wanted),
            ).fetchall()
        return [row[0] for row in rows]

    def processed_events(self, event_ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        with self._database.reading() as db:
            for start in range(0, len(event_ids), _MOST_IDS):
                asked = event_ids[start : start + _MOST_IDS]
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
        from wellkept.core.sessions import ReadPosition

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
