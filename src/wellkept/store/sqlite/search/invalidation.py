"""Which memories were changed or removed, for a process that keeps something of them in memory.

Triggers write the list; the table of step 11 says how much of it is kept. Rows that are new are
not on it: their numbers are larger than any before. All numbers belong to one history: it ends
when a backup is put in the place of what was there.
"""

from __future__ import annotations

from typing import NamedTuple

from wellkept.store.sqlite.connection.database import Connection


class RowState(NamedTuple):
    """Up to where rows are known: the newest row, the number of the last change, and in which
    history these numbers were given."""

    last_row: int
    last_change: int
    history: int

    def or_later(self, other: RowState) -> RowState:
        """The later of two; a reader that began earlier must not turn the clock back."""
        return RowState(
            max(self.last_row, other.last_row),
            max(self.last_change, other.last_change),
            self.history,
        )


def newest_state(db: Connection) -> RowState:
    """What a reader that knows everything would know."""
    last_row, last_change = db.execute(
        "SELECT (SELECT coalesce(max(row), 0) FROM memories),"
        " (SELECT coalesce(max(number), 0) FROM changed_rows)"
    ).fetchone()
    return RowState(last_row, last_change, history_of(db))


def history_of(db: Connection) -> int:
    """Which history a file tells. SQLite counts its schema up whenever a backup is put in place, so
    that other connections read it again; it also does so when a file is vacuumed or mended."""
    return int(db.execute("PRAGMA schema_version").fetchone()[0])


class RowChanges(NamedTuple):
    """The rows that were changed, None when more were than the list names; and its last number."""

    rows: frozenset[int] | None
    last: int


def changes_after(db: Connection, number: int) -> RowChanges:
    """What was changed after that number of the list."""
    told = db.execute(
        "SELECT number, memory FROM changed_rows WHERE number > ? ORDER BY number", (number,)
    ).fetchall()
    if not told:
        return RowChanges(frozenset(), number)
    is_whole = told[0][0] == number + 1
    return RowChanges(frozenset(row for _, row in told) if is_whole else None, told[-1][0])
