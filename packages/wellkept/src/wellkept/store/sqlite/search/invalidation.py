"""Cache invalidation: which memories were changed or deleted since a cache was filled.

Triggers write the list (`changed_rows`, migration 11), which holds only the latest changes. New
rows are not on it: their numbers are larger than any before. Numbers are valid within one history,
which ends when a backup is restored.
"""

from __future__ import annotations

from typing import NamedTuple

from wellkept.store.sqlite.connection.database import Connection


class RowState(NamedTuple):
    """What a cache has seen: newest row, number of the last change, and the history of both."""

    last_row: int
    last_change: int
    history: int

    def later_of(self, other: RowState) -> RowState:
        """The later of two states; a reader with an older snapshot must not move it back."""
        return RowState(
            max(self.last_row, other.last_row),
            max(self.last_change, other.last_change),
            self.history,
        )


def newest_state(db: Connection) -> RowState:
    """The state of an up-to-date cache."""
    last_row, last_change = db.execute(
        "SELECT (SELECT coalesce(max(row), 0) FROM memories),"
        " (SELECT coalesce(max(number), 0) FROM changed_rows)"
    ).fetchone()
    return RowState(last_row, last_change, history_id(db))


def history_id(db: Connection) -> int:
    """Identifies the history of a file. SQLite increments the schema version when a backup is
    restored, and also on VACUUM and repair."""
    return int(db.execute("PRAGMA schema_version").fetchone()[0])


class RowChanges(NamedTuple):
    """The changed rows, None when the list no longer reaches back; and the last number."""

    rows: frozenset[int] | None
    last: int


def changes_after(db: Connection, number: int) -> RowChanges:
    """Changes after that number of the list."""
    found = db.execute(
        "SELECT number, memory FROM changed_rows WHERE number > ? ORDER BY number", (number,)
    ).fetchall()
    if not found:
        return RowChanges(frozenset(), number)
    is_complete = found[0][0] == number + 1
    return RowChanges(frozenset(row for _, row in found) if is_complete else None, found[-1][0])
