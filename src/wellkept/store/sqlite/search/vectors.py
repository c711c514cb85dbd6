"""Vector search: the rows say what is there, an index in memory makes it fast.

The index follows the table by seq and by the list of changed rows, so vectors that another thread
or process wrote or removed are seen by the next search. Invariant: every hit stands and passes the
filter; a narrow filter still gets its own best hits, because the search is repeated among its
rows.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from wellkept.core.query import Filter, RetrieverHit
from wellkept.store.sqlite.connection.database import Connection
from wellkept.store.sqlite.search import quantization
from wellkept.store.sqlite.tables.filters import Condition, condition

if TYPE_CHECKING:
    from wellkept.core.ports.models import Vector
    from wellkept.store.sqlite.search.candidates import CandidateReader, Scored
    from wellkept.store.sqlite.search.invalidation import RowChanges
    from wellkept.store.sqlite.search.vector_index import Floats, Here, VectorIndex, VectorSnapshot

_LOADED_ROWS = 10_000
# While vectors are made again, those of the former model still serve other processes.
_KEPT_INDEXES = 2
_LEAST_LOOK = 40
_WIDER_LOOKS = (2_000, 10_000)


class StoredModel(NamedTuple):
    """A model as the tables know it."""

    number: int
    model_id: str
    dimension: int


def find_model(db: Connection, model_id: str) -> StoredModel | None:
    """The model of that id, if any vector of it was ever kept."""
    row = db.execute(
        "SELECT model, model_id, dimension FROM models WHERE model_id = ?", (model_id,)
    ).fetchone()
    return None if row is None else StoredModel(*row)


class VectorSearch:
    """Keeps an index for the models that were asked for last."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[tuple[StoredModel, int], VectorIndex] = OrderedDict()
        self._lock = threading.Lock()

    def nearest(
        self,
        db: Connection,
        vector: Vector,
        *,
        model_id: str,
        where: Filter,
        limit: int,
        facts: CandidateReader,
    ) -> list[RetrieverHit]:
        """The nearest memories of one model inside the filter."""
        model = self._require(db, vector, model_id)
        if model is None or not limit:
            return []
        view, here = self._view(db, model, where.project)
        query = _query(vector)
        first = max(_LEAST_LOOK, limit + limit // 4)
        for width in (first, *(wider for wider in _WIDER_LOOKS if wider > first)):
            nearest = _nearest_rows(view, query, here=here, limit=width)
            hits = facts.first_passing(db, nearest, where, limit=limit)
            if len(hits) >= limit or len(nearest) < width:
                return hits
            if len(hits) * _WIDER_LOOKS[-1] < limit * width:
                break  # so few pass that even the widest look would not find enough
        here = here & _allowed(db, model, view, condition(where))
        nearest = _nearest_rows(view, query, here=here, limit=limit)
        return facts.first_passing(db, nearest, where, limit=limit)

    def similarities(
        self,
        db: Connection,
        vector: Vector,
        *,
        model_id: str,
        ids: Sequence[str],
        facts: CandidateReader,
    ) -> dict[str, float]:
        """The cosine with each of the memories that have a vector of the model."""
        from wellkept.store.sqlite.search.vector_index import NOWHERE

        model = self._require(db, vector, model_id)
        if model is None or not ids:
            return {}
        rows = facts.rows_of(db, ids)
        view, _ = self._view(db, model, None)
        positions = view.positions(list(rows.values()))
        has_vector = positions != NOWHERE
        cosines = view.cosines(_query(vector), among=positions[has_vector])
        return dict(zip(compress(rows, has_vector), cosines.tolist(), strict=True))

    def forget(self) -> None:
        """Let go of every index; the next search loads it again."""
        with self._lock:
            self._indexes.clear()

    def _require(self, db: Connection, vector: Vector, model_id: str) -> StoredModel | None:
        quantization.require_packed(vector)
        model = find_model(db, model_id)
        if model is not None:
            quantization.require_dimension(model_id, stored=model.dimension, given=len(vector) // 4)
        return model

    def _view(
        self, db: Connection, model: StoredModel, project: str | None
    ) -> tuple[VectorSnapshot, Here]:
        """The vectors there are, and which of them the project may see."""
        from wellkept.store.sqlite.search.invalidation import history_of

        with self._lock:
            index = self._index(model, history_of(db))
            _update(db, model, index)
            return index.view(), index.at(() if project is None else (project, ""))

    def _index(self, model: StoredModel, history: int) -> VectorIndex:
        from wellkept.store.sqlite.search.vector_index import VectorIndex

        index = self._indexes.pop((model, history), None)
        if index is None or index.is_worn:
            index = VectorIndex(model.dimension)
        self._indexes[model, history] = index
        while len(self._indexes) > _KEPT_INDEXES:
            self._indexes.popitem(last=False)
        return index


def _nearest_rows(view: VectorSnapshot, query: Floats, *, here: Here, limit: int) -> Scored:
    positions, cosines = view.nearest(query, here=here, limit=limit)
    return list(zip(view.rows[positions].tolist(), cosines.tolist(), strict=True))


def _allowed(db: Connection, model: StoredModel, view: VectorSnapshot, fits: Condition) -> Here:
    """Which of the vectors are of rows that pass the filter."""
    import numpy as np

    found = db.execute(
        "SELECT v.memory FROM vectors v JOIN memories m ON m.row = v.memory"
        f" WHERE v.model = ? AND {fits.sql}",
        (model.number, *fits.params),
    )
    return np.isin(view.rows, np.fromiter((row for (row,) in found), dtype=np.int64))


# -- Following the table --------------------------------------------------------------------------


def _update(db: Connection, model: StoredModel, index: VectorIndex) -> None:
    from wellkept.store.sqlite.search.invalidation import changes_after

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
            _take_out_removed(db, model, index, changes)
        index.last_change = changes.last


def _load_new(db: Connection, model: StoredModel, index: VectorIndex) -> None:
    import numpy as np

    cursor = db.execute(
        "SELECT seq, memory, scale, home, codes FROM vectors WHERE seq > ? AND model = ?"
        " ORDER BY seq",
        (index.last_seq, model.number),
    )
    while found := cursor.fetchmany(_LOADED_ROWS):
        seqs, rows, scales, homes, packed = zip(*found, strict=True)
        index.append(
            np.array(seqs, np.int64),
            np.array(rows, np.int64),
            np.array(scales, np.float32),
            np.frombuffer(b"".join(packed), dtype=np.int8).reshape(len(found), -1),
            homes=homes,
        )


def _take_out_removed(
    db: Connection, model: StoredModel, index: VectorIndex, changes: RowChanges
) -> None:
    """Of the rows that were changed, take out the vectors of those that have none any more."""
    import numpy as np

    if changes.rows is None:
        suspects = index.view().rows
        found = db.execute("SELECT memory FROM vectors WHERE model = ?", (model.number,))
    else:
        suspects = np.array(list(changes.rows), dtype=np.int64)
        found = db.execute(
            "SELECT v.memory FROM json_each(?) j"
            " CROSS JOIN vectors v ON v.memory = j.value AND v.model = ?",
            (str(list(changes.rows)), model.number),
        )
    standing = np.fromiter((row for (row,) in found), dtype=np.int64)
    gone = suspects[~np.isin(suspects, standing)]
    if len(gone):
        index.remove(gone)


def _query(vector: Vector) -> Floats:
    import numpy as np

    query = np.frombuffer(vector, dtype="<f4").astype(np.float32)
    return query / np.float32(np.linalg.norm(query))
