"""Vector search through an in-memory index per model.

The index is updated before each search by seq and by the list of changed rows, so it sees writes of
other threads and processes. Invariant: every hit exists and passes the filter; a narrow filter gets
its own best hits, because the search is repeated among its rows.
"""

from __future__ import annotations

import math
import sys
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import compress
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from wellkept.core.query import Filter, RetrieverHit, VectorModelCount
from wellkept.store import quantization
from wellkept.store.memory_rows import BY_IDS, SELECTED, as_list, to_memory
from wellkept.store.quantization import codes, require_dimension, require_packed
from wellkept.store.queries import require_limit
from wellkept.store.sqlite.database import Component, Connection, placeholders
from wellkept.store.sqlite.search.candidates import few_rows, first_passing
from wellkept.store.sqlite.search.filters import condition

if TYPE_CHECKING:
    from wellkept.core.changes import IndexEntry
    from wellkept.core.memory import Memory
    from wellkept.core.ports.models import Vector
    from wellkept.store.sqlite.search.candidates import RowChanges, Scored
    from wellkept.store.sqlite.search.vector_index import (
        Floats,
        Mask,
        PassingRows,
        VectorIndex,
        VectorSnapshot,
    )


_LOADED_ROWS = 10_000
# During a re-index other processes still use the former model.
_KEPT_INDEXES = 2
_MIN_WIDTH = 40
_WIDER_WIDTHS = (2_000, 10_000)
_PLAIN_VECTORS = 4_000


class StoredModel(NamedTuple):
    """A model as stored."""

    number: int
    model_id: str
    dimension: int


def find_model(db: Connection, model_id: str) -> StoredModel | None:
    """The model of that id, if it has ever had a vector."""
    row = db.execute(
        "SELECT model, model_id, dimension FROM models WHERE model_id = ?", (model_id,)
    ).fetchone()
    return None if row is None else StoredModel(*row)


