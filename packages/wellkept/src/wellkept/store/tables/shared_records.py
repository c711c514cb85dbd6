"""The `SharedRecordStore` port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.records import replace
from wellkept.store.queries import require_limit
from wellkept.store.rows import SHARED_RECORDS, new_statements, require_seen, require_unsaid
from wellkept.store.tables import Component

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.team.records import SharedRecord

_HERE = "FROM shared_records WHERE tenant = :tenant AND project = :project"
_SAID = f"{_HERE} AND statement IN :statements AND state IN ('proposed', 'brought back', 'team')"


class SharedRecords(Component):
    """The `SharedRecordStore` port."""

    def shared_records(self, project: str, ids: Sequence[str]) -> list[SharedRecord]:
        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT {SHARED_RECORDS.listed()} {_HERE} AND id IN :ids", project=project, ids=ids
            )
        found = {row[0]: SHARED_RECORDS.read(row) for row in rows}
        return [found[one] for one in ids if one in found]

    def shared_statements(self, project: str, statements: Sequence[str]) -> list[SharedRecord]:
        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT {SHARED_RECORDS.listed()} {_SAID} ORDER BY seq",
                project=project,
                statements=statements,
            )
        return list(map(SHARED_RECORDS.read, rows))

    def shared_changes(
        self, project: str, *, after: int, limit: int, seen_by: str | None, waiting: bool = False
    ) -> list[SharedRecord]:
        require_limit(limit)
        own = "" if seen_by is None else " AND (state <> 'proposed' OR owner = :seen_by)"
        only = " AND waiting" if waiting else ""
        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT {SHARED_RECORDS.listed()} {_HERE} AND seq > :after{own}{only}"
                " ORDER BY seq LIMIT :limit",
                project=project,
                after=after,
                seen_by=seen_by,
                limit=limit,
            )
        return list(map(SHARED_RECORDS.read, rows))

    def shared_head(self, project: str) -> int:
        with self._tables.reading() as db:
            return int(db.value(f"SELECT coalesce(max(seq), 0) {_HERE}", project=project))

    def put_shared_records(self, project: str, records: Sequence[SharedRecord]) -> int:
        with self._tables.writing() as db:
            last = int(db.value(f"SELECT coalesce(max(seq), 0) {_HERE}", project=project))
            for one in records:
                known = db.value(f"SELECT seq {_HERE} AND id = :id", project=project, id=one.id)
                require_seen(one, known or 0)
                last += 1
                row = SHARED_RECORDS.named(replace(one, project=project, seq=last))
                db.put("shared_records", [row], key=("project", "id"))
            for one in new_statements(records):
                rows = db.rows(f"SELECT id {_SAID}", project=project, statements=[one.statement])
                require_unsaid(one, {str(row[0]) for row in rows}, records)
        return last
