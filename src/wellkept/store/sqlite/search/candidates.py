"""From row numbers to candidates: what stands, passes the filter, and is known of it.

Whatever an arm found by an index goes through here once, so that a filter means the same in every
arm and ranking has what it needs without asking again. A process that asks often keeps the facts
of all rows in memory; where they do not serve (a small store, an unusual filter), rows are read.
Both ways give the same answer.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from wellkept.core.query import Candidate, Filter, RetrieverHit, SessionPosition
from wellkept.store.sqlite.connection.database import Connection
from wellkept.store.sqlite.tables.filters import Condition, condition
from wellkept.store.sqlite.tables.memory_rows import (
    BY_IDS,
    SELECTED_CANDIDATE,
    as_list,
    to_candidate,
)

if TYPE_CHECKING:
    from wellkept.store.sqlite.search.candidate_cache import CandidateCache

Scored: TypeAlias = Sequence[tuple[int, float]]
"""Row numbers with their scores, best first."""
_Span: TypeAlias = tuple[str, int, int]
"""A session, and the first and the last place in it."""

# Below this, reading rows is as quick; above, the memory would be better used for other things.
_FROM_ROWS = 6_000
_UP_TO_ROWS = 250_000
# Some 25 questions: a few should not pay for reading every row.
_ASKED_OFTEN = 100
# What SQLite can hold as a whole number.
_LEAST_SEQ, _LARGEST_SEQ = -(2**63), 2**63 - 1


class CandidateReader:
    """Tells of rows what ranking needs to know."""

    def __init__(
        self,
        *,
        from_rows: int = _FROM_ROWS,
        up_to_rows: int = _UP_TO_ROWS,
        asked_often: int = _ASKED_OFTEN,
    ) -> None:
        self._from_rows = from_rows
        self._up_to_rows = up_to_rows
        self._asked_often = asked_often
        self._asked = 0
        self._kept: CandidateCache | None = None
        self._lock = threading.Lock()

    def passing(self, db: Connection, rows: Sequence[int], where: Filter) -> dict[int, Candidate]:
        """Those rows that pass the filter."""
        if not rows:
            return {}
        with self._lock:
            kept = self._kept_for(db, where)
            if kept is not None:
                return kept.passing(rows, project=where.project)
        return _read_passing(db, rows, condition(where))

    def first_passing(
        self, db: Connection, best: Scored, where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        """The first of these matches that pass the filter; most often the very first do."""
        hits: list[RetrieverHit] = []
        near, far = limit + limit // 4, 4 * limit
        for part in (best[:near], best[near:far], best[far:]):
            known = self.passing(db, [row for row, _ in part], where)
            hits += [RetrieverHit(known[row], score) for row, score in part if row in known]
            if len(hits) >= limit:
                break
        return hits[:limit]

    def around(
        self, db: Connection, places: Sequence[SessionPosition], where: Filter, *, span: int
    ) -> list[Candidate]:
        """What stands up to so many places before and after these, in the order of the rows."""
        spans = _spans(places, span)
        if not spans:
            return []
        with self._lock:
            kept = self._kept_for(db, where)
            if kept is not None:
                return list(kept.passing(kept.around(spans), project=where.project).values())
        return _read_around(db, spans, condition(where))

    def rows_of(self, db: Connection, ids: Sequence[str]) -> dict[str, int]:
        """The row number of each id that there is."""
        with self._lock:
            kept = self._kept
            known = kept.rows if kept is not None and kept.update(db) else {}
            found = {each: known[each] for each in ids if each in known}
        if len(found) < len(ids):
            missing = [each for each in ids if each not in found]
            found.update(
                db.execute(f"SELECT m.id, m.row FROM {BY_IDS}", (as_list(missing),)).fetchall()
            )
        return found

    def forget(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._kept = None

    def _kept_for(self, db: Connection, where: Filter) -> CandidateCache | None:
        """The facts in memory, as the rows are now, if there are any that answer this filter."""
        self._asked += 1
        if self._asked <= self._asked_often or not _is_usual(where):
            return None
        if self._kept is None or not self._kept.update(db):
            self._kept = self._loaded(db)
        elif self._kept.last_row > self._up_to_rows:
            self._kept = None
        return None if self._kept is None or self._kept.is_damaged else self._kept

    def _loaded(self, db: Connection) -> CandidateCache | None:
        (last_row,) = db.execute("SELECT coalesce(max(row), 0) FROM memories").fetchone()
        if not self._from_rows <= last_row <= self._up_to_rows:
            return None
        from wellkept.store.sqlite.search.candidate_cache import CandidateCache

        kept = CandidateCache()
        kept.update(db)
        return kept


@lru_cache(maxsize=256)
def _is_usual(where: Filter) -> bool:
    return where == Filter(project=where.project)


def _read_passing(db: Connection, rows: Sequence[int], fits: Condition) -> dict[int, Candidate]:
    # CROSS JOIN, lest SQLite walk through a whole project to find these few rows.
    found = db.execute(
        f"SELECT {SELECTED_CANDIDATE}, m.row FROM json_each(?) j"
        f" CROSS JOIN memories m ON m.row = j.value WHERE {fits.sql}",
        (str(list(rows)), *fits.params),
    ).fetchall()
    return {row[-1]: to_candidate(row) for row in found}


def _read_around(db: Connection, spans: Sequence[_Span], fits: Condition) -> list[Candidate]:
    found = db.execute(
        f"WITH spans (session, first, last) AS (VALUES {','.join(['(?, ?, ?)'] * len(spans))})"
        f" SELECT {SELECTED_CANDIDATE} FROM spans s CROSS JOIN memories m"
        " ON m.session_id = s.session AND m.seq BETWEEN s.first AND s.last"
        f" WHERE {fits.sql} ORDER BY m.row",
        (*(value for span in spans for value in span), *fits.params),
    ).fetchall()
    return list(map(to_candidate, found))


def _spans(places: Sequence[SessionPosition], span: int) -> list[_Span]:
    """First and last place to look at, session by session; no two of them overlap."""
    spans: list[_Span] = []
    for session, seq in sorted(set(places)):
        first, last = max(seq - span, _LEAST_SEQ), min(seq + span, _LARGEST_SEQ)
        if spans and spans[-1][0] == session and spans[-1][2] >= first:
            first = spans.pop()[1]
        spans.append((session, first, last))
    return spans
