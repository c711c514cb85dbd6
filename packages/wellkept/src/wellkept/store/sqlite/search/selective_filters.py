"""Filters by type that few memories pass: these rows are looked at first, then their words.

Only an index makes the count cheap, and it begins with the project and the type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.store.sqlite.tables.filters import condition

if TYPE_CHECKING:
    from wellkept.core.query import Filter
    from wellkept.store.sqlite.connection.database import Connection

_FEW_ROWS = 500


def is_narrow(db: Connection, where: Filter) -> bool:
    """Whether few memories pass a filter by type."""
    if not where.types:
        return False
    filter_sql = condition(where)
    (rows,) = db.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM memories m WHERE {filter_sql.sql} LIMIT ?)",
        (*filter_sql.params, _FEW_ROWS),
    ).fetchone()
    return int(rows) < _FEW_ROWS
