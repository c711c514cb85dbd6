"""The `VectorStore` port: stored vectors and the entries of a re-index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from wellkept.core.query import Filter, VectorModelCount
from wellkept.store.sqlite.connection.database import Component, placeholders, require_limit
from wellkept.store.sqlite.search import quantization
from wellkept.store.sqlite.search.vectors import find_model
from wellkept.store.sqlite.tables.filters import condition
from wellkept.store.sqlite.tables.memory_rows import SELECTED, to_memory

if TYPE_CHECKING:
    from wellkept.core.changes import IndexEntry
    from wellkept.core.memory import Memory
    from wellkept.core.ports.models import Vector

_STREAM_ROWS = 1_000


class SqliteVectors(Component):
    """The `VectorStore` port."""

    def vector_models(self) -> list[VectorModelCount]:
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT d.model_id, d.dimension, count(*) AS n FROM models d"
                " JOIN vectors v ON v.model = d.model GROUP BY d.model ORDER BY n DESC, d.model_id"
            ).fetchall()
        return [VectorModelCount(*row) for row in rows]

    def memories_without_vector(
        self, *, model_id: str, skip_types: Sequence[str], after: str | None, limit: int
    ) -> list[Memory]:
        require_limit(limit)
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {SELECTED} FROM memories m WHERE m.id > ? AND m.valid_to_ms IS NULL"
                f" AND m.type NOT IN ({placeholders(skip_types)}) AND NOT EXISTS"
                " (SELECT 1 FROM vectors v JOIN models d ON d.model = v.model"
                "  WHERE v.memory = m.row AND d.model_id = ?) ORDER BY m.id LIMIT ?",
                (after or "", *map(str, skip_types), model_id, limit),
            ).fetchall()
        return list(map(to_memory, rows))

    def put_index_entries(self, entries: Sequence[tuple[str, IndexEntry]]) -> None:
        from wellkept.store.sqlite.tables.apply_changes import put_index_entry

        with self._database.writing() as db:
            for full_id, entry in entries:
                found = db.execute("SELECT row FROM memories WHERE id = ?", (full_id,)).fetchone()
                if found is not None:
                    put_index_entry(db, found[0], entry)

    def vectors(self, *, model_id: str, where: Filter) -> Iterator[tuple[str, Vector]]:
        filter_sql = condition(where)
        after = 0
        while True:
            with self._database.reading() as db:
                model = find_model(db, model_id)
                if model is None:
                    return
                rows = db.execute(
                    "SELECT v.seq, m.id, v.scale, v.codes FROM vectors v"
                    " CROSS JOIN memories m ON m.row = v.memory"
                    f" WHERE v.seq > ? AND v.model = ? AND {filter_sql.sql} ORDER BY v.seq LIMIT ?",
                    (after, model.number, *filter_sql.params, _STREAM_ROWS),
                ).fetchall()
            for seq, full_id, scale, packed in rows:
                after = seq
                yield full_id, quantization.unpack(scale, packed)
            if len(rows) < _STREAM_ROWS:
                return

    def drop_vectors(self, *, model_id: str) -> int:
        with self._database.writing() as db:
            model = find_model(db, model_id)
            if model is None:
                return 0
            dropped = db.execute("DELETE FROM vectors WHERE model = ?", (model.number,)).rowcount
            # New vectors under this id may have another dimension.
            db.execute("DELETE FROM models WHERE model = ?", (model.number,))
        return dropped
