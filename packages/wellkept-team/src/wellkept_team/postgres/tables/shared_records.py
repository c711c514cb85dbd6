"""The `SharedRecordStore` port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.records import replace
from wellkept.store.queries import require_limit
from wellkept.store.rows import SHARED_RECORDS, new_statements, require_seen, require_unsaid
from wellkept_team.postgres.connection.database import Component, all_bindable, bindable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.team.shared_records import SharedRecord

_HERE = "FROM shared_records WHERE tenant = %(tenant)s AND project = %(project)s"


class PostgresSharedRecords(Component):
    """The `SharedRecordStore` port."""

    def shared_records(self, project: str, ids: Sequence[str]) -> list[SharedRecord]:
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {SHARED_RECORDS.listed()} {_HERE} AND id = ANY(%(ids)s)",
                project=bindable(project),
                ids=all_bindable(ids),
            )
        found = {row[0]: SHARED_RECORDS.read(row) for row in rows}
        return [found[one] for one in ids if one in found]

    def shared_statements(self, project: str, statements: Sequence[str]) -> list[SharedRecord]:
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {SHARED_RECORDS.listed()} {_HERE} AND statement = ANY(%(statements)s)"
                " AND state IN ('proposed', 'brought back', 'team') ORDER BY seq",
                project=bindable(project),
                statements=all_bindable(statements),
            )
        return list(map(SHARED_RECORDS.read, rows))

    def shared_changes(
        self, project: str, *, after: int, limit: int, seen_by: str | None, waiting: bool = False
    ) -> list[SharedRecord]:
        require_limit(limit)
        own = "" if seen_by is None else " AND (state <> 'proposed' OR owner = %(seen_by)s)"
        only = " AND waiting" if waiting else ""
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {SHARED_RECORDS.listed()} {_HERE} AND seq > %(after)s{own}{only}"
                " ORDER BY seq LIMIT %(limit)s",
                project=bindable(project),
                after=after,
                seen_by=None if seen_by is None else bindable(seen_by),
                limit=limit,
            )
        return list(map(SHARED_RECORDS.read, rows))

    def shared_head(self, project: str) -> int:
        with self._database.reading() as db:
            found = db.value(f"SELECT coalesce(max(seq), 0) {_HERE}", project=bindable(project))
        return int(found)

    def put_shared_records(self, project: str, records: Sequence[SharedRecord]) -> int:
        with self._database.writing() as db:
            last = int(db.value(f"SELECT coalesce(max(seq), 0) {_HERE}", project=project))
            known = dict(
                db.rows(
                    f"SELECT id, seq {_HERE} AND id = ANY(%(ids)s)",
                    project=project,
                    ids=[one.id for one in records],
                )
            )
            for one in records:
                require_seen(one, known.get(one.id, 0))
                last += 1
                known[one.id] = last
                db.run(
                    f"INSERT INTO shared_records (tenant, {SHARED_RECORDS.listed()}) VALUES"
                    f" (%(tenant)s, {', '.join(f'%({name})s' for name in SHARED_RECORDS.columns)})"
                    " ON CONFLICT (tenant, project, id) DO UPDATE SET"
                    " state = excluded.state, owner = excluded.owner, seq = excluded.seq,"
                    " statement = excluded.statement, waiting = excluded.waiting,"
                    " body = excluded.body",
                    **SHARED_RECORDS.named(replace(one, project=project, seq=last))
                    | {"waiting": one.waiting},
                )
            for one in new_statements(records):
                found = db.rows(
                    f"SELECT id {_HERE} AND statement = %(statement)s"
                    " AND state IN ('proposed', 'brought back', 'team')",
                    project=project,
                    statement=one.statement,
                )
                require_unsaid(one, {str(row[0]) for row in found}, records)
        return last
