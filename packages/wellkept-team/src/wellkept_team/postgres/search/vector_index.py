"""HNSW indexes of large projects: when they are made, and which one serves a search.

An index covers the vectors of one model in one partition. Below `LARGE_PROJECT` vectors a project
is compared whole, which is exact. The index is made by maintenance, while others read and write
(`CREATE INDEX CONCURRENTLY`); until then a large project is compared whole, too. What an index
serves is remembered for a while, so that a search does not ask the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Final, LiteralString, cast

from wellkept_team.postgres.schema import PARTITIONS, partition

if TYPE_CHECKING:
    import psycopg

    from wellkept_team.postgres.connection.database import Connection, Row

LARGE_PROJECT: Final = 50_000
_REMEMBERED_S: Final = 60.0
_LINKS_BYTES: Final = 1_000
_MOST_BUILD_MB: Final = 2_048


def index_name(table: str, model: int) -> str:
    """The name of the index of one model in one partition."""
    return f"{table}_hnsw_{model}"


class VectorIndexes:
    """Remembers which homes an index serves."""

    def __init__(self, *, least: int = LARGE_PROJECT) -> None:
        self.least = least
        self._known: dict[tuple[str, int], tuple[float, str | None]] = {}

    def partition_of(self, db: Connection, home: str, *, model: int) -> str | None:
        """The partition whose index serves a home; None when its vectors are compared whole."""
        asked_s, table = self._known.get((home, model), (-_REMEMBERED_S, None))
        if monotonic() - asked_s >= _REMEMBERED_S:
            table = self._look_up(db, home, model)
            self._known[home, model] = monotonic(), table
        return table

    def forget(self) -> None:
        """Ask again at the next search."""
        self._known.clear()

    def _look_up(self, db: Connection, home: str, model: int) -> str | None:
        vectors = "FROM vectors WHERE tenant = %(tenant)s AND home = %(home)s AND model = %(model)s"
        count = db.value(
            f"SELECT count(*) FROM (SELECT 1 {vectors} LIMIT %(least)s) AS counted",
            home=home,
            model=model,
            least=self.least,
        )
        if count < self.least:
            return None
        table = db.value(
            f"SELECT tableoid::regclass::text {vectors} LIMIT 1", home=home, model=model
        )
        return table if table and _is_valid(db.raw, index_name(table, model)) else None


def has_missing_index(raw: psycopg.Connection[Row], *, least: int) -> bool:
    """Whether a large project lacks its index."""
    return next(_missing(raw, least=least), None) is not None


def make_missing_indexes(raw: psycopg.Connection[Row], *, least: int, most: int) -> int:
    """Make indexes that large projects lack; returns how many were made."""
    made = 0
    for table, model, dimension in islice(_missing(raw, least=least), most):
        name = index_name(table, model)
        _give_memory(raw, table, model, dimension)
        # An index that a cut-off build left behind is not used by the server.
        raw.execute(cast("LiteralString", f"DROP INDEX IF EXISTS {name}"))
        raw.execute(
            cast(
                "LiteralString",
                f"CREATE INDEX CONCURRENTLY {name} ON {table} USING hnsw"
                f" ((codes::halfvec({dimension})) halfvec_cosine_ops) WHERE model = {model}",
            )
        )
        made += 1
    return made


def _give_memory(raw: psycopg.Connection[Row], table: str, model: int, dimension: int) -> None:
    """Let the build keep its graph in memory: one that does not fit takes many times as long."""
    raw.execute(
        cast(
            "LiteralString",
            "SELECT set_config('maintenance_work_mem', greatest("
            " (SELECT setting::bigint / 1024 FROM pg_settings WHERE name = 'maintenance_work_mem'),"
            f" least(%s, (SELECT count(*) FROM {table} WHERE model = %s) * %s / 1048576 + 16))"
            " || 'MB', false)",
        ),
        (_MOST_BUILD_MB, model, 2 * dimension + _LINKS_BYTES),
    )


def _missing(raw: psycopg.Connection[Row], *, least: int) -> Iterator[tuple[str, int, int]]:
    """Partition, model and dimension of each index that is missing."""
    for number in range(PARTITIONS):
        table = partition("vectors", number)
        for model, dimension in _large_models(raw, table, least=least):
            if not _is_valid(raw, index_name(table, model)):
                yield table, model, dimension


def _large_models(raw: psycopg.Connection[Row], table: str, *, least: int) -> list[tuple[int, int]]:
    """Models of which one project has so many vectors in a partition, with their dimensions."""
    rows = raw.execute(
        cast(
            "LiteralString",
            "SELECT DISTINCT d.model, d.dimension FROM"
            f" (SELECT tenant, home, model FROM {table}"
            "  GROUP BY tenant, home, model HAVING count(*) >= %s) AS v"
            " JOIN models d ON d.tenant = v.tenant AND d.model = v.model ORDER BY d.model",
        ),
        (least,),
    ).fetchall()
    return [(model, dimension) for model, dimension in rows]


def _is_valid(raw: psycopg.Connection[Row], name: str) -> bool:
    row = raw.execute(
        "SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass(%s)", (name,)
    ).fetchone()
    return row is not None and bool(row[0])
