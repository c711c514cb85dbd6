"""The `SharedRecordStore` port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wellkept.core.records import replace
from wellkept.store.queries import require_limit
from wellkept.store.rows import SHARED_RECORDS, new_statements, require_seen, require_unsaid
from wellkept.store.sqlite.database import Component, bindable, placeholders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.team.shared_records import SharedRecord

_CHUNK: Final = 500


class SqliteSharedRecords(Component):
    """The `SharedRecordStore` port."""

    def shared_records(self, project: str, ids: Sequence[str]) -> list[SharedRecord]:
        found: dict[str, SharedRecord] = {}
        with self._database.reading() as db:
            for start in range(0, len(ids), _CHUNK):
                some = [bindable(one) for one in ids[start : start + _CHUNK]]
                rows = db.execute(
                    f"SELECT {SHARED_RECORDS.listed()} FROM shared_records"
                    f" WHERE project = ? AND id IN ({placeholders(some)})",
                    (bindable(project), *some),
                )
                found |= {row[0]: SHARED_RECORDS.read(row) for row in rows}
        return [found[one] for one in ids if one in found]

    def shared_statements(self, project: str, statements: Sequence[str]) -> list[SharedRecord]:
        found: list[SharedRecord] = []
        with self._database.reading() as db:
            for start in range(0, len(statements), _CHUNK):
                some = [bindable(one) for one in statements[start : start + _CHUNK]]
                rows = db.execute(
                    f"SELECT {SHARED_RECORDS.listed()} FROM shared_records WHERE project = ?"
                    f" AND statement IN ({placeholders(some)})"
                    " AND state IN ('proposed', 'brought back', 'team')",
                    (bindable(project), *some),
                )
                found += map(SHARED_RECORDS.read, rows)
        return sorted(found, key=lambda one: one.seq)

    def shared_changes(
        self, project: str, *, after: int, limit: int, seen_by: str | None, waiting: bool = False
    ) -> list[SharedRecord]:
        require_limit(limit)
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {SHARED_RECORDS.listed()} FROM shared_records"
                " WHERE project = ? AND seq > ? AND waiting >= ?"
                " AND (? IS NULL OR state <> 'proposed' OR owner = ?) ORDER BY seq LIMIT ?",
                (bindable(project), after, int(waiting), seen_by, seen_by, limit),
            ).fetchall()
        return [SHARED_RECORDS.read(row) for row in rows]

    def shared_head(self, project: str) -> int:
        with self._database.reading() as db:
            row = db.execute(
                "SELECT coalesce(max(seq), 0) FROM shared_records WHERE project = ?",
                (bindable(project),),
            ).fetchone()
        return int(row[0])

    def put_shared_records(self, project: str, records: Sequence[SharedRecord]) -> int:
        with self._database.writing() as db:
            (last,) = db.execute(
                "SELECT coalesce(max(seq), 0) FROM shared_records WHERE project = ?", (project,)
            ).fetchone()
            for one in records:
                row = db.execute(
                    "SELECT seq FROM shared_records WHERE project = ? AND id = ?", (project, one.id)
                ).fetchone()
                require_seen(one, 0 if row is None else row[0])
                last += 1
                db.execute(
                    f"INSERT OR REPLACE INTO shared_records ({SHARED_RECORDS.listed()})"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    SHARED_RECORDS.values(replace(one, project=project, seq=last)),
                )
            for one in new_statements(records):
                rows = db.execute(
                    "SELECT id FROM shared_records WHERE project = ? AND statement = ?"
                    " AND state IN ('proposed', 'brought back', 'team')",
                    (project, one.statement),
                )
                require_unsaid(one, {str(row[0]) for row in rows}, records)
        return last
