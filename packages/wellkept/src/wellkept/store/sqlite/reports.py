"""The `ReportStore` port: counts by facet, by label and by day.

Groups come from the index `memories_facets` alone. Labels are counted from whichever side is
smaller: the memories that match, or all labels of the kind. Counts are kept until something is
written: a page asks for the same ones again and again. A process that keeps counting after writes
in a large store keeps the facets of all rows in memory (`FacetRows`).
"""

from __future__ import annotations

import json
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Final

from wellkept.core.clock import to_ms
from wellkept.core.records import replace
from wellkept.store.queries import require_limit
from wellkept.store.rows import MEMORY_GROUPS, Row
from wellkept.store.sqlite.database import Component
from wellkept.store.sqlite.search.candidates import newest_state
from wellkept.store.sqlite.search.filters import BAND, METHODOLOGY, Condition, condition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from wellkept.core.memory import Memory
    from wellkept.core.ports.reports import (
        DayCount,
        FileGroupCount,
        LabelCount,
        LabelName,
        LinesOfDay,
        MemoryGroup,
    )
    from wellkept.core.query import Filter
    from wellkept.store.sqlite.database import Connection, SqlValue
    from wellkept.store.sqlite.search.candidates import RowState
    from wellkept.store.sqlite.search.facet_rows import FacetRows
from wellkept.store.memory_rows import SELECTED, to_memory

_DAY_MS: Final = 86_400_000
_MOST_KEPT: Final = 64
_NUMBERS: Final = "1, 2, 3, 4, 5, 6, 7, 8, 9"
# Two pages' worth of facets: a command that counts once should not read every row.
_MIN_COUNTS: Final = 8
_FEW: Final = 5_000
"""Up to this many memories, their labels are looked up one by one."""
_GROUPED: Final = (
    f"m.type, m.source, {BAND}, {METHODOLOGY}, m.needs_review, m.user_verified,"
    " m.valid_to_ms IS NOT NULL, m.stale_ms IS NOT NULL, m.archived_ms IS NOT NULL"
)


# Below the first counting is fast; above the second the kept counts take too much memory.
MIN_ROWS, MAX_ROWS = 6_000, 250_000


class SqliteReports(Component):
    """The `ReportStore` port."""

    _given_facet_counts: FacetCounts | None

    @cached_property
    def _kept_counts(self) -> _KeptCounts:
        return _KeptCounts()

    @cached_property
    def _facet_counts(self) -> FacetCounts:
        return self._given_facet_counts or FacetCounts()

    def replaced_by(self, memory_id: str) -> list[Memory]:
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {SELECTED} FROM memories m WHERE m.superseded_by = ?"
                " ORDER BY m.created_ms, m.id",
                (memory_id,),
            ).fetchall()
        return [to_memory(row) for row in rows]

    def memory_groups(self, where: Filter) -> list[MemoryGroup]:
        select = f"SELECT {_GROUPED}, count(*) FROM memories m WHERE {{where}} GROUP BY {_NUMBERS}"
        rows = self._counted(select, where, lambda db, known: known.groups(db, where))
        return list(map(MEMORY_GROUPS.read, rows))

    def label_counts(self, where: Filter, kind: LabelName, *, limit: int) -> list[LabelCount]:
        from wellkept.core.ports.reports import LabelCount

        require_limit(limit)
        matching = _by_project(where)
        found = _rows_of(matching)
        values = [value for one in matching for value in one.params]
        with self._database.snapshot() as db:

            def count() -> list[Row]:
                known = self._facet_counts.rows(db)
                if known is not None:
                    return known.labels(db, where, kind, limit=limit)
                (some,) = db.execute(
                    f"SELECT count(*) FROM ({found} LIMIT {_FEW + 1})", values
                ).fetchone()
                # The index of labels that is named decides which side is read first.
                index = "INDEXED BY labels_memory" if some <= _FEW else "NOT INDEXED"
                return db.execute(
                    f"SELECT l.value, count(*) FROM labels l {index} WHERE l.memory IN ({found})"
                    " AND l.kind = ? GROUP BY l.value ORDER BY 2 DESC, 1 LIMIT ?",
                    (*values, kind, limit),
                ).fetchall()

            rows = self._kept_counts.get(db, (found, *values, kind, limit), count)
        return [LabelCount(value, count) for value, count in rows]

    def memories_by_day(
        self, where: Filter, *, since: datetime | None = None, offset_minutes: int = 0
    ) -> list[DayCount]:
        from wellkept.core.ports.reports import DayCount

        day = f"(m.created_ms + {int(offset_minutes) * 60_000}) / {_DAY_MS}"
        select = (
            f"SELECT {day}, count(*) FROM memories m WHERE {{where}}"
            f" AND m.created_ms >= {_from(since)} GROUP BY 1"
        )
        counts: dict[int, int] = {}
        for number, count in self._counted(select, where):
            counts[number] = counts.get(number, 0) + count
        return [DayCount(number, count) for number, count in sorted(counts.items())]

    def _counted(
        self,
        select: str,
        where: Filter,
        in_memory: Callable[[Connection, FacetRows], list[Row]] | None = None,
    ) -> list[Row]:
        """The rows of a count, of the project's own memories and of those about the person."""
        with self._database.snapshot() as db:

            def count() -> list[Row]:
                known = self._facet_counts.rows(db) if in_memory else None
                if in_memory and known is not None:
                    return in_memory(db, known)
                return [
                    row
                    for one in matching
                    for row in db.execute(select.format(where=one.sql), one.params).fetchall()
                ]

            matching = _by_project(where)
            key = (select, *(value for one in matching for value in (one.sql, *one.params)))
            return self._kept_counts.get(db, key, count)

    def lines_by_day(
        self, *, project: str | None, since: datetime | None = None, offset_minutes: int = 0
    ) -> list[LinesOfDay]:
        from wellkept.core.ports.reports import LinesOfDay

        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT (i.at_ms + ?) / {_DAY_MS}, count(*), sum(l.outcome = 'used'),"
                " sum(l.tokens) FROM injections i JOIN injected_lines l ON l.injection = i.id"
                " WHERE (? IS NULL OR i.project = ?) AND i.at_ms >= ? GROUP BY 1 ORDER BY 1",
                (offset_minutes * 60_000, project, project, _from(since)),
            ).fetchall()
        return [
            LinesOfDay(day=day, lines=lines, used=used, tokens=tokens)
            for day, lines, used, tokens in rows
        ]

    def count_by_files(
        self, where: Filter, groups: Mapping[str, Sequence[str]]
    ) -> dict[str, FileGroupCount]:
        from wellkept.core.ports.reports import FileGroupCount

        matching = _by_project(where)
        found = _rows_of(matching)
        values = [value for one in matching for value in one.params]
        pairs = [[name, file] for name, files in groups.items() for file in files]
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT j.value ->> 0, count(DISTINCT l.memory), count(DISTINCT l.value)"
                " FROM json_each(?) j CROSS JOIN labels l"
                " ON l.kind = 'file' AND l.value = j.value ->> 1"
                f" WHERE l.memory IN ({found}) GROUP BY 1",
                (json.dumps(pairs), *values),
            ).fetchall()
        found = {name: FileGroupCount(memories, files) for name, memories, files in rows}
        return {name: found.get(name, FileGroupCount(0, 0)) for name in groups}


