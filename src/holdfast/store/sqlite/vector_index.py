"""One model's vectors in memory, for comparing a query with all of them at once.

Rows are only ever appended: a vector that was deleted or replaced stays until a rebuild, and the
caller checks against the database which hits still stand. Small sets are compared exactly. Large
ones are first compared by the signs of their numbers (one bit each, kept by column so that a scan
runs at memory speed) and the best of those again by their codes.

Invariant: a `View` taken by a search does not change while others append. Knows no SQL and
does not know what a home means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.core.records import record

EXACT_BELOW = 10_000
# Of 60,000 sentence embeddings, 0.993 of the ten nearest are among the 2,000 closest by sign.
RESCORED = 2_000
_NEARLY_ALL = 0.8
_FEW = 0.1
_SPARE = 1.5
_KEPT_HOMES = 8

Floats: TypeAlias = NDArray[np.float32]
Codes: TypeAlias = NDArray[np.int8]
Seqs: TypeAlias = NDArray[np.int64]
Homes: TypeAlias = NDArray[np.int32]
Bits: TypeAlias = NDArray[np.uint64]
Positions: TypeAlias = NDArray[np.intp]


@record
class View:
    """The vectors as they stood at one moment, in the order of their seq."""

    seqs: Seqs
    scales: Floats
    codes: Codes
    bits: Bits

    def positions(self, seqs: Sequence[int]) -> Positions:
        """Where the vectors with those seqs stand."""
        return np.searchsorted(self.seqs, seqs)

    def nearest(
        self, query: Floats, *, among: Positions | None = None, limit: int
    ) -> tuple[Positions, Floats]:
        """Positions of the nearest vectors and their cosines, best first."""
        count = len(self.seqs) if among is None else len(among)
        kept = max(limit, RESCORED)
        if count > max(EXACT_BELOW, kept):
            among = self._closest_by_sign(query, among=among, kept=kept)
        cosines = self.cosines(query, among=among)
        best = _largest(cosines, limit)
        return (best if among is None else among[best]), cosines[best]

    def cosines(self, query: Floats, *, among: Positions | None = None) -> Floats:
        """The cosine of the query with every vector, or with those at some positions."""
        if among is None:
            return (self.codes.astype(np.float32) @ query) * self.scales
        return (np.take(self.codes, among, axis=0).astype(np.float32) @ query) * self.scales[among]

    def _closest_by_sign(self, query: Floats, *, among: Positions | None, kept: int) -> Positions:
        signs = sign_bits(query[np.newaxis, :])[:, 0]
        # Comparing all is quicker than gathering the columns of more than a small part.
        few = among is not None and len(among) < _FEW * len(self.seqs)
        columns = np.take(self.bits, among, axis=1) if few and among is not None else self.bits
        distance = np.zeros(columns.shape[1], dtype=np.uint16)
        for column, sign in zip(columns, signs, strict=True):
            distance += np.bitwise_count(column ^ sign)
        if among is not None and not few:
            distance = distance[among]
        # Distances are few small numbers, so counting them finds the border sooner than sorting.
        border = np.searchsorted(np.cumsum(np.bincount(distance)), kept)
        best = np.flatnonzero(distance <= border)
        return best if among is None else among[best]


class VectorIndex:
    """Grows a set of vectors; `view` is what searches work on."""

    def __init__(self, dimension: int) -> None:
        self._count = 0
        self._seqs: Seqs = np.empty(0, dtype=np.int64)
        self._scales: Floats = np.empty(0, dtype=np.float32)
        self._homes: Homes = np.empty(0, dtype=np.int32)
        self._home_numbers: dict[str, int] = {}
        self._codes: Codes = np.empty((0, dimension), dtype=np.int8)
        self._bits: Bits = np.empty((-(-dimension // 64), 0), dtype=np.uint64)
        self._at: dict[tuple[str, ...], Positions | None] = {}

    @property
    def last_seq(self) -> int:
        """The newest seq that is in; 0 when empty."""
        return int(self._seqs[self._count - 1]) if self._count else 0

    def reserve(self, count: int) -> None:
        """Make room for so many vectors at once."""
        if count > len(self._seqs):
            self._grow(count)

    def at(self, homes: tuple[str, ...]) -> Positions | None:
        """Positions of the vectors of some homes; None when that is nearly all of them."""
        if homes not in self._at:
            if len(self._at) >= _KEPT_HOMES:
                self._at.clear()
            self._at[homes] = self._find(homes)
        return self._at[homes]

    def _find(self, homes: tuple[str, ...]) -> Positions | None:
        here = np.zeros(self._count, dtype=bool)
        for home in homes:  # a tenth of the time that isin takes for two or three values
            here |= self._homes[: self._count] == self._home_number(home)
        positions = np.flatnonzero(here)
        return None if len(positions) > _NEARLY_ALL * self._count else positions

    def _home_number(self, name: str) -> int:
        return self._home_numbers.setdefault(name, len(self._home_numbers))

    def append(self, seqs: Seqs, scales: Floats, codes: Codes, *, homes: Sequence[str]) -> None:
        """Add vectors whose seqs are larger than any before."""
        start, end = self._count, self._count + len(seqs)
        if end > len(self._seqs):
            self._grow(int(end * _SPARE))
        self._seqs[start:end] = seqs
        self._scales[start:end] = scales
        self._homes[start:end] = [self._home_number(name) for name in homes]
        self._codes[start:end] = codes
        self._bits[:, start:end] = sign_bits(codes)
        self._count = end
        self._at.clear()

    def view(self) -> View:
        """What is in now."""
        n = self._count
        return View(self._seqs[:n], self._scales[:n], self._codes[:n], self._bits[:, :n])

    def _grow(self, capacity: int) -> None:
        # New arrays, so that views taken before keep the old ones.
        spare = capacity - len(self._seqs)
        self._seqs = np.pad(self._seqs, (0, spare))
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


def _largest(values: Floats, limit: int) -> Positions:
    """Positions of the largest values, best first; equal ones in their own order."""
    if limit < len(values):
        kept = np.sort(np.argpartition(values, -limit)[-limit:])
    else:
        kept = np.arange(len(values))
    return kept[np.argsort(-values[kept], kind="stable")]
