"""In-memory cache of BM25 scores per term, for processes with many queries.

FTS5 takes over a microsecond to score a row, and a common word is in a tenth of all rows. BM25 is
a sum over the terms of a query, so the score of one term can be cached and reused.

Invariant: the result equals that of FTS5. New rows are read and a term's scores recomputed, because
each row changes the document frequency and the average length. An edit, a deletion or a restored
backup clears the cache.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from wellkept.store.sqlite.database import Connection
from wellkept.store.sqlite.search.candidates import history_id
from wellkept.store.sqlite.search.fulltext import LOAD_NUMPY_MIN_ROWS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wellkept.store.sqlite.search.bm25 import (
        Counts,
        NewWords,
        Places,
        RowLengths,
        Rows,
        Scores,
        Totals,
    )
    from wellkept.store.sqlite.search.candidates import Scored
    from wellkept.store.sqlite.search.vector_index import Mask
    from wellkept.store.tokenizer import Tokenizer

# Below this FTS5 alone takes one or two milliseconds.
_MIN_ROWS = 6_000
_MIN_QUERIES = 8
_TERM_BYTES = 500
_BUDGET_BYTES = 112 * 2**20


class _Term(NamedTuple):
    """Rows that contain a term, in order, with the term count and the BM25 score of each."""

    rows: Rows
    counts: Counts
    scores: Scores
    totals: Totals
    last_row: int

    @property
    def size_bytes(self) -> int:
        return _TERM_BYTES + self.rows.nbytes + self.counts.nbytes + self.scores.nbytes

    def serves(self, state: _State) -> bool:
        """Whether it is current for that state, or newer than the reader's snapshot."""
        return self.totals == state.totals or self.last_row > state.last_row


class _Texts(NamedTuple):
    """Version of the indexed texts: number of edits and deletions, and the history."""

    edits: int
    removed: int
    history: int


class _State(NamedTuple):
    """State of the index in a snapshot."""

    last_row: int
    totals: Totals
    texts: _Texts


class TermCache:
    """LRU cache of term scores within a memory budget."""

    def __init__(self, *, min_rows: int = _MIN_ROWS, budget_bytes: int = _BUDGET_BYTES) -> None:
        self._min_rows = min_rows
        self._budget_bytes = budget_bytes
        self._terms: OrderedDict[str, _Term] = OrderedDict()
        self._size_bytes = 0
        self._texts: _Texts | None = None
        self._queries = 0
        self._lock = threading.Lock()
        self._reading: tuple[Tokenizer, RowLengths, NewWords] | None = None
        self._lengths: tuple[_State, NDArray[np.int32]] | None = None
        self._reading_lock = threading.RLock()

    def best(
        self, db: Connection, quoted: Sequence[str], *, limit: int, mask: Mask | None = None
    ) -> Scored | None:
        """The best rows for any of the terms with their scores; None means use FTS5.

        `mask` says of each row number whether the row may be among them.
        """
        (last_row,) = db.execute("SELECT coalesce(max(row), 0) FROM memories").fetchone()
        self._queries += 1
        pays = self._queries > _MIN_QUERIES and last_row >= LOAD_NUMPY_MIN_ROWS
        if last_row < self._min_rows or not (pays or "numpy" in sys.modules):
            return None
        state = _state(db, last_row)
        self._let_go_if_outdated(state.texts)
        if len(quoted) > 1:
            self._tools()[0].learn(quoted)
        terms = [self._term(db, term, state) for term in quoted]
        return _summed(terms, limit=limit, mask=mask)

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._restart(None)
        with self._reading_lock:
            self._reading = self._lengths = None

    def _restart(self, texts: _Texts | None) -> None:
        self._terms.clear()
        self._size_bytes = 0
        self._texts = texts

    def _let_go_if_outdated(self, now: _Texts) -> None:
        with self._lock:
            known = self._texts
            if known != now:
                self._restart(now)
        if known is not None and known.history != now.history:
            with self._reading_lock:
                self._reading = self._lengths = None

    def _term(self, db: Connection, quoted: str, state: _State) -> _Term:
        with self._lock:
            cached = self._terms.get(quoted)
            if cached is not None:
                self._terms.move_to_end(quoted)
        if cached is not None and cached.serves(state):
            return cached
        term = self._read(db, quoted, cached, state)
        self._keep(quoted, term, state)
        return term

    def _read(self, db: Connection, quoted: str, cached: _Term | None, state: _State) -> _Term:
        """Read a term: new rows and phrases through FTS5, a single word from its postings."""
        from wellkept.store.sqlite.search.bm25 import Scale, read_counts

        with self._reading_lock:
            tokenizer, row_lengths, new_words = self._tools()
            if self._lengths is None or self._lengths[0] != state:
                self._lengths = state, row_lengths.update(db, last_row=state.last_row)
            lengths = self._lengths[1]
            word, last_row = tokenizer.word(quoted), state.last_row
            new = None
            if word is not None and cached is not None:
                new = new_words.counts(db, word, after=cached.last_row, last_row=last_row)
            if cached is not None and new is not None:
                rows, counts = _joined(cached, new)
            elif word is not None and cached is None:
                rows, counts = read_counts(db, word)
            else:
                rows, counts = _read_by_rank(db, quoted, cached, lengths, state.totals)
            scores = Scale(lengths, state.totals, len(rows)).scores(rows, counts)
        return _Term(rows, counts, scores, state.totals, state.last_row)

    def _tools(self) -> tuple[Tokenizer, RowLengths, NewWords]:
        """What terms are read with."""
        from wellkept.store.sqlite.search.bm25 import NewWords, RowLengths
        from wellkept.store.tokenizer import Tokenizer

        with self._reading_lock:
            if self._reading is None:
                tokenizer = Tokenizer()
                self._reading = tokenizer, RowLengths(), NewWords(tokenizer)
            return self._reading

    def _keep(self, quoted: str, term: _Term, state: _State) -> None:
        with self._lock:
            if state.texts != self._texts:
                return  # another thread saw an edit
            replaced = self._terms.pop(quoted, None)
            self._size_bytes += term.size_bytes - (replaced.size_bytes if replaced else 0)
            self._terms[quoted] = term
            while self._size_bytes > self._budget_bytes:
                _, dropped = self._terms.popitem(last=False)
                self._size_bytes -= dropped.size_bytes


