"""Word search at speed in a process that asks often: what frequent terms add to each score.

FTS5 takes more than a microsecond to score a row, and a common word is in a tenth of all rows.
BM25 is a sum over the terms of a query, so the share of one term in the scores of its rows can be
kept and added up for the next query that holds it. Nothing of this is on disk.

Invariant: the answer is the one FTS5 would give. Rows that came after a term was kept are asked
for, and its shares computed again, for each row changes how rare a word is and how long a text
usually is. When a text was edited or removed, or a backup put in place, everything kept is let go.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from wellkept.store.sqlite.connection.database import Connection
from wellkept.store.sqlite.search.invalidation import history_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wellkept.store.sqlite.search.bm25 import RowLengths, Rows, Shares, Stemmer, Times, Totals
    from wellkept.store.sqlite.search.candidates import Scored

# Below this FTS5 answers in a millisecond or two by itself.
_FROM_ROWS = 6_000
# Loading numpy for this alone pays only in a large store that is asked often.
_LOADING_FROM_ROWS = 20_000
_ASKED_OFTEN = 8
_TERM_BYTES = 500
_BUDGET_BYTES = 112 * 2**20


class _Term(NamedTuple):
    """The rows that hold a term, in order, how often, and what it adds to the score of each."""

    rows: Rows
    times: Times
    shares: Shares
    totals: Totals
    last_row: int

    @property
    def size_bytes(self) -> int:
        return _TERM_BYTES + self.rows.nbytes + self.times.nbytes + self.shares.nbytes

    def serves(self, state: _State) -> bool:
        """Whether it is as of that state, or later than a reader that began earlier."""
        return self.totals == state.totals or self.last_row > state.last_row


class _Texts(NamedTuple):
    """Which texts were there: how many edits and removals there were so far, in which history."""

    edits: int
    removed: int
    history: int


class _State(NamedTuple):
    """What is there now."""

    last_row: int
    totals: Totals
    texts: _Texts


class TermCache:
    """Keeps the shares of terms that were asked for, within a budget, least used out first."""

    def __init__(
        self,
        *,
        from_rows: int = _FROM_ROWS,
        budget_bytes: int = _BUDGET_BYTES,
    ) -> None:
        self._from_rows = from_rows
        self._budget_bytes = budget_bytes
        self._terms: OrderedDict[str, _Term] = OrderedDict()
        self._size_bytes = 0
        self._texts: _Texts | None = None
        self._asked = 0
        self._lock = threading.Lock()
        self._reading: tuple[Stemmer, RowLengths] | None = None
        self._reading_lock = threading.Lock()

    def best(self, db: Connection, quoted: Sequence[str], *, limit: int) -> Scored | None:
        """The best rows for any of the terms with their scores, or None: let FTS5 do it."""
        (last_row,) = db.execute("SELECT coalesce(max(row), 0) FROM memories").fetchone()
        self._asked += 1
        pays = self._asked > _ASKED_OFTEN and last_row >= _LOADING_FROM_ROWS
        if last_row < self._from_rows or not (pays or "numpy" in sys.modules):
            return None
        state = _state(db, last_row)
        self._let_go_if_outdated(state.texts)
        return _summed([self._term(db, term, state) for term in quoted], limit=limit)

    def forget(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._restart(None)
        with self._reading_lock:
            self._reading = None

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
                self._reading = None

    def _term(self, db: Connection, quoted: str, state: _State) -> _Term:
        with self._lock:
            kept = self._terms.get(quoted)
            if kept is not None:
                self._terms.move_to_end(quoted)
        if kept is not None and kept.serves(state):
            return kept
        term = self._read(db, quoted, kept, state)
        self._keep(quoted, term, state)
        return term

    def _read(self, db: Connection, quoted: str, kept: _Term | None, state: _State) -> _Term:
        """A term's rows and shares: what is new and what is a phrase by FTS5, a word without it."""
        from wellkept.store.sqlite.search.bm25 import RowLengths, Scale, Stemmer, read_times

        with self._reading_lock:
            if self._reading is None:
                self._reading = Stemmer(), RowLengths()
            stemmer, row_lengths = self._reading
            lengths = row_lengths.update(db, last_row=state.last_row)
            word = stemmer.word(quoted) if kept is None else None
            if word is None:
                rows, times = _read_by_rank(db, quoted, kept, lengths, state.totals)
            else:
                rows, times = read_times(db, word)
            shares = Scale(lengths, state.totals, len(rows)).shares(rows, times)
        return _Term(rows, times, shares, state.totals, state.last_row)

    def _keep(self, quoted: str, term: _Term, state: _State) -> None:
        with self._lock:
            if state.texts != self._texts:
                return  # another thread saw an edit meanwhile
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
    # Row numbers are given once, so what is missing was removed.
    return _State(last_row, totals, _Texts(edits, (given or 0) - totals.rows, history_of(db)))


def _read_by_rank(
    db: Connection,
    quoted: str,
    kept: _Term | None,
    lengths: NDArray[np.int32],
    totals: Totals,
) -> tuple[Rows, Times]:
    """A term's rows, and by the scores that FTS5 gives them how often it stands in each; what is
    kept is not read again."""
    import numpy as np

    from wellkept.store.sqlite.search.bm25 import Scale

    found = db.execute(
        "SELECT rowid, -rank FROM words WHERE words MATCH ? AND rowid > ?",
        (quoted, kept.last_row if kept else 0),
    ).fetchall()
    rows = np.array([row for row, _ in found], dtype=np.int32)
    shares = np.array([share for _, share in found], dtype=np.float64)
    holding = len(rows) + (len(kept.rows) if kept else 0)
    times = Scale(lengths, totals, holding).times(rows, shares)
    if kept is not None:
        rows = np.concatenate((kept.rows, rows))
        times = np.concatenate((kept.times, times))
    return rows, times


def _summed(terms: Sequence[_Term], *, limit: int) -> Scored:
    """The rows with the largest sums; equal sums in the order of the rows."""
    import numpy as np

    rows = np.concatenate([term.rows for term in terms])
    if not len(rows):
        return []
    sums = np.zeros(int(rows.max()) + 1)
    for term in terms:
        sums[term.rows] += term.shares
    # A row stands here once for each term it holds.
    enough = limit * len(terms)
    if enough < len(rows):
        values = sums[rows]
        border = np.partition(values, len(rows) - enough)[len(rows) - enough]
        rows = rows[values >= border]
    rows = np.unique(rows)
    best = rows[np.lexsort((rows, -sums[rows]))[:limit]]
    return list(zip(best.tolist(), sums[best].tolist(), strict=True))
