"""What the observer noticed and concluded: the `ObserverBook` port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.clock import to_ms
from wellkept.store.sqlite.connection.component import Component, require_limit
from wellkept.store.sqlite.connection.database import SqlValue, placeholders
from wellkept.store.sqlite.tables.scratchpad_rows import (
    EXPLANATION_COLUMNS,
    PAD_COLUMNS,
    SIGNAL_COLUMNS,
    to_explanation,
    to_scratchpad,
    to_signal,
)

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.core.scratchpad import (
        Explanation,
        Scratchpad,
        ScratchpadStatus,
        SessionSignal,
        SignalKind,
    )

_MOST_IDS = 500


class SqliteScratchpads(Component):
    """The `ObserverBook` port."""

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
                # One parameter, however many there are: engines bound the number of parameters.
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
        from wellkept.core.scratchpad import SignalKind

        with self._database.reading() as db:
            rows = db.execute(
                "SELECT kind, count(*) FROM sightings WHERE project = ? GROUP BY kind", (project,)
            ).fetchall()
        return {SignalKind(kind): n for kind, n in rows}

    def explanations(self, memory_ids: Sequence[str]) -> dict[str, Explanation]:
        found: dict[str, Explanation] = {}
        with self._database.reading() as db:
            for start in range(0, len(memory_ids), _MOST_IDS):
                asked = memory_ids[start : start + _MOST_IDS]
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
