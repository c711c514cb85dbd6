"""The `SharedRecordStore` port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wellkept.core.errors import ConflictError
from wellkept.store.sqlite.connection.database import (
    Component,
    bindable,
    placeholders,
    require_limit,
)
from wellkept.store.sqlite.tables.memory_rows import names_damage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.team.shared_records import SharedRecord
    from wellkept.store.sqlite.connection.database import SqlValue

COLUMNS: Final = "id, project, state, owner, statement, waiting, body, seq"
_CHUNK: Final = 500


class SqliteSharedRecords(Component):
    """The `SharedRecordStore` port."""

    def shared_records(self, project: str, ids: Sequence[str]) -> list[SharedRecord]:
        found: dict[str, SharedRecord] = {}
        with self._database.reading() as db:
            for start in range(0, len(ids), _CHUNK):
                some = [bindable(one) for one in ids[start : start + _CHUNK]]
                rows = db.execute(
                    f"SELECT {COLUMNS} FROM shared_records"
                    f" WHERE project = ? AND id IN ({placeholders(some)})",
                    (bindable(project), *some),
                )
                found |= {row[0]: to_record(row) for row in rows}
        return [found[one] for one in ids if one in found]

    def shared_statements(self, project: str, statements: Sequence[str]) -> list[SharedRecord]:
        found: list[SharedRecord] = []
        with self._database.reading() as db:
            for start in range(0, len(statements), _CHUNK):
                some = [bindable(one) for one in statements[start : start + _CHUNK]]
                rows = db.execute(
                    f"SELECT {COLUMNS} FROM shared_records WHERE project = ?"
                    f" AND statement IN ({placeholders(some)})"
                    " AND state IN ('proposed', 'brought back', 'team')",
                    (bindable(project), *some),
                )
                found += map(to_record, rows)
        return sorted(found, key=lambda one: one.seq)

    def shared_changes(
        self, project: str, *, after: int, limit: int, seen_by: str | None, waiting: bool = False
    ) -> list[SharedRecord]:
        require_limit(limit)
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {COLUMNS} FROM shared_records WHERE project = ? AND seq > ?"
                " AND (? IS NULL OR state <> 'proposed' OR owner = ?) AND waiting >= ?"
                " ORDER BY seq LIMIT ?",
                (bindable(project), after, seen_by, seen_by, int(waiting), limit),
            ).fetchall()
        return [to_record(row) for row in rows]

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
                    f"INSERT OR REPLACE INTO shared_records ({COLUMNS})"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        one.id,
                        project,
                        one.state.value,
                        one.owner,
                        one.statement,
                        int(one.waiting),
                        one.body,
                        last,
                    ),
                )
            for one in new_statements(records):
                rows = db.execute(
                    "SELECT id FROM shared_records WHERE project = ? AND statement = ?"
                    " AND state IN ('proposed', 'brought back', 'team')",
                    (project, one.statement),
                )
                require_unsaid(one, {str(row[0]) for row in rows}, records)
        return last


def require_seen(record: SharedRecord, stored: int) -> None:
    """ConflictError when a record was changed since the caller read it."""
    if stored != record.seq:
        raise ConflictError(
            f"The shared record {record.id} was changed meanwhile.", hint="Read it again."
        )


def new_statements(records: Sequence[SharedRecord]) -> list[SharedRecord]:
    """Those that say something new and hold."""
    from wellkept.core.team.shared_records import OPEN_STATES

    return [one for one in records if not one.seq and one.statement and one.state in OPEN_STATES]


def require_unsaid(record: SharedRecord, said: set[str], written: Sequence[SharedRecord]) -> None:
    """ConflictError when somebody said the same since the caller looked."""
    if said - {one.id for one in written}:
        raise ConflictError(
            f"Another record says what {record.id} says.", hint="Read it, and confirm that one."
        )


@names_damage("shared record")
def to_record(row: Sequence[SqlValue]) -> SharedRecord:
    """The record of a row."""
    full_id, project, state, owner, statement, waiting, body, seq = row
    assert isinstance(seq, int)
    from wellkept.core.team.shared_records import SharedRecord, SharedState

    return SharedRecord(
        id=str(full_id),
        project=str(project),
        state=SharedState(str(state)),
        owner=str(owner),
        statement=str(statement),
        waiting=bool(waiting),
        body=str(body),
        seq=seq,
    )
