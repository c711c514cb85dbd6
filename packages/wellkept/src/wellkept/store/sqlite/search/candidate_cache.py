"""In-memory cache of all candidates by row number.

Updated from the newest row number and the numbered list of changed rows. Invariant: after `update`
it equals the table. Holds only open, unarchived memories, which is what the default filter selects;
about 600 bytes each. One unreadable row makes the cache unusable, so that the query reads the rows
and reports which one is damaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wellkept.core.errors import StoreCorruptError
from wellkept.core.query import Candidate, SessionPosition
from wellkept.store.sqlite.connection.database import Connection
from wellkept.store.sqlite.search.invalidation import RowState, changes_after, newest_state
from wellkept.store.sqlite.tables.memory_rows import SELECTED_CANDIDATE, Row, to_candidate

_READ = f"SELECT {SELECTED_CANDIDATE}, m.row, m.home FROM {{source}}"
_USUAL = "m.valid_to_ms IS NULL AND m.archived_ms IS NULL"


class _CachedRow(NamedTuple):
    home: str
    candidate: Candidate


class CandidateCache:
    """Candidates by row, rows by id, and rows by position in each session."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self._cached: dict[int, _CachedRow] = {}
        self._sessions: dict[str, dict[int, tuple[int, ...]]] = {}
        self._shared: dict[str, str] = {}
        self._unreadable: set[int] = set()
        self._state = RowState(0, 0, 0)

    @property
    def last_row(self) -> int:
        """The newest cached row."""
        return self._state.last_row

    @property
    def is_damaged(self) -> bool:
        """Whether any row could not be read."""
        return bool(self._unreadable)

    def update(self, db: Connection) -> bool:
        """Read new and changed rows; False when the change list is incomplete."""
        newest = newest_state(db)
        if newest == self._state:
            return True
        if self._state.last_row:
            if newest.history != self._state.history:
                return False
            changes = changes_after(db, self._state.last_change)
            if changes.rows is None:
                return False
            self._read_again(db, changes.rows)
        new = "memories m WHERE m.row > ? AND " + _USUAL
        self._add(db.execute(_READ.format(source=new), (self._state.last_row,)))
        self._state = newest.later_of(self._state)
        return True

    def passing(self, rows: Iterable[int], *, project: str | None) -> dict[int, Candidate]:
        """Those of the rows that are cached and visible from the project."""
        cached, found = self._cached, dict[int, Candidate]()
        for row in rows:
            one = cached.get(row)
            if one is not None and (project is None or one.home == project or not one.home):
                found[row] = one.candidate
        return found

    def rows_in_spans(self, spans: Sequence[tuple[str, int, int]]) -> list[int]:
        """Rows inside these position ranges, in order."""
        found: list[int] = []
        for session, first, last in spans:
            turns = self._sessions.get(session, {})
            wide = last - first >= len(turns)
            seqs = (
                [seq for seq in turns if first <= seq <= last] if wide else range(first, last + 1)
            )
            for seq in seqs:
                found += turns.get(seq, ())
        return sorted(found)

    def _read_again(self, db: Connection, changed: frozenset[int]) -> None:
        known = [row for row in changed if row <= self._state.last_row]
        for row in known:
            self._drop(row)
        source = "json_each(?) j CROSS JOIN memories m ON m.row = j.value WHERE " + _USUAL
        self._add(db.execute(_READ.format(source=source), (str(known),)))

    def _add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            number, home = row[-2:]
            try:
                candidate = to_candidate(row)
            except StoreCorruptError:
                self._unreadable.add(number)
                continue
            self.rows[candidate.id] = number
            self._cached[number] = _CachedRow(self._shared.setdefault(home, home), candidate)
            if candidate.place is not None:
                session, seq = candidate.place
                turns = self._sessions.setdefault(session, {})
                turns[seq] = (*turns.get(seq, ()), number)

    def _drop(self, row: int) -> None:
        self._unreadable.discard(row)
        gone = self._cached.pop(row, None)
        if gone is None:
            return
        if self.rows.get(gone.candidate.id) == row:
            del self.rows[gone.candidate.id]
        if gone.candidate.place is not None:
            self._leave(gone.candidate.place, row)

    def _leave(self, place: SessionPosition, row: int) -> None:
        turns = self._sessions[place.session_id]
        left = tuple(other for other in turns.pop(place.seq) if other != row)
        if left:
            turns[place.seq] = left
        elif not turns:
            del self._sessions[place.session_id]
