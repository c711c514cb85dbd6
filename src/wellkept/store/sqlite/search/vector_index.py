"""One model's vectors in memory, for comparing a query with all of them at once.

Vectors are only ever appended: one that was removed or replaced stays where it is, but belongs to
nobody any more and is not found. Small sets are compared exactly. Large ones are first compared by
the signs of their numbers (one bit each, kept by column so that a scan runs at memory speed) and
the best of those again by their codes.

Invariant: a `VectorSnapshot` taken by a search does not change while others append. Knows no SQL
and does not know what a home means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellkept.core.records import record

EXACT_BELOW = 10_000
# Of 60,000 sentence embeddings, 0.993 of the ten nearest are among the 2,000 closest by sign.
RESCORED = 2_000
_FEW = 0.1
_SAMPLED = 12_500
_SCATTER = 2_654_435_761  # a large prime: its multiples fall into no small step
_SPARE = 1.5
_KEPT_HOMES = 8
# Load anew when this share of the vectors in memory is nobody's.
_DEAD_SHARE = 0.25
_NOBODY = -1
NOWHERE = -1

Floats: TypeAlias = NDArray[np.float32]
Codes: TypeAlias = NDArray[np.int8]
Seqs: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.int64]
Homes: TypeAlias = NDArray[np.int32]
Bits: TypeAlias = NDArray[np.uint64]
Positions: TypeAlias = NDArray[np.intp]
Here: TypeAlias = NDArray[np.bool_]
Distances: TypeAlias = NDArray[np.unsignedinteger[Any]]


@record
class VectorSnapshot:
    """The vectors as they stood at one moment, in the order of their seq."""

    seqs: Seqs
    rows: Rows
    scales: Floats
    codes: Codes
    bits: Bits
    position_of: Positions

    def positions(self, rows: Sequence[int]) -> Positions:
        """Where the vectors of those rows stand; `NOWHERE` for one that has none."""
        wanted = np.array(rows, dtype=np.intp)
        known = wanted < len(self.position_of)
        return np.where(known, self.position_of[np.where(known, wanted, 0)], NOWHERE)

    def nearest(self, query: Floats, *, here: Here, limit: int) -> tuple[Positions, Floats]:
        """Positions of the nearest of the vectors `here`, and their cosines, best first."""
        few = max(EXACT_BELOW, int(_FEW * len(self.seqs)))
        # Comparing all is quicker than gathering the columns of more than a small part.
        among = np.flatnonzero(here) if np.count_nonzero(here) <= few else None
        kept = max(limit, RESCORED)
        if among is None or len(among) > max(EXACT_BELOW, kept):
            among = self.closest_by_sign(query, among=among, here=here, kept=kept)
        cosines = self.cosines(query, among=among)
        best = _largest(cosines, limit)
        return among[best], cosines[best]

    def cosines(self, query: Floats, *, among: Positions) -> Floats:
        """The cosine of the query with the vectors at some positions."""
        codes = np.take(self.codes, among, axis=0)
        # Not `codes @ query`: BLAS shares the work out to threads, and on a busy machine waiting
        # for the last of them takes forty times as long as doing it alone.
        sums = np.einsum("ij,j->i", codes, query, dtype=np.float32)
        return sums * self.scales[among]

    def closest_by_sign(
        self, query: Floats, *, among: Positions | None, here: Here, kept: int
    ) -> Positions:
        """About so many that differ least in their signs."""
        signs = sign_bits(query[np.newaxis, :])[:, 0]
        columns = self.bits if among is None else np.take(self.bits, among, axis=1)
        distance = _distances(columns, signs)
        if among is None:
            distance |= here.astype(distance.dtype) - distance.dtype.type(1)
        # Distances are few small numbers, so counting some of them finds the border sooner than
        # sorting. What is elsewhere lies beyond any border.
        sample = _sample(distance)
        counts = np.cumsum(np.bincount(sample)) * (len(distance) / len(sample))
        border = min(int(np.searchsorted(counts, kept)), np.iinfo(distance.dtype).max - 1)
        best = np.flatnonzero(distance <= border)
        return best if among is None else among[best]


class VectorIndex:
    """Grows a set of vectors; `view` is what searches work on."""

    def __init__(self, dimension: int) -> None:
        self.last_change = 0
        self._count = 0
        self._dead = 0
        self._seqs: Seqs = np.empty(0, dtype=np.int64)
        self._rows: Rows = np.empty(0, dtype=np.int64)
        self._scales: Floats = np.empty(0, dtype=np.float32)
        self._homes: Homes = np.empty(0, dtype=np.int32)
        self._home_numbers: dict[str, int] = {}
        self._codes: Codes = np.empty((0, dimension), dtype=np.int8)
        self._bits: Bits = np.empty((-(-dimension // 64), 0), dtype=np.uint64)
        self._position_of: Positions = np.full(1, NOWHERE, dtype=np.intp)
        self._at: dict[tuple[str, ...], Here] = {}

    @property
    def last_seq(self) -> int:
        """The newest seq that is in; 0 when empty."""
        return int(self._seqs[self._count - 1]) if self._count else 0

    @property
    def is_worn(self) -> bool:
        """Whether so many vectors are nobody's that loading anew would pay."""
        return self._dead > _DEAD_SHARE * self._count

    def reserve(self, count: int) -> None:
        """Make room for so many vectors at once."""
        if count > len(self._seqs):
            self._grow(count)

    def at(self, homes: tuple[str, ...]) -> Here:
        """Which of the vectors are of some homes, or of any when none is named."""
        if homes not in self._at:
            if len(self._at) >= _KEPT_HOMES:
                self._at.clear()
            known = self._homes[: self._count]
            here = np.zeros(self._count, dtype=bool) if homes else known != _NOBODY
            for home in homes:  # a tenth of the time that isin takes for two or three values
                here |= known == self._home_number(home)
            self._at[homes] = here
        return self._at[homes]

    def _home_number(self, name: str) -> int:
        return self._home_numbers.setdefault(name, len(self._home_numbers))

    def append(
        self, seqs: Seqs, rows: Rows, scales: Floats, codes: Codes, *, homes: Sequence[str]
    ) -> None:
        """Add vectors whose seqs are larger than any before; each replaces its row's last one."""
        start, end = self._count, self._count + len(seqs)
        if end > len(self._seqs):
            self._grow(int(end * _SPARE))
        self.remove(rows)
        self._seqs[start:end] = seqs
        self._rows[start:end] = rows
        self._scales[start:end] = scales
        self._homes[start:end] = [self._home_number(name) for name in homes]
        self._codes[start:end] = codes
        self._bits[:, start:end] = sign_bits(codes)
        self._position_of[rows] = np.arange(start, end)
        self._count = end
        self._at.clear()

    def remove(self, rows: Rows) -> None:
        """Take the vectors of these rows out, if they have any."""
        size = int(rows.max(initial=0)) + 1
        room = int(size * _SPARE) - len(self._position_of) if size > len(self._position_of) else 0
        # A new array, so that views taken before keep the old one.
        self._position_of = np.pad(self._position_of, (0, room), constant_values=NOWHERE)
        gone = self._position_of[rows]
        gone = gone[gone != NOWHERE]
        self._homes[gone] = _NOBODY
        self._dead += len(gone)
        self._position_of[rows] = NOWHERE
        self._at.clear()

    def view(self) -> VectorSnapshot:
        """What is in now."""
        n = self._count
        return VectorSnapshot(
            self._seqs[:n],
            self._rows[:n],
            self._scales[:n],
            self._codes[:n],
            self._bits[:, :n],
            self._position_of,
        )

    def _grow(self, capacity: int) -> None:
        # New arrays, so that views taken before keep the old ones.
        spare = capacity - len(self._seqs)
        self._seqs = np.pad(self._seqs, (0, spare))
        self._rows = np.pad(self._rows, (0, spare))
        self._scales = np.pad(self._scales, (0, spare))
        self._homes = np.pad(self._homes, (0, spare))
        self._codes = np.pad(self._codes, ((0, spare), (0, 0)))
        self._bits = np.pad(self._bits, ((0, 0), (0, spare)))


