"""Turns row numbers found by an index into candidates that pass the filter.

Every retriever goes through here, so a filter means the same in each.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from wellkept.core.query import Candidate, Filter, RetrieverHit, SessionPosition
from wellkept.store.memory_rows import SELECTED_CANDIDATE, to_candidate
from wellkept.store.queries import merged_spans
from wellkept.store.sqlite.database import Connection
from wellkept.store.sqlite.search.filters import condition

if TYPE_CHECKING:
    from wellkept.core.query import Filter
    from wellkept.store.sqlite.database import Connection


class RowState(NamedTuple):
    """What a cache has seen: newest row, number of the last change, and the history of both."""

    last_row: int
    last_change: int
    history: int

    def later_of(self, other: RowState) -> RowState:
        """The later of two states; a reader with an older snapshot must not move it back."""
        return RowState(
            max(self.last_row, other.last_row),
            max(self.last_change, other.last_change),
            self.history,
        )


def newest_state(db: Connection) -> RowState:
    """The state of an up-to-date cache."""
    last_row, last_change = db.execute(
        "SELECT (SELECT coalesce(max(row), 0) FROM memories),"
        " (SELECT coalesce(max(number), 0) FROM changed_rows)"
    ).fetchone()
    return RowState(last_row, last_change, history_id(db))


def history_id(db: Connection) -> int:
    """Identifies the history of a file. SQLite increments the schema version when a backup is
    restored, and also on VACUUM and repair."""
    return int(db.execute("PRAGMA schema_version").fetchone()[0])


class RowChanges(NamedTuple):
    """The changed rows, None when the list no longer reaches back; and the last number."""

    rows: frozenset[int] | None
    last: int


def changes_after(db: Connection, number: int) -> RowChanges:
    """Changes after that number of the list."""
    found = db.execute(
        "SELECT number, memory FROM changed_rows WHERE number > ? ORDER BY number", (number,)
    ).fetchall()
    if not found:
        return RowChanges(frozenset(), number)
    is_complete = found[0][0] == number + 1
    return RowChanges(frozenset(row for _, row in found) if is_complete else None, found[-1][0])


_FEW_ROWS = 500


def few_rows(db: Connection, where: Filter) -> list[int] | None:
    """The rows that pass a filter by type, if they are few."""
    if not where.types:
        return None
    filter_sql = condition(where)
    found = db.execute(
        f"SELECT m.row FROM memories m WHERE {filter_sql.sql} LIMIT ?",
        (*filter_sql.params, _FEW_ROWS),
    ).fetchall()
    return None if len(found) == _FEW_ROWS else [row for (row,) in found]


Scored: TypeAlias = Sequence[tuple[int, float]]
"""Row numbers with their scores, best first."""


def first_passing(db: Connection, best: Scored, where: Filter, *, limit: int) -> list[RetrieverHit]:
    """The first matches that pass the filter. Reads growing batches."""
    hits: list[RetrieverHit] = []
    near, far = limit + limit // 4, 4 * limit
    for part in (best[:near], best[near:far], best[far:]):
        known = passing(db, [row for row, _ in part], where)
        hits += [RetrieverHit(known[row], score) for row, score in part if row in known]
        if len(hits) >= limit:
            break
    return hits[:limit]


def passing(db: Connection, rows: Sequence[int], where: Filter) -> dict[int, Candidate]:
    """The rows that pass the filter, with their candidates."""
    if not rows:
        return {}
    filter_sql = condition(where)
    # CROSS JOIN keeps SQLite from scanning a whole project for these few rows.
    found = db.execute(
        f"SELECT {SELECTED_CANDIDATE}, m.row FROM json_each(?) j"
        f" CROSS JOIN memories m ON m.row = j.value WHERE {filter_sql.sql}",
        (str(list(rows)), *filter_sql.params),
    ).fetchall()
    return {row[-1]: to_candidate(row) for row in found}


def session_neighbours(
    db: Connection, places: Sequence[SessionPosition], where: Filter, *, span: int
) -> list[Candidate]:
    """Candidates within `span` positions of these in their sessions, by row."""
    spans = merged_spans(places, span)
    if not spans:
        return []
    filter_sql = condition(where)
    found = db.execute(
        f"SELECT {SELECTED_CANDIDATE} FROM json_each(?) s CROSS JOIN memories m"
        " ON m.session_id = s.value ->> 0 AND m.seq BETWEEN s.value ->> 1 AND s.value ->> 2"
        f" WHERE {filter_sql.sql} ORDER BY m.row",
        (json.dumps(spans), *filter_sql.params),
    ).fetchall()
    return list(map(to_candidate, found))
