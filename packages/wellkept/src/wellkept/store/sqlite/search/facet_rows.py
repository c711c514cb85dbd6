"""Facets and labels of every row in memory, so that counts after a write cost what it changed.

Loaded once, then kept up by the list of changed rows, as the other caches are. Counting a filter is
then a sum over small integers (`PassingRows` says which rows). Invariant: after `update` the counts
equal those that SQL gives. Knows nothing of what a facet means: a group is a tuple of columns.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

from wellkept.store.rows import Row
from wellkept.store.sqlite.search.candidates import RowState, changes_after, newest_state
from wellkept.store.sqlite.search.vector_index import PassingRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellkept.core.query import Filter
    from wellkept.store.sqlite.database import Connection
    from wellkept.store.sqlite.search.vector_index import Mask

_Name = TypeVar("_Name")
_NONE: Final = -1
_SPARE: Final = 1.25
_CHANGED: Final = "json_each(?) j CROSS JOIN memories m ON m.row = j.value"


class FacetRows:
    """Counts of groups and labels under any filter."""

    def __init__(self, grouped: str) -> None:
        self._grouped = grouped
        self._passing = PassingRows()
        self._state: RowState | None = None
        self._groups = _Numbered[Row]()
        self._group_of: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._labels: dict[str, _Labels] = {}
        self._lock = threading.Lock()

    def groups(self, db: Connection, where: Filter) -> list[Row]:
        """The groups of the rows that pass, each with its count."""
        with self._lock:
            self._update(db)
            mask = self._mask(db, where)
            counts = np.bincount(self._group_of[: len(mask)][mask] + 1)[1:]
            return [(*self._groups.names[one], int(counts[one])) for one in np.flatnonzero(counts)]

    def labels(self, db: Connection, where: Filter, kind: str, *, limit: int) -> list[Row]:
        """The most frequent labels of the rows that pass."""
        with self._lock:
            self._update(db)
            known = self._labels.get(kind)
            return known.counted(self._mask(db, where), limit=limit) if known else []

    def _mask(self, db: Connection, where: Filter) -> Mask:
        return self._passing.mask(db, where)[: len(self._group_of)]

    def _update(self, db: Connection) -> None:
        newest, before = newest_state(db), self._state
        if newest == before:
            return
        changes = changes_after(db, before.last_change).rows if before else None
        if before is None or changes is None or newest.history != before.history:
            # Everything anew.
            self._groups, self._labels = _Numbered[Row](), {}
            self._group_of = _room(np.zeros(0, dtype=np.int32), newest.last_row + 1)
            self._add(db, "memories m WHERE m.row > ?", (0,))
            self._state = newest
            return
        self._group_of = _room(self._group_of, newest.last_row + 1)
        changed = [row for row in changes if row <= before.last_row]
        self._group_of[changed] = _NONE
        for labels in self._labels.values():
            labels.drop(changed)
        self._add(db, f"{_CHANGED} WHERE m.row > 0", (str(changed),))
        self._add(db, "memories m WHERE m.row > ?", (before.last_row,))
        self._state = newest.later_of(before)

    def _add(self, db: Connection, source: str, params: tuple[str | int, ...]) -> None:
        found = db.execute(f"SELECT m.row, {self._grouped} FROM {source}", params)
        for row, *columns in found:
            self._group_of[row] = self._groups.number(tuple(columns))
        labels = db.execute(
            "SELECT l.kind, l.value, l.memory FROM labels l WHERE l.memory IN"
            f" (SELECT m.row FROM {source})",
            params,
        )
        by_kind: dict[str, tuple[list[str], list[int]]] = {}
        for kind, value, row in labels:
            values, rows = by_kind.setdefault(kind, ([], []))
            values.append(value)
            rows.append(row)
        for kind, (values, rows) in by_kind.items():
            self._labels.setdefault(kind, _Labels()).add(values, rows)


class _Numbered(Generic[_Name]):
    """Values by small numbers."""

    def __init__(self) -> None:
        self.names: list[_Name] = []
        self._numbers: dict[_Name, int] = {}

    def number(self, name: _Name) -> int:
        known = self._numbers.setdefault(name, len(self.names))
        if known == len(self.names):
            self.names.append(name)
        return known


class _Labels:
    """The labels of one kind: pairs of a row and a value."""

    def __init__(self) -> None:
        self._values = _Numbered[str]()
        self._rows: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._value_of: NDArray[np.int32] = np.zeros(0, dtype=np.int32)

    def add(self, values: Iterable[str], rows: Sequence[int]) -> None:
        numbers = np.array([self._values.number(one) for one in values], dtype=np.int32)
        self._rows = np.concatenate((self._rows, np.array(rows, dtype=np.int32)))
        self._value_of = np.concatenate((self._value_of, numbers))

    def drop(self, rows: Sequence[int]) -> None:
        stays = ~np.isin(self._rows, np.array(rows, dtype=np.int32))
        self._rows, self._value_of = self._rows[stays], self._value_of[stays]

    def counted(self, mask: Mask, *, limit: int) -> list[Row]:
        """The most frequent first, then by name."""
        passes = mask[np.minimum(self._rows, len(mask) - 1)] & (self._rows < len(mask))
        counts = np.bincount(self._value_of[passes], minlength=1)
        found = np.flatnonzero(counts)
        if not limit or not len(found):
            return []
        if len(found) > limit:
            least = np.partition(counts[found], len(found) - limit)[len(found) - limit]
            found = found[counts[found] >= least]
        named: list[Row] = [(self._values.names[one], int(counts[one])) for one in found]
        return sorted(named, key=lambda one: (-one[1], one[0]))[:limit]


def _room(numbers: NDArray[np.int32], wanted: int) -> NDArray[np.int32]:
    if wanted <= len(numbers):
        return numbers
    grown = np.full(int(wanted * _SPARE), _NONE, dtype=np.int32)
    grown[: len(numbers)] = numbers
    return grown