class VectorSearch:
    """Holds the indexes of the most recently used models."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[tuple[StoredModel, int], VectorIndex] = OrderedDict()
        self._passing: PassingRows | None = None
        self._lock = threading.Lock()

    def nearest(
        self, db: Connection, vector: Vector, *, model_id: str, where: Filter, limit: int
    ) -> list[RetrieverHit]:
        """The nearest memories of one model inside the filter."""
        model = self._require(db, vector, model_id)
        if model is None or not limit:
            return []
        few = few_rows(db, where)
        if few is not None and not few:
            return []
        if "numpy" not in sys.modules and not self._indexes and _is_small(db):
            return first_passing(db, _plainly(db, model, vector, where), where, limit=limit)
        snapshot, mask = self._snapshot(db, model, where.project)
        query = _query(vector)
        if few is not None:
            return first_passing(db, snapshot.order(query, few), where, limit=limit)
        first = max(_MIN_WIDTH, limit + limit // 4)
        for width in (first, *(wider for wider in _WIDER_WIDTHS if wider > first)):
            nearest = _nearest_rows(snapshot, query, mask=mask, limit=width)
            hits = first_passing(db, nearest, where, limit=limit)
            if len(hits) >= limit or len(nearest) < width:
                return hits
            if len(hits) * _WIDER_WIDTHS[-1] < limit * width:
                break  # too few pass for even the widest search
        mask = mask & self.passing_rows().of(db, where, snapshot.rows)
        nearest = _nearest_rows(snapshot, query, mask=mask, limit=limit)
        return first_passing(db, nearest, where, limit=limit)

    def similarities(
        self, db: Connection, vector: Vector, *, model_id: str, ids: Sequence[str]
    ) -> dict[str, float]:
        """The cosine with each of the memories that have a vector of the model."""
        from wellkept.store.sqlite.search.vector_index import NO_POSITION

        model = self._require(db, vector, model_id)
        if model is None or not ids:
            return {}
        rows = dict(db.execute(f"SELECT m.id, m.row FROM {BY_IDS}", (as_list(ids),)).fetchall())
        snapshot, _ = self._snapshot(db, model, None)
        positions = snapshot.positions(list(rows.values()))
        has_vector = positions != NO_POSITION
        cosines = snapshot.cosines(_query(vector), among=positions[has_vector])
        return dict(zip(compress(rows, has_vector), cosines.tolist(), strict=True))

    def clear(self) -> None:
        """Drop every index; the next search loads it again."""
        with self._lock:
            self._indexes.clear()
            self._passing = None

    def passing_rows(self) -> PassingRows:
        """The rows that pass the filters asked last; also for the search by words."""
        from wellkept.store.sqlite.search.vector_index import PassingRows

        with self._lock:
            self._passing = self._passing or PassingRows()
            return self._passing

    def _require(self, db: Connection, vector: Vector, model_id: str) -> StoredModel | None:
        require_packed(vector)
        model = find_model(db, model_id)
        if model is not None:
            require_dimension(model_id, stored=model.dimension, given=len(vector) // 4)
        return model

    def _snapshot(
        self, db: Connection, model: StoredModel, project: str | None
    ) -> tuple[VectorSnapshot, Mask]:
        """The current vectors, and a mask of those visible from the project."""
        from wellkept.store.sqlite.search.candidates import history_id

        with self._lock:
            index = self._index(model, history_id(db))
            _update(db, model, index)
            return index.snapshot(), index.mask_for(() if project is None else (project, ""))

    def _index(self, model: StoredModel, history: int) -> VectorIndex:
        from wellkept.store.sqlite.search.vector_index import VectorIndex

        index = self._indexes.pop((model, history), None)
        if index is None or index.needs_rebuild:
            index = VectorIndex(model.dimension)
        self._indexes[model, history] = index
        while len(self._indexes) > _KEPT_INDEXES:
            self._indexes.popitem(last=False)
        return index


def _nearest_rows(snapshot: VectorSnapshot, query: Floats, *, mask: Mask, limit: int) -> Scored:
    positions, cosines = snapshot.nearest(query, mask=mask, limit=limit)
    return list(zip(snapshot.rows[positions].tolist(), cosines.tolist(), strict=True))


def _is_small(db: Connection) -> bool:
    """Whether comparing every vector takes less time than importing numpy."""
    return (db.execute("SELECT max(seq) FROM vectors").fetchone()[0] or 0) <= _PLAIN_VECTORS


def _plainly(db: Connection, model: StoredModel, vector: Vector, where: Filter) -> Scored:
    """Every vector visible from the project, nearest first."""
    rows = db.execute(
        "SELECT memory, scale, codes FROM vectors"
        " WHERE model = :model AND (:project IS NULL OR home IN (:project, ''))",
        {"model": model.number, "project": where.project},
    )
    query = array("f", vector)
    length = math.hypot(*query)
    return sorted(
        (
            (row, sum(map(mul, query, codes(packed))) * scale / length)
            for row, scale, packed in rows
        ),
        key=lambda one: -one[1],
    )


# -- Updating the index --------------------------------------------------------------------------


def _update(db: Connection, model: StoredModel, index: VectorIndex) -> None:
    from wellkept.store.sqlite.search.candidates import changes_after

    is_new = index.last_seq == 0
    if is_new:
        (count,) = db.execute(
            "SELECT count(*) FROM vectors WHERE model = ?", (model.number,)
        ).fetchone()
        index.reserve(count)
    _load_new(db, model, index)
    changes = changes_after(db, index.last_change)
    if changes.last > index.last_change:
        if not is_new:
            _remove_deleted(db, model, index, changes)
        index.last_change = changes.last


def _load_new(db: Connection, model: StoredModel, index: VectorIndex) -> None:
    import numpy as np

    count = _LOADED_ROWS
    while count == _LOADED_ROWS:
        # One long value for each column: a Python object for each number takes twice the time.
        count, last, rows, scales, homes, packed = db.execute(
            "SELECT count(*), max(seq), group_concat(memory), group_concat(scale),"
            " group_concat(home, char(0)), CAST(group_concat(codes, '') AS BLOB)"
            " FROM (SELECT seq, memory, scale, home, codes FROM vectors"
            " WHERE seq > ? AND model = ? ORDER BY seq LIMIT ?)",
            (index.last_seq, model.number, _LOADED_ROWS),
        ).fetchone()
        if count:
            index.append(
                np.fromstring(rows, np.int64, sep=","),
                np.fromstring(scales, np.float64, sep=",").astype(np.float32),
                np.frombuffer(packed, dtype=np.int8).reshape(count, -1),
                homes=homes.split("\0"),
                last_seq=last,
            )


def _remove_deleted(
    db: Connection, model: StoredModel, index: VectorIndex, changes: RowChanges
) -> None:
    """Remove vectors of changed rows that no longer have one."""
    import numpy as np

    if changes.rows is None:
        suspects = index.snapshot().rows
        found = db.execute("SELECT memory FROM vectors WHERE model = ?", (model.number,))
    else:
        suspects = np.array(list(changes.rows), dtype=np.int64)
        found = db.execute(
            "SELECT v.memory FROM json_each(?) j"
            " CROSS JOIN vectors v ON v.memory = j.value AND v.model = ?",
            (str(list(changes.rows)), model.number),
        )
    existing = np.fromiter((row for (row,) in found), dtype=np.int64)
    gone = suspects[~np.isin(suspects, existing)]
    if len(gone):
        index.remove(gone)


def _query(vector: Vector) -> Floats:
    import numpy as np

    query = np.frombuffer(vector, dtype="<f4").astype(np.float32)
    return query / np.float32(np.linalg.norm(query))


_STREAM_VECTORS = 1_000


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
        from wellkept.store.sqlite.apply_changes import put_index_entry

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
                    (after, model.number, *filter_sql.params, _STREAM_VECTORS),
                ).fetchall()
            if rows:
                after = rows[-1][0]
                vectors = quantization.unpack_many([row[2:] for row in rows])
                yield from zip([row[1] for row in rows], vectors, strict=True)
            if len(rows) < _STREAM_VECTORS:
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