def _state(db: Connection, last_row: int) -> _State:
    from wellkept.store.sqlite.search.bm25 import index_totals

    totals = index_totals(db)
    edits, given = db.execute(
        "SELECT count, (SELECT seq FROM sqlite_sequence WHERE name = 'memories') FROM text_edits"
    ).fetchone()
    # Row numbers are never reused, so missing ones were deleted.
    return _State(last_row, totals, _Texts(edits, (given or 0) - totals.rows, history_id(db)))


def _read_by_rank(
    db: Connection, quoted: str, cached: _Term | None, lengths: NDArray[np.int32], totals: Totals
) -> Places:
    """A term's rows, with counts derived from FTS5's scores; cached rows are not read again."""
    import numpy as np

    from wellkept.store.sqlite.search.bm25 import Scale

    found = db.execute(
        "SELECT rowid, -rank FROM words WHERE words MATCH ? AND rowid > ?",
        (quoted, cached.last_row if cached else 0),
    ).fetchall()
    rows = np.array([row for row, _ in found], dtype=np.int32)
    scores = np.array([score for _, score in found], dtype=np.float64)
    holding = len(rows) + (len(cached.rows) if cached else 0)
    counts = Scale(lengths, totals, holding).counts(rows, scores)
    return (rows, counts) if cached is None else _joined(cached, (rows, counts))


def _joined(cached: _Term, new: Places) -> Places:
    """The places of a term with those in new rows."""
    import numpy as np

    rows, counts = new
    return np.concatenate((cached.rows, rows)), np.concatenate((cached.counts, counts))


def _summed(terms: Sequence[_Term], *, limit: int, mask: Mask | None) -> Scored:
    """The rows with the largest sums; ties by row."""
    import numpy as np

    sums = np.zeros(1 + max((int(term.rows[-1]) for term in terms if len(term.rows)), default=0))
    for term in terms:
        sums[term.rows] += term.scores
    if mask is not None:
        sums[: len(mask)] *= mask[: len(sums)]
        sums[len(mask) :] = 0.0
    least = 0.0
    for term in terms:  # so many rows of one term reach this: what is below is none of the best
        if len(term.rows) > limit:
            values = sums[term.rows]
            least = max(least, np.partition(values, len(values) - limit)[len(values) - limit])
    rows = np.flatnonzero(sums >= least if least else sums)
    best = rows[np.argsort(-sums[rows], kind="stable")[:limit]]
    return list(zip(best.tolist(), sums[best].tolist(), strict=True))
