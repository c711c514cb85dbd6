"""Which rows pass a filter, by row number, for the filters that were asked last.

A filter is read once from the table; after that only new and changed rows are looked at again, so a
write costs what it changed and not the whole table. Invariant: after `mask` it equals the table at
the newest state that any thread has seen; whoever needs the snapshot's own answer checks the few
rows that are left.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from wellkept.store.sqlite.search.invalidation import RowState, changes_after, newest_state
from wellkept.store.sqlite.tables.filters import Condition, condition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellkept.core.query import Filter
    from wellkept.store.sqlite.connection.database import Connection
    from wellkept.store.sqlite.search.vector_index import Mask

_KEPT: Final = 16
_SPARE: Final = 1.25


class PassingRows:
    """Masks of the filters asked last."""

    def __init__(self) -> None:
        self._known: OrderedDict[Filter, _FilterRows] = OrderedDict()
        self._lock = threading.Lock()

    def mask(self, db: Connection, where: Filter) -> Mask:
        """For each row number from 0 to the newest whether that row passes."""
        with self._lock:
            rows = self._known.pop(where, None)
            if rows is None or not rows.update(db):
                rows = _FilterRows(condition(where))
                rows.update(db)
            self._known[where] = rows
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
            return rows.mask

    def of(self, db: Connection, where: Filter, rows: NDArray[np.int64]) -> Mask:
        """Whether each of the rows passes."""
        mask = self.mask(db, where)
        known = rows < len(mask)
        return known & mask[np.where(known, rows, 0)]

    def clear(self) -> None:
        """Forget every filter."""
        with self._lock:
            self._known.clear()


class _FilterRows:
    """The rows that pass one filter."""

    def __init__(self, filter_sql: Condition) -> None:
        self._filter = filter_sql
        self._passes: Mask = np.zeros(0, dtype=np.bool_)
        self._state: RowState | None = None

    @property
    def mask(self) -> Mask:
        """By row number, at the state of the last update; it never changes afterwards."""
        return self._passes[: 1 if self._state is None else self._state.last_row + 1].copy()

    def update(self, db: Connection) -> bool:
        """Look at new and changed rows; False when that cannot be known from the list."""
        newest, before = newest_state(db), self._state
        if before is None:
            self._grow(newest.last_row)
            self._add(db, "memories m WHERE 1", ())
            self._state = newest
            return True
        if newest == before:
            return True
        if newest.history != before.history:
            return False
        changes = changes_after(db, before.last_change)
        if changes.rows is None:
            return False
        self._grow(newest.last_row)
        changed = [row for row in changes.rows if row <= before.last_row]
        self._passes[changed] = False
        self._add(
            db,
            "json_each(?) j CROSS JOIN memories m ON m.row = j.value WHERE 1",
            (str(changed),),
        )
        self._add(db, "memories m WHERE m.row > ?", (before.last_row,))
        self._state = newest.later_of(before)
        return True

    def _grow(self, last_row: int) -> None:
        if last_row >= len(self._passes):
            grown = np.zeros(int(last_row * _SPARE) + 1, dtype=np.bool_)
            grown[: len(self._passes)] = self._passes
            self._passes = grown

    def _add(self, db: Connection, source: str, params: Iterable[str | int]) -> None:
        found = db.execute(
            f"SELECT m.row FROM {source} AND {self._filter.sql}",
            (*params, *self._filter.params),
        )
        self._passes[np.fromiter((row for (row,) in found), dtype=np.int64)] = True
