"""Filters that few memories pass: there the memories are found first, then their words or vectors.

How many pass is remembered for a while, so that a search does not count again. Outdated, it costs
time and never a hit: both ways give the same result.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

from wellkept_team.postgres.tables.filters import Condition, condition
from wellkept_team.postgres.tables.memory_rows import SELECTED_CANDIDATE

if TYPE_CHECKING:
    from wellkept.core.query import Filter
    from wellkept_team.postgres.connection.database import Connection

_REMEMBERED_S: Final = 60.0
_MOST_FILTERS: Final = 1_000


class NarrowFilters:
    """Remembers which filters fewer than `few` memories pass."""

    def __init__(self, *, few: int) -> None:
        self._few = few
        self._known: dict[Filter, tuple[float, bool]] = {}

    def is_narrow(self, db: Connection, where: Filter) -> bool:
        """Whether few memories pass a filter."""
        asked_s, narrow = self._known.get(where, (-_REMEMBERED_S, False))
        if monotonic() - asked_s >= _REMEMBERED_S:
            filter_sql = condition(where)
            count = db.value(
                "SELECT count(*) FROM (SELECT 1 FROM memories m"
                f" WHERE {filter_sql.sql} LIMIT %(few)s) AS counted",
                **filter_sql.params,
                few=self._few,
            )
            narrow = count < self._few
            if len(self._known) >= _MOST_FILTERS:
                self._known.clear()
            self._known[where] = monotonic(), narrow
        return narrow


def few_sql(filter_sql: Condition) -> str:
    """A common table `few` with the candidates that pass, each with `at_home` and `at_number`."""
    return (
        f"WITH few AS MATERIALIZED (SELECT {SELECTED_CANDIDATE}, m.home AS at_home,"
        f" m.number AS at_number FROM memories m WHERE {filter_sql.sql})"
    )
