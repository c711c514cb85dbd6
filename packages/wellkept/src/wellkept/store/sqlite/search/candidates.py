"""Turns row numbers found by an index into candidates that pass the filter.

Every retriever goes through here, so a filter means the same in each. A process with many queries
caches the candidates of all rows in memory; small stores and unusual filters read the rows. Both
ways give the same result.
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
"""A session with the first and last position in it."""

# Below the minimum reading rows is as fast; above the maximum the cache takes too much memory.
MIN_ROWS = 6_000
MAX_ROWS = 250_000
# About 25 recalls: short-lived processes should not read every row.
_MIN_QUERIES = 100
# Range of an SQLite integer.
_LEAST_SEQ, _LARGEST_SEQ = -(2**63), 2**63 - 1


class CandidateReader:
    """Reads candidates by row, from the cache or the table."""

    def __init__(
        self,
        *,
        min_rows: int = MIN_ROWS,
        max_rows: int = MAX_ROWS,
        min_queries: int = _MIN_QUERIES,
    ) -> None:
        self._min_rows = min_rows
        self._max_rows = max_rows
        self._min_queries = min_queries
        self._queries = 0
        self._cache: CandidateCache | None = None
        self._lock = threading.Lock()

    def passing(self, db: Connection, rows: Sequence[int], where: Filter) -> dict[int, Candidate]:
        """The rows that pass the filter, with their candidates."""
        if not rows:
            return {}
        with self._lock:
            cache = self._cache_for(db, where)
            if cache is not None:
                return cache.passing(rows, project=where.project)
        return _read_passing(db, rows, condition(where))

    def first_passing(
        self, db: Connection, best: Scored, where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        """The first matches that pass the filter. Reads growing batches."""
        hits: list[RetrieverHit] = []
        near, far = limit + limit // 4, 4 * limit
        for part in (best[:near], best[near:far], best[far:]):
            known = self.passing(db, [row for row, _ in part], where)
            hits += [RetrieverHit(known[row], score) for row, score in part if row in known]
            if len(hits) >= limit:
                break
        return hits[:limit]

    def session_neighbours(
        self, db: Connection, places: Sequence[SessionPosition], where: Filter, *, span: int
    ) -> list[Candidate]:
        """Candidates within `span` positions of these in their sessions, by row."""
        spans = merged_spans(places, span)
        if not spans:
            return []
        with self._lock:
            cache = self._cache_for(db, where)
            if cache is not None:
                return list(
                    cache.passing(cache.rows_in_spans(spans), project=where.project).values()
                )
        return _read_around(db, spans, condition(where))

    def rows_of(self, db: Connection, ids: Sequence[str]) -> dict[str, int]:
        """Row numbers by id; unknown ids are left out."""
        with self._lock:
            cache = self._cache
            known = cache.rows if cache is not None and cache.update(db) else {}
            found = {each: known[each] for each in ids if each in known}
        if len(found) < len(ids):
            missing = [each for each in ids if each not in found]
            found.update(
                db.execute(f"SELECT m.id, m.row FROM {BY_IDS}", (as_list(missing),)).fetchall()
            )
        return found

    def clear(self) -> None:
        """Drop the cache."""
        with self._lock:
            self._cache = None

    def _cache_for(self, db: Connection, where: Filter) -> CandidateCache | None:
        """The up-to-date cache, if there is one that can answer this filter."""
        self._queries += 1
        if self._queries <= self._min_queries or not _is_usual(where):
            return None
        if self._cache is None or not self._cache.update(db):
            self._cache = self._loaded(db)
        elif self._cache.last_row > self._max_rows:
            self._cache = None
        return None if self._cache is None or self._cache.is_damaged else self._cache

    def _loaded(self, db: Connection) -> CandidateCache | None:
        (last_row,) = db.execute("SELECT coalesce(max(row), 0) FROM memories").fetchone()
        if not self._min_rows <= last_row <= self._max_rows:
            return None
        from wellkept.store.sqlite.search.candidate_cache import CandidateCache

        cache = CandidateCache()
        cache.update(db)
        return cache


@lru_cache(maxsize=256)
def _is_usual(where: Filter) -> bool:
    return where == Filter(project=where.project)


def _read_passing(
    db: Connection, rows: Sequence[int], filter_sql: Condition
) -> dict[int, Candidate]:
    # CROSS JOIN keeps SQLite from scanning a whole project for these few rows.
    found = db.execute(
        f"SELECT {SELECTED_CANDIDATE}, m.row FROM json_each(?) j"
        f" CROSS JOIN memories m ON m.row = j.value WHERE {filter_sql.sql}",
        (str(list(rows)), *filter_sql.params),
    ).fetchall()
    return {row[-1]: to_candidate(row) for row in found}


def _read_around(db: Connection, spans: Sequence[_Span], filter_sql: Condition) -> list[Candidate]:
    found = db.execute(
        f"WITH spans (session, first, last) AS (VALUES {','.join(['(?, ?, ?)'] * len(spans))})"
        f" SELECT {SELECTED_CANDIDATE} FROM spans s CROSS JOIN memories m"
        " ON m.session_id = s.session AND m.seq BETWEEN s.first AND s.last"
        f" WHERE {filter_sql.sql} ORDER BY m.row",
        (*(value for span in spans for value in span), *filter_sql.params),
    ).fetchall()
    return list(map(to_candidate, found))


def merged_spans(places: Sequence[SessionPosition], span: int) -> list[_Span]:
    """Position ranges by session, merged so that none overlap."""
    spans: list[_Span] = []
    for session, seq in sorted(set(places)):
        first, last = max(seq - span, _LEAST_SEQ), min(seq + span, _LARGEST_SEQ)
        if spans and spans[-1][0] == session and spans[-1][2] >= first:
            first = spans.pop()[1]
        spans.append((session, first, last))
    return spans
