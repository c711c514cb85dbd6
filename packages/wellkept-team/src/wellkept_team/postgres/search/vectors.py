"""Vector search: every vector of a small project is compared, a large one has an HNSW index.

Which way is taken depends on how many memories pass the filter, on the number of vectors in the
project and on whether its partition has the index (`vector_index`). An HNSW scan filters afterwards
and may end too early, so it continues on its own (iterative scan); if it still finds fewer than
asked for, every vector is compared.
Invariant: a search never returns fewer than asked for while there are more.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from wellkept.core.query import Filter, RetrieverHit
from wellkept.store import quantization
from wellkept_team.postgres.connection.database import Connection, Value, all_bindable
from wellkept_team.postgres.search.selective_filters import few_sql
from wellkept_team.postgres.tables.filters import Condition, condition
from wellkept_team.postgres.tables.memory_rows import SELECTED_CANDIDATE, to_candidate
from wellkept_team.postgres.tables.text_index import codes_text, find_model

if TYPE_CHECKING:
    from wellkept.core.ports.models import Vector
    from wellkept_team.postgres.search.selective_filters import NarrowFilters
    from wellkept_team.postgres.search.vector_index import VectorIndexes

_MIN_WIDTH: Final = 40
_WIDER: Final = 8
_MAX_SCANNED: Final = 40_000
_MAX_BEAM: Final = 1_000


class _Model(NamedTuple):
    number: int
    dimension: int


def nearest(
    db: Connection,
    vector: Vector,
    *,
    model_id: str,
    where: Filter,
    limit: int,
    indexes: VectorIndexes,
    narrow: NarrowFilters,
) -> list[RetrieverHit]:
    """The nearest memories of one model inside the filter."""
    model = require_model(db, vector, model_id)
    if model is None or not limit:
        return []
    filter_sql = condition(where)
    search = _Search(db, filter_sql, _Model(*model), query_text(vector), limit)
    if narrow.is_narrow(db, where):
        return search.among_few()
    for home in filter_sql.homes or ():
        partition = indexes.partition_of(db, home, model=model[0])
        if partition is not None:
            with db.raw.transaction():
                hits = search.through_index(partition, home)
            return hits if len(hits) >= limit else search.among_all()
    return search.narrowed() or search.among_all()


class _Search(NamedTuple):
    """Parameters of one search."""

    db: Connection
    filter_sql: Condition
    model: _Model
    query: str
    limit: int

    def narrowed(self) -> list[RetrieverHit]:
        """The nearest vectors first, then the filter; empty when too few of them pass."""
        width = max(_MIN_WIDTH, _WIDER * self.limit)
        hits = self._looked_up(
            "SELECT v.home, v.number, v.codes <=> %(query)s::halfvec AS distance FROM vectors v"
            f" WHERE {self.filter_sql.within('v')} AND v.model = %(model)s"
            " ORDER BY distance, v.number LIMIT %(width)s",
            width=width,
        )
        return hits if len(hits) >= self.limit else []

    def among_few(self) -> list[RetrieverHit]:
        """The few memories that pass the filter first, then their vectors."""
        return self._hits(
            f"{few_sql(self.filter_sql)} SELECT few.*, 1 - v.distance FROM few"
            " CROSS JOIN LATERAL (SELECT v.number, v.codes <=> %(query)s::halfvec AS distance"
            f" FROM vectors v WHERE {self.filter_sql.within('v')} AND v.home = few.at_home"
            " AND v.number = few.at_number AND v.model = %(model)s OFFSET 0) AS v"
        )

    def among_all(self) -> list[RetrieverHit]:
        """Every vector whose memory passes the filter."""
        return self._joined(
            "SELECT v.home, v.number, v.codes <=> %(query)s::halfvec AS distance FROM vectors v"
            f" WHERE {self.filter_sql.within('v')} AND v.model = %(model)s"
        )

    def through_index(self, partition: str, home: str) -> list[RetrieverHit]:
        """The nearest of a large home by its index, together with those of the other home."""
        kind = f"halfvec({self.model.dimension})"
        beam = min(max(_MIN_WIDTH, 4 * self.limit), _MAX_BEAM)
        self.db.run(
            "SELECT set_config('hnsw.ef_search', %(beam)s, true),"
            " set_config('hnsw.iterative_scan', 'strict_order', true),"
            " set_config('hnsw.max_scan_tuples', %(most)s, true),"
            " set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true)",
            beam=str(beam),
            most=str(_MAX_SCANNED),
        )
        others = [other for other in self.filter_sql.homes or () if other != home]
        # The model is written out, because the index holds the vectors of one model.
        own = (
            f"SELECT v.home, v.number, v.codes::{kind} <=> %(query)s::{kind} AS distance"
            f" FROM {partition} v JOIN memories m ON m.tenant = v.tenant AND m.home = v.home"
            " AND m.number = v.number WHERE v.tenant = %(tenant)s AND v.home = %(large)s"
            f" AND v.model = {self.model.number} AND {self.filter_sql.sql}"
            f" ORDER BY v.codes::{kind} <=> %(query)s::{kind} LIMIT %(limit)s"
        )
        rest = (
            "SELECT v.home, v.number, v.codes <=> %(query)s::halfvec AS distance FROM vectors v"
            " WHERE v.tenant = %(tenant)s AND v.home = ANY(%(others)s) AND v.model = %(model)s"
        )
        return self._joined(f"({own}) UNION ALL ({rest})", large=home, others=others)

    def _looked_up(self, found: str, **params: Value) -> list[RetrieverHit]:
        """Few vectors: their memories are read one by one."""
        return self._hits(
            f"SELECT m.*, 1 - v.distance FROM ({found}) AS v"
            f" CROSS JOIN LATERAL (SELECT {SELECTED_CANDIDATE} FROM memories m"
            " WHERE m.tenant = %(tenant)s AND m.home = v.home AND m.number = v.number"
            f" AND {self.filter_sql.sql} OFFSET 0) AS m",
            **params,
        )

    def _joined(self, found: str, **params: Value) -> list[RetrieverHit]:
        return self._hits(
            f"SELECT {SELECTED_CANDIDATE}, 1 - v.distance FROM ({found}) AS v"
            " JOIN memories m ON m.tenant = %(tenant)s AND m.home = v.home"
            f" AND m.number = v.number WHERE {self.filter_sql.sql}",
            **params,
        )

    def _hits(self, selected: str, **params: Value) -> list[RetrieverHit]:
        rows = self.db.rows(
            f"{selected} ORDER BY v.distance, v.number LIMIT %(limit)s",
            **self.filter_sql.params,
            query=self.query,
            model=self.model.number,
            limit=self.limit,
            **params,
        )
        return [RetrieverHit(to_candidate(row), row[-1]) for row in rows]


def similarities(
    db: Connection,
    vector: Vector,
    *,
    model_id: str,
    ids: Sequence[str],
    homes: Sequence[str] | None = None,
) -> dict[str, float]:
    """The cosine with each of the memories that have a vector of the model, in these homes."""
    model = require_model(db, vector, model_id)
    if model is None or not ids:
        return {}
    return dict(
        db.rows(
            "SELECT m.id, 1 - (v.codes <=> %(query)s::halfvec) FROM memories m JOIN vectors v"
            " ON v.tenant = m.tenant AND v.home = m.home AND v.number = m.number"
            " AND v.model = %(model)s WHERE m.tenant = %(tenant)s AND m.id = ANY(%(ids)s)"
            + ("" if homes is None else " AND m.home = ANY(%(homes)s)"),
            homes=homes,
            query=query_text(vector),
            model=model[0],
            ids=all_bindable(ids),
        )
    )


def require_model(db: Connection, vector: Vector, model_id: str) -> tuple[int, int] | None:
    """The stored model that a vector can be compared with; None for an unknown one."""
    quantization.require_packed(vector)
    model = find_model(db, model_id)
    if model is not None:
        quantization.require_dimension(model_id, stored=model[1], given=len(vector) // 4)
    return model


def query_text(vector: Vector) -> str:
    """A query as pgvector reads it, of a size that half precision can hold."""
    numbers = array("f", vector)
    scale = 100.0 / math.sqrt(math.fsum(n * n for n in numbers))
    return codes_text([round(n * scale, 5) for n in numbers])
