"""In-memory vector index of one model.

Vectors are only appended; a deleted or replaced one stays in place but is masked out. Small sets
are compared exactly. Large ones are first compared by sign bits (stored by column, so that a scan
runs at memory speed), then the best are rescored with their int8 codes.

Invariant: a `VectorSnapshot` does not change while others append. Knows no SQL; a home is an opaque
name.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellkept.core.records import record
from wellkept.store.sqlite.search.candidates import RowState, changes_after, newest_state
from wellkept.store.sqlite.search.filters import Condition, condition

if TYPE_CHECKING:
    from wellkept.core.query import Filter
    from wellkept.store.sqlite.database import Connection

EXACT_BELOW = 10_000
# With 60,000 sentence embeddings, 0.993 of the ten nearest are among the 2,000 closest by sign.
RESCORED = 2_000
_FEW = 0.1
_SAMPLED = 12_500
_SCATTER = 2_654_435_761  # a large prime gives an irregular stride
_SPARE = 1.5
_KEPT_HOMES = 8
# Rebuild when this share of the vectors is deleted.
_DEAD_SHARE = 0.25
_DELETED = -1
NO_POSITION = -1

Floats: TypeAlias = NDArray[np.float32]
Codes: TypeAlias = NDArray[np.int8]
Rows: TypeAlias = NDArray[np.int64]
Homes: TypeAlias = NDArray[np.int32]
Bits: TypeAlias = NDArray[np.uint64]
Positions: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
Distances: TypeAlias = NDArray[np.unsignedinteger[Any]]


@record
class VectorSnapshot:
    """The vectors at one moment, by seq."""

    rows: Rows
    scales: Floats
    codes: Codes
    bits: Bits
    position_of: Positions

    def positions(self, rows: Sequence[int]) -> Positions:
        """Positions of the vectors of these rows; `NO_POSITION` where there is none."""
        wanted = np.array(rows, dtype=np.intp)
        known = wanted < len(self.position_of)
        return np.where(known, self.position_of[np.where(known, wanted, 0)], NO_POSITION)

    def order(self, query: Floats, rows: Sequence[int]) -> list[tuple[int, float]]:
        """Those of a few rows that have a vector, nearest first, with their cosines."""
        positions = self.positions(rows)
        among = positions[positions != NO_POSITION]
        cosines = self.cosines(query, among=among)
        best = _largest(cosines, len(cosines))
        return list(zip(self.rows[among[best]].tolist(), cosines[best].tolist(), strict=True))

    def nearest(self, query: Floats, *, mask: Mask, limit: int) -> tuple[Positions, Floats]:
        """Positions and cosines of the nearest vectors inside the mask, best first."""
        few = max(EXACT_BELOW, int(_FEW * len(self.rows)))
        # Scanning all is faster than gathering more than a small part of the columns.
        among = np.flatnonzero(mask) if np.count_nonzero(mask) <= few else None
        kept = max(limit, RESCORED)
        if among is None or len(among) > max(EXACT_BELOW, kept):
            among = self.closest_by_sign(query, among=among, mask=mask, kept=kept)
        cosines = self.cosines(query, among=among)
        best = _largest(cosines, limit)
        return among[best], cosines[best]

    def cosines(self, query: Floats, *, among: Positions) -> Floats:
        """The cosine of the query with the vectors at some positions."""
        codes = np.take(self.codes, among, axis=0)
        # Not `codes @ query`: BLAS uses threads, which takes forty times as long on a busy machine.
        sums = np.einsum("ij,j->i", codes, query, dtype=np.float32)
        return sums * self.scales[among]

    def closest_by_sign(
        self, query: Floats, *, among: Positions | None, mask: Mask, kept: int
    ) -> Positions:
        """About `kept` vectors with the fewest differing sign bits."""
        signs = sign_bits(query[np.newaxis, :])[:, 0]
        columns = self.bits if among is None else np.take(self.bits, among, axis=1)
        distance = _distances(columns, signs)
        if among is None:
            distance |= mask.astype(distance.dtype) - distance.dtype.type(1)
        # Distances are small integers, so a histogram of a sample finds the threshold faster than
        # sorting. Masked vectors lie beyond any threshold.
        sample = _sample(distance)
        counts = np.cumsum(np.bincount(sample)) * (len(distance) / len(sample))
        border = min(int(np.searchsorted(counts, kept)), np.iinfo(distance.dtype).max - 1)
        best = np.flatnonzero(distance <= border)
        return best if among is None else among[best]


class VectorIndex:
    """Growable set of vectors; searches work on a `snapshot`."""

    def __init__(self, dimension: int) -> None:
        self.last_change = 0
        self.last_seq = 0
        """The newest loaded seq; 0 when empty."""
        self._count = 0
        self._dead = 0
        self._rows: Rows = np.empty(0, dtype=np.int64)
        self._scales: Floats = np.empty(0, dtype=np.float32)
        self._homes: Homes = np.empty(0, dtype=np.int32)
        self._home_numbers: dict[str, int] = {}
        self._codes: Codes = np.empty((0, dimension), dtype=np.int8)
        self._bits: Bits = np.empty((-(-dimension // 64), 0), dtype=np.uint64)
        self._position_of: Positions = np.full(1, NO_POSITION, dtype=np.intp)
        self._masks: dict[tuple[str, ...], Mask] = {}

    @property
    def needs_rebuild(self) -> bool:
        """Whether so many vectors are deleted that reloading pays off."""
        return self._dead > _DEAD_SHARE * self._count

    def reserve(self, count: int) -> None:
        """Allocate space for `count` vectors."""
        if count > len(self._rows):
            self._grow(count)

    def mask_for(self, homes: tuple[str, ...]) -> Mask:
        """Mask of the vectors of these homes; all existing ones when none is named."""
        if homes not in self._masks:
            if len(self._masks) >= _KEPT_HOMES:
                self._masks.clear()
            known = self._homes[: self._count]
            mask = np.zeros(self._count, dtype=bool) if homes else known != _DELETED
            for home in homes:  # ten times faster than isin for two or three values
                mask |= known == self._home_number(home)
            self._masks[homes] = mask
        return self._masks[homes]

    def _home_number(self, name: str) -> int:
        return self._home_numbers.setdefault(name, len(self._home_numbers))

    def append(
        self, rows: Rows, scales: Floats, codes: Codes, *, homes: Sequence[str], last_seq: int
    ) -> None:
        """Add vectors with larger seqs than any before; each replaces its row's previous one."""
        start, end = self._count, self._count + len(rows)
        if end > len(self._rows):
            self._grow(int(end * _SPARE))
        self.remove(rows)
        self.last_seq = last_seq
        self._rows[start:end] = rows
        self._scales[start:end] = scales
        numbers = {name: self._home_number(name) for name in set(homes)}
        self._homes[start:end] = list(map(numbers.__getitem__, homes))
        self._codes[start:end] = codes
        self._bits[:, start:end] = sign_bits(codes)
        self._position_of[rows] = np.arange(start, end)
        self._count = end
        self._masks.clear()

    def remove(self, rows: Rows) -> None:
        """Remove the vectors of these rows, if they have any."""
        size = int(rows.max(initial=0)) + 1
        room = int(size * _SPARE) - len(self._position_of) if size > len(self._position_of) else 0
        # A new array, so that earlier snapshots keep the old one.
        self._position_of = np.pad(self._position_of, (0, room), constant_values=NO_POSITION)
        gone = self._position_of[rows]
        gone = gone[gone != NO_POSITION]
        self._homes[gone] = _DELETED
        self._dead += len(gone)
        self._position_of[rows] = NO_POSITION
        self._masks.clear()

    def snapshot(self) -> VectorSnapshot:
        """The current vectors."""
        n = self._count
        return VectorSnapshot(
            self._rows[:n], self._scales[:n], self._codes[:n], self._bits[:, :n], self._position_of
        )

    def _grow(self, capacity: int) -> None:
        # New arrays, so that earlier snapshots keep the old ones.
        spare = capacity - len(self._rows)
        self._rows = np.pad(self._rows, (0, spare))
        self._scales = np.pad(self._scales, (0, spare))
        self._homes = np.pad(self._homes, (0, spare))
        self._codes = np.pad(self._codes, ((0, spare), (0, 0)))
        self._bits = np.pad(self._bits, ((0, 0), (0, spare)))


