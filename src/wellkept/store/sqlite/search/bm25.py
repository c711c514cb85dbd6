"""What one word adds to the BM25 score of each row that holds it, read from the index itself.

FTS5's own `rank` takes almost 2 µs for a row, most of it to look up how long the row is. The
places of a word can be listed at a tenth of that, and here the lengths of all rows are at hand.
Invariant: the numbers are those of `rank`. A phrase has none here: that is left to FTS5.
Needs numpy.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellkept.store.sqlite.connection.database import Connection
from wellkept.store.sqlite.schema import WORD_TOKENIZER

Rows: TypeAlias = NDArray[np.int32]
Times: TypeAlias = NDArray[np.uint8 | np.int32]
Shares: TypeAlias = NDArray[np.float64]

# The constants of FTS5's bm25.
_K1 = 1.2
_B = 0.75
_LEAST_RARITY = 1e-6
_SPARE = 1.1
_TOTALS = 1  # the row of the index's data that counts its rows and words
_KNOWN_WORDS = 20_000
_MOST_IN_A_BYTE = 255


class Totals(NamedTuple):
    """How many rows an index has, and how many words in all of them."""

    rows: int
    words: int


class Stemmer:
    """Tells under which word of the index a term stands, by asking FTS5 itself."""

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._db.execute(
            "CREATE VIRTUAL TABLE asked USING fts5"
            f" (text, tokenize = '{WORD_TOKENIZER}', content = '', columnsize = 0)"
        )
        self._db.execute("CREATE VIRTUAL TABLE asked_words USING fts5vocab (asked, instance)")

    def word(self, term: str) -> str | None:
        """The one word that a term is in the index; None when it is none or several."""
        with self._lock:
            if term not in self._known:
                if len(self._known) >= _KNOWN_WORDS:
                    self._known.clear()
                self._known[term] = self._look_up(term)
            return self._known[term]

    def _look_up(self, term: str) -> str | None:
        self._db.execute("BEGIN")
        self._db.execute("INSERT INTO asked (rowid, text) VALUES (1, ?)", (term,))
        words = self._db.execute("SELECT term FROM asked_words LIMIT 2").fetchall()
        self._db.execute("ROLLBACK")  # half the price of deleting it
        return words[0][0] if len(words) == 1 else None


class RowLengths:
    """How many words each row of the index has; follows the index as it grows and changes."""

    def __init__(self) -> None:
        self._words = np.zeros(0, dtype=np.int32)
        self._last_row = 0
        self._last_edit = 0

    def update(self, db: Connection, *, last_row: int) -> NDArray[np.int32]:
        """The lengths by row number, up to the last row."""
        edits = db.execute(
            "SELECT number, memory FROM edited_texts WHERE number > ? ORDER BY number",
            (self._last_edit,),
        ).fetchall()
        if edits and edits[0][0] > self._last_edit + 1:
            self._last_row = 0  # more edits than the table keeps: read all again
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
        found = db.execute(f"SELECT id, sz FROM words_docsize WHERE {condition}").fetchall()
        rows = np.array([row for row, _ in found], dtype=np.int64)
        lengths = [sizes[0] + sizes[1] if len(sizes) == 2 else _sum(sizes) for _, sizes in found]
        if len(rows) and rows.max() >= len(self._words):
            self._words = np.pad(self._words, (0, int(rows.max()) + 1 - len(self._words)))
        self._words[rows] = lengths


def read_times(db: Connection, word: str) -> tuple[Rows, Times]:
    """The rows that hold a word, in order, and how often it stands in each."""
    # One long text and not a row for each place: a third of the time.
    (places,) = db.execute(
        "SELECT group_concat(doc) FROM word_places WHERE term = ?", (word,)
    ).fetchone()
    return _counted(np.fromstring(places or "", dtype=np.int32, sep=","))


class Scale(NamedTuple):
    """What a term's scores depend on beside the rows themselves."""

    lengths: NDArray[np.int32]
    totals: Totals
    holding: int

    def shares(self, rows: Rows, times: Times) -> Shares:
        """What a term adds to the score of rows, by how often it stands in them."""
        return self._rarity * (times * (_K1 + 1)) / (times + self._damping(rows))

    def times(self, rows: Rows, shares: Shares) -> Times:
        """How often a term stands in rows, by what it adds to their scores."""
        exact = shares * self._damping(rows) / (self._rarity * (_K1 + 1) - shares)
        return _narrow(np.rint(exact).astype(np.int32))

    @property
    def _rarity(self) -> float:
        without = self.totals.rows - self.holding
        return max(math.log((without + 0.5) / (self.holding + 0.5)), _LEAST_RARITY)

    def _damping(self, rows: Rows) -> Shares:
        usual_length = self.totals.words / max(self.totals.rows, 1) or 1.0
        return _K1 * (1 - _B + _B * self.lengths[rows].astype(np.float64) / usual_length)


def index_totals(db: Connection) -> Totals:
    """What the index counts of itself."""
    (packed,) = db.execute("SELECT block FROM words_data WHERE id = ?", (_TOTALS,)).fetchone()
    rows, *words = _numbers(packed)
    return Totals(rows, sum(words))


def _counted(docs: Rows) -> tuple[Rows, Times]:
    """Each number of an ascending list once, and how often it stands there."""
    is_first = np.ones(len(docs), dtype=bool)
    np.not_equal(docs[1:], docs[:-1], out=is_first[1:])
    first = np.flatnonzero(is_first)
    return docs[first], _narrow(np.diff(first, append=len(docs)).astype(np.int32))


def _narrow(times: NDArray[np.int32]) -> Times:
    """A byte each where that holds them, as it nearly always does: more terms can be kept."""
    return times.astype(np.uint8) if times.max(initial=0) <= _MOST_IN_A_BYTE else times


def _sum(packed: bytes) -> int:
    return sum(_numbers(packed))


def _numbers(packed: bytes) -> list[int]:
    """SQLite's variable-length integers: seven bits a byte, the highest bit says that more come."""
    found: list[int] = []
    number = 0
    for byte in packed:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            found.append(number)
            number = 0
    return found
