"""BM25 score of one word for every row that contains it, computed from the FTS5 index.

FTS5's `rank` takes almost 2 µs per row, mostly to look up the row's length. Listing the postings
of a word takes a tenth of that, and here all lengths are in memory. Invariant: the scores equal
`rank`. Phrases are left to FTS5. Needs numpy.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellkept.store.sqlite.database import Connection

if TYPE_CHECKING:
    from wellkept.store.tokenizer import Tokenizer

Rows: TypeAlias = NDArray[np.int32]
Counts: TypeAlias = NDArray[np.uint8 | np.int32]
Scores: TypeAlias = NDArray[np.float64]
Places: TypeAlias = tuple[Rows, Counts]

# Constants of FTS5's bm25().
_K1 = 1.2
_B = 0.75
_MIN_IDF = 1e-6
_SPARE = 1.1
_TOTALS = 1  # id of the data row with the totals
_MOST_IN_A_BYTE = 255
_MOST_NEW, _LONGEST_NEW = 64, 10_000


class Totals(NamedTuple):
    """Number of rows of an index, and of words in all of them."""

    rows: int
    words: int


class RowLengths:
    """Number of words of each row; updated as the index changes."""

    def __init__(self) -> None:
        self._words = np.zeros(0, dtype=np.int32)
        self._last_row = 0
        self._last_edit = 0

    def update(self, db: Connection, *, last_row: int) -> NDArray[np.int32]:
        """Lengths by row number, up to the last row."""
        edits = db.execute(
            "SELECT number, memory FROM edited_texts WHERE number > ? ORDER BY number",
            (self._last_edit,),
        ).fetchall()
        if edits and edits[0][0] > self._last_edit + 1:
            self._last_row = 0  # more edits than the table holds: read all again
        if last_row >= len(self._words):
            spare = int((last_row + 1) * _SPARE) - len(self._words)
            self._words = np.pad(self._words, (0, spare))
        edited = ", ".join(str(row) for _, row in edits if row <= self._last_row)
        if last_row > self._last_row:
            self._read(db, f"id > {self._last_row}")
        if edited:
            self._read(db, f"id IN ({edited})")
        self._last_row = max(self._last_row, last_row)
        self._last_edit = edits[-1][0] if edits else self._last_edit
        return self._words

    def _read(self, db: Connection, condition: str) -> None:
        # One long value for each column: a Python object for each number takes twice the time.
        ids, lengths_of, packed = db.execute(
            "SELECT group_concat(id), group_concat(length(sz)), CAST(group_concat(sz, '') AS BLOB)"
            f" FROM (SELECT id, sz FROM words_docsize WHERE {condition})"
        ).fetchone()
        rows, sizes = (np.fromstring(one or "", np.int64, sep=",") for one in (ids, lengths_of))
        ends = np.cumsum(sizes)
        starts = (ends - sizes)[sizes == 2]  # both of two columns below 128 words
        joined = np.frombuffer(packed or b"", dtype=np.uint8).astype(np.int32)
        lengths = np.empty(len(rows), dtype=np.int32)
        lengths[sizes == 2] = joined[starts] + joined[starts + 1]
        for number in np.flatnonzero(sizes != 2):
            lengths[number] = sum(_numbers(packed[ends[number] - sizes[number] : ends[number]]))
        if len(rows) and rows.max() >= len(self._words):
            self._words = np.pad(self._words, (0, int(rows.max()) + 1 - len(self._words)))
        self._words[rows] = lengths


class NewWords:
    """The words of the latest rows: each text is parted once, not looked up for every term."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._words: dict[int, Counter[str]] = {}
        self._first = self._last = 0

    def counts(self, db: Connection, word: str, *, after: int, last_row: int) -> Places | None:
        """The rows between two that hold a word, and how often; None where they are too many or
        too long to be parted."""
        if last_row - after > _MOST_NEW:
            return None
        if not self._first <= after <= self._last:
            self._words, self._first, self._last = {}, after, after
        if last_row > self._last:
            found = db.execute(
                "SELECT row, content || ' ' || extra FROM memories WHERE row > ? AND row <= ?",
                (self._last, last_row),
            ).fetchall()
            if any(len(text) > _LONGEST_NEW for _, text in found):
                return None
            for row, text in found:
                self._words[row] = Counter(self._tokenizer.words_of_text(text))
            self._last = last_row
        new = [(row, held[word]) for row, held in self._words.items() if after < row <= last_row]
        holding = [each for each in new if each[1]]
        rows = np.array([row for row, _ in holding], dtype=np.int32)
        return rows, _narrow(np.array([count for _, count in holding], dtype=np.int32))


def read_counts(db: Connection, word: str) -> tuple[Rows, Counts]:
    """Rows that contain a word, in order, and how often each does."""
    # One long string instead of a row per posting takes a third of the time.
    (places,) = db.execute(
        "SELECT group_concat(doc) FROM word_places WHERE term = ?", (word,)
    ).fetchone()
    # Distinct numbers of an ascending list, and how often each occurs.
    docs = np.fromstring(places or "", dtype=np.int32, sep=",")
    is_first = np.ones(len(docs), dtype=bool)
    np.not_equal(docs[1:], docs[:-1], out=is_first[1:])
    first = np.flatnonzero(is_first)
    return docs[first], _narrow(np.diff(first, append=len(docs)).astype(np.int32))


class Scale(NamedTuple):
    """Inputs of a term's scores besides its rows."""

    lengths: NDArray[np.int32]
    totals: Totals
    holding: int

    def scores(self, rows: Rows, counts: Counts) -> Scores:
        """The term's score for rows, from its counts."""
        return self._idf * (counts * (_K1 + 1)) / (counts + self._damping(rows))

    def counts(self, rows: Rows, scores: Scores) -> Counts:
        """The inverse of `scores`: the term's counts from its scores."""
        exact = scores * self._damping(rows) / (self._idf * (_K1 + 1) - scores)
        return _narrow(np.rint(exact).astype(np.int32))

    @property
    def _idf(self) -> float:
        without = self.totals.rows - self.holding
        return max(math.log((without + 0.5) / (self.holding + 0.5)), _MIN_IDF)

    def _damping(self, rows: Rows) -> Scores:
        usual_length = self.totals.words / max(self.totals.rows, 1) or 1.0
        return _K1 * (1 - _B + _B * self.lengths[rows].astype(np.float64) / usual_length)


def index_totals(db: Connection) -> Totals:
    """Totals that FTS5 stores in the index."""
    (packed,) = db.execute("SELECT block FROM words_data WHERE id = ?", (_TOTALS,)).fetchone()
    rows, *words = _numbers(packed)
    return Totals(rows, sum(words))


def _narrow(counts: NDArray[np.int32]) -> Counts:
    """One byte per count where that suffices, to cache more terms."""
    return counts.astype(np.uint8) if counts.max(initial=0) <= _MOST_IN_A_BYTE else counts


def _numbers(packed: bytes) -> list[int]:
    """SQLite varints: seven bits a byte, the highest bit set on all but the last."""
    found: list[int] = []
    number = 0
    for byte in packed:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            found.append(number)
            number = 0
    return found