def sign_bits(vectors: Floats | Codes) -> Bits:
    """Sign bits of each vector, 64 to a word, one column per vector."""
    positive, missing = vectors > 0, -vectors.shape[1] % 64
    padded = np.pad(positive, ((0, 0), (0, missing))) if missing else positive
    packed = np.packbits(padded, axis=1).view(np.uint64)
    return np.ascontiguousarray(packed.T)


def _distances(columns: Bits, signs: Bits) -> Distances:
    """Number of differing sign bits per column.

    One byte per distance up to 256 bits, which scans fastest. A vector that differs in all 256
    wraps to 0, but rescoring puts it last.
    """
    narrow = len(signs) * 64 <= 256
    distance = np.zeros(columns.shape[1], dtype=np.uint8 if narrow else np.uint16)
    for column, sign in zip(columns, signs, strict=True):
        distance += np.bitwise_count(column ^ sign)
    return distance


def _sample(distances: Distances) -> Distances:
    """A sample with an irregular stride: an even one could hit a single project when the rows of
    several projects alternate."""
    if len(distances) <= _SAMPLED:
        return distances
    return distances[np.arange(_SAMPLED, dtype=np.int64) * _SCATTER % len(distances)]


def _largest(values: Floats, limit: int) -> Positions:
    """Positions of the largest values, best first; ties by position."""
    if limit < len(values):
        kept = np.sort(np.argpartition(values, -limit)[-limit:])
    else:
        kept = np.arange(len(values))
    return kept[np.argsort(-values[kept], kind="stable")]


_KEPT_BYTES: Final = 32 << 20
_SPARE_ROWS: Final = 1.25


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
            while len(self._known) > 1 and len(self._known) * len(rows.mask) > _KEPT_BYTES:
                self._known.popitem(last=False)
            return rows.mask

    def of(self, db: Connection, where: Filter, rows: NDArray[np.int64]) -> Mask:
        """Whether each of the rows passes."""
        mask = self.mask(db, where)
        known = rows < len(mask)
        return known & mask[np.where(known, rows, 0)]

    def knows(self, where: Filter) -> bool:
        """Whether the filter was asked before."""
        return where in self._known

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
            db, "json_each(?) j CROSS JOIN memories m ON m.row = j.value WHERE 1", (str(changed),)
        )
        self._add(db, "memories m WHERE m.row > ?", (before.last_row,))
        self._state = newest.later_of(before)
        return True

    def _grow(self, last_row: int) -> None:
        if last_row >= len(self._passes):
            grown = np.zeros(int(last_row * _SPARE_ROWS) + 1, dtype=np.bool_)
            grown[: len(self._passes)] = self._passes
            self._passes = grown

    def _add(self, db: Connection, source: str, params: Iterable[str | int]) -> None:
        found = db.execute(
            f"SELECT m.row FROM {source} AND {self._filter.sql}", (*params, *self._filter.params)
        )
        self._passes[np.fromiter((row for (row,) in found), dtype=np.int64)] = True