def sign_bits(vectors: Floats | Codes) -> Bits:
    """The signs of each vector's numbers, 64 to a word, one column per vector."""
    count, dimension = vectors.shape
    padded = np.zeros((count, -(-dimension // 64) * 64), dtype=bool)
    padded[:, :dimension] = vectors > 0
    packed = np.packbits(padded, axis=1).view(np.uint64)
    return np.ascontiguousarray(packed.T)


def _distances(columns: Bits, signs: Bits) -> Distances:
    """In how many signs each column differs.

    Up to 256 signs a byte holds it, which scans fastest. One that differs in all 256 would then
    seem to differ in none; compared by its codes, it comes last all the same.
    """
    narrow = len(signs) * 64 <= 256
    distance = np.zeros(columns.shape[1], dtype=np.uint8 if narrow else np.uint16)
    for column, sign in zip(columns, signs, strict=True):
        distance += np.bitwise_count(column ^ sign)
    return distance


def _sample(distances: Distances) -> Distances:
    """Some of them from all over, by no even step: projects that take turns row by row would fall
    in with one, and the sample then know one project only."""
    if len(distances) <= _SAMPLED:
        return distances
    return distances[np.arange(_SAMPLED, dtype=np.int64) * _SCATTER % len(distances)]


def _largest(values: Floats, limit: int) -> Positions:
    """Positions of the largest values, best first; equal ones in their own order."""
    if limit < len(values):
        kept = np.sort(np.argpartition(values, -limit)[-limit:])
    else:
        kept = np.arange(len(values))
    return kept[np.argsort(-values[kept], kind="stable")]
