"""Word search at speed in a process that asks often: what frequent terms add to each score.

FTS5 takes more than a microsecond to score a row, and a common word is in a tenth of all rows.
BM25 is a sum over the terms of a query, so the share of one term in the scores of its rows can be
kept and added up for the next query that holds it. Nothing of this is on disk.

Invariant: the answer is the one FTS5 would give. Rows that came after a term was kept are asked
for; when a text was edited, when the number of rows changed so much that a word's rarity did, or
when a backup was put in place, everything kept is let go. Until then a score may be off by what a
twentieth more or fewer rows make of it. Rows that were deleted still appear: the caller checks
what stands.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from holdfast.store.sqlite.database import Connection
from holdfast.store.sqlite.row_changes import history_of

if TYPE_CHECKING:
    from holdfast.store.sqlite.facts import Scored
    from holdfast.store.sqlite.postings import RowLengths, Rows, Shares, Stemmer

# Below this FTS5 answers in a millisecond or two by itself.
_FROM_ROWS = 6_000
# Loading numpy for this alone pays only in a large store that is asked often.
_LOADING_FROM_ROWS = 20_000
_ASKED_OFTEN = 8
_TERM_BYTES = 500
_BUDGET_BYTES = 96 * 2**20
_GROWTH = 1.05


class _Term(NamedTuple):
    """The rows that hold a term, in order, and what it adds to the score of each."""

    rows: Rows
    shares: Shares
    last_row: int

    @property
    def size_bytes(self) -> int:
        return _TERM_BYTES + self.rows.nbytes + self.shares.nbytes


class _State(NamedTuple):
    """What the kept terms were computed for: the newest row, how many rows there are, the number
    of edits so far, and in which history."""

    last_row: int
    row_count: int
    edits: int
    history: int

    def is_outdated_by(self, now: _State) -> bool:
        """Whether what was computed for this state is of no use any more."""
        few, many = sorted((self.row_count, now.row_count))
        is_same_text = (self.edits, self.history) == (now.edits, now.history)
        return not is_same_text or many > few * _GROWTH


_NOTHING = _State(0, 0, 0, 0)


class FrequentTerms:
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
        self._state = _NOTHING
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
        self._let_go_if_outdated(state)
        return _summed([self._term(db, term, state) for term in quoted], limit=limit)

    def forget(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._restart(_NOTHING)
        with self._reading_lock:
            self._reading = None

    def _restart(self, state: _State) -> None:
        self._terms.clear()
        self._size_bytes = 0
        self._state = state

    def _let_go_if_outdated(self, now: _State) -> None:
        with self._lock:
            is_other_history = now.history != self._state.history
            if self._state.is_outdated_by(now):
                self._restart(now)
        if is_other_history:
            with self._reading_lock:
                self._reading = None

    def _term(self, db: Connection, quoted: str, state: _State) -> _Term:
        with self._lock:
            kept = self._terms.get(quoted)
            if kept is not None:
                self._terms.move_to_end(quoted)
        if kept is not None and kept.last_row >= state.last_row:
            return kept
        term = self._read(db, quoted, kept, state)
        self._keep(quoted, term, state)
        return term

    def _read(self, db: Connection, quoted: str, kept: _Term | None, state: _State) -> _Term:
        """A term's rows and shares: what is new and what is a phrase by FTS5, a word without it."""
        from holdfast.store.sqlite.postings import RowLengths, Stemmer, read_shares

        if kept is not None:
            return _read_by_rank(db, quoted, kept, state.last_row)
        with self._reading_lock:
            if self._reading is None:
                self._reading = Stemmer(), RowLengths()
            stemmer, lengths = self._reading
            word = stemmer.word(quoted)
            if word is None:
                return _read_by_rank(db, quoted, None, state.last_row)
            rows, shares = read_shares(db, word, lengths.update(db, last_row=state.last_row))
        return _Term(rows, shares, state.last_row)

    def _keep(self, quoted: str, term: _Term, state: _State) -> None:
        with self._lock:
            if self._state.is_outdated_by(state):
                return  # another thread saw an edit meanwhile
            replaced = self._terms.pop(quoted, None)
            self._size_bytes += term.size_bytes - (replaced.size_bytes if replaced else 0)
            self._terms[quoted] = term
            while self._size_bytes > self._budget_bytes:
                _, dropped = self._terms.popitem(last=False)
                self._size_bytes -= dropped.size_bytes


def _state(db: Connection, last_row: int) -> _State:
    from holdfast.store.sqlite.postings import index_totals

    (edits,) = db.execute("SELECT count FROM text_edits").fetchone()
    return _State(last_row, index_totals(db).rows, edits, history_of(db))


def _read_by_rank(db: Connection, quoted: str, kept: _Term | None, last_row: int) -> _Term:
    """A term's rows and shares as FTS5 gives them, adding only what is new when some are kept."""
    import numpy as np

    found = db.execute(
        "SELECT rowid, -rank FROM words WHERE words MATCH ? AND rowid > ?",
        (quoted, kept.last_row if kept else 0),
    ).fetchall()
    rows = np.array([row for row, _ in found], dtype=np.int32)
    shares = np.array([share for _, share in found], dtype=np.float64)
    if kept is not None:
        rows = np.concatenate((kept.rows, rows))
        shares = np.concatenate((kept.shares, shares))
    return _Term(rows, shares, last_row)


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