class _KeptCounts:
    """Counts of a store that has not changed since; any write makes them count anew."""

    def __init__(self) -> None:
        self._state: RowState | None = None
        self._counts: dict[tuple[SqlValue, ...], list[Row]] = {}
        self._lock = Lock()

    def get(
        self, db: Connection, key: tuple[SqlValue, ...], count: Callable[[], list[Row]]
    ) -> list[Row]:
        """The counts under a key; `db` is a snapshot."""
        state = newest_state(db)
        with self._lock:
            if state != self._state or len(self._counts) >= _MOST_KEPT:
                self._state, self._counts = state, {}
            known = self._counts.get(key)
        if known is None:
            known = count()
            with self._lock:
                if state == self._state:
                    self._counts[key] = known
        return known


class FacetCounts:
    """Decides when the facets of all rows are worth keeping in memory."""

    def __init__(
        self, *, min_rows: int = MIN_ROWS, max_rows: int = MAX_ROWS, min_counts: int = _MIN_COUNTS
    ) -> None:
        self._min_rows, self._max_rows, self._min_counts = min_rows, max_rows, min_counts
        self._counts = 0
        self._kept: FacetRows | None = None
        self._lock = Lock()

    def rows(self, db: Connection) -> FacetRows | None:
        """The facets of all rows; None for a small or huge store, and for the first few counts."""
        from wellkept.store.sqlite.search.facet_rows import FacetRows

        with self._lock:
            self._counts += 1
            if self._counts <= self._min_counts:
                return None
            if not self._min_rows <= newest_state(db).last_row <= self._max_rows:
                self._kept = None
                return None
            self._kept = self._kept or FacetRows(_GROUPED)
            return self._kept

    def clear(self) -> None:
        """Drop what is kept."""
        with self._lock:
            self._kept = None


def _by_project(where: Filter) -> list[Condition]:
    """The condition, in parts that an index without generated columns answers."""
    if where.project is None:
        return [condition(where)]
    rest = condition(replace(where, project=None))
    if not where.include_user:
        return [Condition(f"m.project = ? AND {rest.sql}", (where.project, *rest.params))]
    return [
        Condition(
            f"m.project = ? AND m.scope <> 'user' AND {rest.sql}", (where.project, *rest.params)
        ),
        Condition(f"m.home = '' AND {rest.sql}", rest.params),
    ]


def _rows_of(matching: Sequence[Condition]) -> str:
    return " UNION ALL ".join(f"SELECT m.row FROM memories m WHERE {one.sql}" for one in matching)


def _from(since: datetime | None) -> int:
    # The least moment that a store takes lies after this.
    return -(1 << 60) if since is None else to_ms(since)
