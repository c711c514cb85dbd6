"""The `ReportStore` port: counts by facet, by label and by day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wellkept.core.clock import to_ms
from wellkept.store.queries import require_limit
from wellkept.store.rows import MEMORY_GROUPS
from wellkept_team.postgres.connection.database import Component, bindable
from wellkept_team.postgres.tables.filters import BAND, METHODOLOGY, condition
from wellkept_team.postgres.tables.index_keys import index_key
from wellkept_team.postgres.tables.memory_rows import SELECTED, to_memory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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

_DAY_MS: Final = 86_400_000
_GROUPED: Final = (
    f"m.type, m.source, {BAND}, {METHODOLOGY}, m.needs_review, m.user_verified,"
    " m.valid_to_ms IS NOT NULL, m.stale_ms IS NOT NULL, m.archived_ms IS NOT NULL"
)
_LABELLED: Final = (
    "memories m JOIN labels l ON l.tenant = m.tenant AND l.home = m.home AND l.number = m.number"
)


class PostgresReports(Component):
    """The `ReportStore` port."""

    def replaced_by(self, memory_id: str) -> list[Memory]:
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {SELECTED} FROM memories m WHERE m.tenant = %(tenant)s"
                " AND m.superseded_by = %(id)s ORDER BY m.created_ms, m.id",
                id=bindable(memory_id),
            )
        return [to_memory(row) for row in rows]

    def memory_groups(self, where: Filter) -> list[MemoryGroup]:
        filter_sql = condition(where)
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {_GROUPED}, count(*) FROM memories m WHERE {filter_sql.sql}"
                " GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9",
                **filter_sql.params,
            )
        return list(map(MEMORY_GROUPS.read, rows))

    def label_counts(self, where: Filter, kind: LabelName, *, limit: int) -> list[LabelCount]:
        from wellkept.core.ports.reports import LabelCount

        require_limit(limit)
        filter_sql = condition(where)
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT coalesce(l.full_value, l.value), count(*) FROM {_LABELLED}"
                f" WHERE {filter_sql.sql} AND {filter_sql.within('l')} AND l.kind = %(kind)s"
                " GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %(limit)s",
                **filter_sql.params,
                kind=kind,
                limit=limit,
            )
        return [LabelCount(value, count) for value, count in rows]

    def memories_by_day(
        self, where: Filter, *, since: datetime | None = None, offset_minutes: int = 0
    ) -> list[DayCount]:
        from wellkept.core.ports.reports import DayCount

        filter_sql = condition(where)
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT (m.created_ms + %(offset)s) / {_DAY_MS}, count(*) FROM memories m"
                f" WHERE {filter_sql.sql} AND m.created_ms >= %(since)s GROUP BY 1 ORDER BY 1",
                **filter_sql.params,
                offset=offset_minutes * 60_000,
                since=_from(since),
            )
        return [DayCount(day, count) for day, count in rows]

    def lines_by_day(
        self, *, project: str | None, since: datetime | None = None, offset_minutes: int = 0
    ) -> list[LinesOfDay]:
        from wellkept.core.ports.reports import LinesOfDay

        one = "" if project is None else " AND i.project = %(project)s"
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT (i.at_ms + %(offset)s) / {_DAY_MS}, count(*),"
                " count(*) FILTER (WHERE l.outcome = 'used'), sum(l.tokens)::bigint"
                " FROM injections i JOIN injected_lines l ON l.tenant = i.tenant"
                " AND l.project = i.project AND l.injection = i.id"
                f" WHERE i.tenant = %(tenant)s AND i.at_ms >= %(since)s{one}"
                " GROUP BY 1 ORDER BY 1",
                offset=offset_minutes * 60_000,
                project=bindable(project or ""),
                since=_from(since),
            )
        return [
            LinesOfDay(day=day, lines=lines, used=used, tokens=tokens)
            for day, lines, used, tokens in rows
        ]

    def count_by_files(
        self, where: Filter, groups: Mapping[str, Sequence[str]]
    ) -> dict[str, FileGroupCount]:
        from wellkept.core.ports.reports import FileGroupCount

        filter_sql = condition(where)
        names = list(groups)
        pairs = [(n, file) for n, name in enumerate(names) for file in groups[name]]
        with self._database.reading() as db:
            rows = db.rows(
                "SELECT asked.n, count(DISTINCT m.number), count(DISTINCT l.value)"
                f" FROM unnest(%(numbers)s::int[], %(files)s::text[]) AS asked (n, file),"
                f" {_LABELLED} WHERE l.kind = 'file' AND l.value = asked.file"
                f" AND {filter_sql.within('l')} AND {filter_sql.sql} GROUP BY 1",
                **filter_sql.params,
                numbers=[n for n, _ in pairs],
                files=[index_key(bindable(file)) for _, file in pairs],
            )
        found = {names[int(row[0])]: FileGroupCount(row[1], row[2]) for row in rows}
        return {name: found.get(name, FileGroupCount(0, 0)) for name in names}


def _from(since: datetime | None) -> int:
    # The least moment that a store takes lies after this.
    return -(1 << 60) if since is None else to_ms(since)
