"""The `VectorStore` port: stored vectors and the entries of a re-index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from wellkept.core.query import Filter, VectorModelCount
from wellkept.store import quantization
from wellkept.store.queries import require_limit
from wellkept_team.postgres.connection.database import Component, bindable
from wellkept_team.postgres.tables.filters import condition
from wellkept_team.postgres.tables.memory_rows import SELECTED, to_memory
from wellkept_team.postgres.tables.text_index import IndexWriter, find_model

if TYPE_CHECKING:
    from wellkept.core.changes import IndexEntry
    from wellkept.core.memory import Memory
    from wellkept.core.ports.models import Vector
    from wellkept_team.postgres.search.vector_index import VectorIndexes

_STREAM_ROWS = 1_000


class PostgresVectors(Component):
    """The `VectorStore` port."""

    _vector_indexes: VectorIndexes

    def vector_models(self) -> list[VectorModelCount]:
        with self._database.reading() as db:
            rows = db.rows(
                "SELECT d.model_id, d.dimension, count(*) AS n FROM models d JOIN vectors v"
                " ON v.tenant = d.tenant AND v.model = d.model WHERE d.tenant = %(tenant)s"
                " GROUP BY d.model_id, d.dimension ORDER BY n DESC, d.model_id"
            )
        return [VectorModelCount(*row) for row in rows]

    def memories_without_vector(
        self, *, model_id: str, skip_types: Sequence[str], after: str | None, limit: int
    ) -> list[Memory]:
        require_limit(limit)
        with self._database.reading() as db:
            model = find_model(db, bindable(model_id))
            rows = db.rows(
                f"SELECT {SELECTED} FROM memories m WHERE m.tenant = %(tenant)s"
                " AND m.id > %(after)s AND m.valid_to_ms IS NULL AND m.type <> ALL(%(skipped)s)"
                " AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.tenant = m.tenant"
                " AND v.home = m.home AND v.number = m.number AND v.model = %(model)s)"
                " ORDER BY m.id LIMIT %(limit)s",
                after=bindable(after or ""),
                skipped=list(map(str, skip_types)),
                model=-1 if model is None else model[0],
                limit=limit,
            )
        return list(map(to_memory, rows))

    def put_index_entries(self, entries: Sequence[tuple[str, IndexEntry]]) -> None:
        from wellkept_team.postgres.tables.apply_changes import put_index_entry

        with self._database.writing() as db:
            index = IndexWriter(db)
            for full_id, entry in entries:
                put_index_entry(db, index, bindable(full_id), entry)
            index.finish()

    def vectors(self, *, model_id: str, where: Filter) -> Iterator[tuple[str, Vector]]:
        filter_sql = condition(where)
        after = 0
        while True:
            with self._database.reading() as db:
                model = find_model(db, bindable(model_id))
                if model is None:
                    return
                rows = db.rows(
                    "SELECT v.number, m.id, v.codes::text FROM vectors v JOIN memories m"
                    " ON m.tenant = v.tenant AND m.home = v.home AND m.number = v.number"
                    f" WHERE {filter_sql.within('v')} AND v.number > %(after)s"
                    f" AND v.model = %(model)s AND {filter_sql.sql}"
                    " ORDER BY v.number LIMIT %(limit)s",
                    **filter_sql.params,
                    after=after,
                    model=model[0],
                    limit=_STREAM_ROWS,
                )
            for number, full_id, codes in rows:
                after = number
                yield full_id, quantization.unpack_codes(json.loads(codes))
            if len(rows) < _STREAM_ROWS:
                return

    def drop_vectors(self, *, model_id: str) -> int:
        with self._database.writing() as db:
            model = find_model(db, bindable(model_id))
            if model is None:
                return 0
            dropped = db.run(
                "DELETE FROM vectors WHERE tenant = %(tenant)s AND model = %(model)s",
                model=model[0],
            ).rowcount
            # New vectors under this id may have another dimension.
            db.run(
                "DELETE FROM models WHERE tenant = %(tenant)s AND model = %(model)s",
                model=model[0],
            )
        self._vector_indexes.forget()
        return dropped
