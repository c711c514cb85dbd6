"""Vector search: the rows say what is there, an index in memory makes it fast.

The index follows the table by seq, so vectors that another thread or process wrote are seen by
the next search. Invariant: every hit is checked against the database and the filter; a narrow
filter still gets its own best hits, because the search is repeated among its rows.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from holdfast.core.query import Filter, Hit
from holdfast.store.sqlite import codes
from holdfast.store.sqlite.database import Connection
from holdfast.store.sqlite.filters import Condition, condition
from holdfast.store.sqlite.rows import BY_IDS, as_list

if TYPE_CHECKING:
    from holdfast.core.ports import Vector
    from holdfast.store.sqlite.vector_index import Floats, Positions, VectorIndex, View

_LOADED_ROWS = 10_000
_LEAST_LOOK = 40
_WIDER_LOOKS = (2_000, 10_000)
# Rebuild when this share of the rows in memory no longer stands in the table.
_DEAD_SHARE = 0.25


class Model(NamedTuple):
    """A model as the tables know it."""

    number: int
    model_id: str
    dimension: int


def find_model(db: Connection, model_id: str) -> Model | None:
    """The model of that id, if any vector of it was ever kept."""
    row = db.execute(
        "SELECT model, model_id, dimension FROM models WHERE model_id = ?", (model_id,)
    ).fetchone()
    return None if row is None else Model(*row)


class VectorSearch:
    """Keeps an index for each model that was asked for."""

    def __init__(self) -> None:
        self._indexes: dict[Model, VectorIndex] = {}
        self._lock = threading.Lock()

    def nearest(
        self, db: Connection, vector: Vector, *, model_id: str, where: Filter, limit: int
    ) -> list[Hit]:
        """The nearest memories of one model inside the filter."""
        model = self._require(db, vector, model_id)
        if model is None or not limit:
            return []
        view, among = self._view(db, model, where.project)
        query, fits = _query(vector), condition(where)
        count = len(view.seqs) if among is None else len(among)
        first = max(_LEAST_LOOK, limit + limit // 4)
        for width in (first, *(wider for wider in _WIDER_LOOKS if wider > first)):
            nearest = view.nearest(query, among=among, limit=width)
            hits = _standing(db, view, nearest, fits)
            if len(hits) >= limit or count <= width:
                return hits[:limit]
            if len(hits) * _WIDER_LOOKS[-1] < limit * width:
                break  # so few pass that even the widest look would not find enough
        among = self._allowed(db, model, view, fits)
        return _standing(db, view, view.nearest(query, among=among, limit=limit), fits)

    def similarities(
        self, db: Connection, vector: Vector, *, model_id: str, ids: Sequence[str]
    ) -> dict[str, float]:
        """The cosine with each of the memories that have a vector of the model."""
        model = self._require(db, vector, model_id)
        if model is None or not ids:
            return {}
        found = db.execute(
            f"SELECT m.id, v.seq FROM {BY_IDS}"
            " CROSS JOIN vectors v ON v.memory = m.row AND v.model = ?",
            (as_list(ids), model.number),
        ).fetchall()
        view, _ = self._view(db, model, None)
        cosines = view.cosines(_query(vector), among=view.positions([seq for _, seq in found]))
        return {
            full_id: cosine for (full_id, _), cosine in zip(found, cosines.tolist(), strict=True)
        }

    def forget(self) -> None:
        """Let go of every index; the next search loads it again."""
        with self._lock:
            self._indexes.clear()

    def _require(self, db: Connection, vector: Vector, model_id: str) -> Model | None:
        codes.require_packed(vector)
        model = find_model(db, model_id)
        if model is not None:
            codes.require_dimension(model_id, stored=model.dimension, given=len(vector) // 4)
        return model

    def _view(
        self, db: Connection, model: Model, project: str | None
    ) -> tuple[View, Positions | None]:
        """The vectors there are, and where those that the project may see stand among them."""
        from holdfast.store.sqlite.vector_index import VectorIndex

        with self._lock:
            index = self._indexes.get(model)
            if index is None:
                index = self._indexes[model] = VectorIndex(model.dimension)
            _load_new(db, model, index)
            return index.view(), None if project is None else index.at((project, ""))

    def _allowed(self, db: Connection, model: Model, view: View, fits: Condition) -> Positions:
        """Positions of the vectors that stand in the table and pass the filter."""
        import numpy as np

        self._drop_if_worn(db, model, view)
        rows = db.execute(
            "SELECT v.seq FROM vectors v JOIN memories m ON m.row = v.memory"
            f" WHERE v.model = ? AND {fits.sql}",
            (model.number, *fits.params),
        )
        seqs = np.fromiter((seq for (seq,) in rows), dtype=np.int64)
        return np.flatnonzero(np.isin(view.seqs, seqs, assume_unique=True))

    def _drop_if_worn(self, db: Connection, model: Model, view: View) -> None:
        if _standing_count(db, model) < len(view.seqs) * (1 - _DEAD_SHARE):
            with self._lock:
                self._indexes.pop(model, None)


def _standing_count(db: Connection, model: Model) -> int:
    (count,) = db.execute(
        "SELECT count(*) FROM vectors WHERE model = ?", (model.number,)
    ).fetchone()
    return int(count)


def _load_new(db: Connection, model: Model, index: VectorIndex) -> None:
    import numpy as np

    if index.last_seq == 0:
        index.reserve(_standing_count(db, model))
    cursor = db.execute(
        "SELECT seq, scale, home, codes FROM vectors WHERE seq > ? AND model = ? ORDER BY seq",
        (index.last_seq, model.number),
    )
    while rows := cursor.fetchmany(_LOADED_ROWS):
        seqs, scales, homes, packed = zip(*rows, strict=True)
        numbers = np.frombuffer(b"".join(packed), dtype=np.int8).reshape(len(rows), -1)
        index.append(np.array(seqs, np.int64), np.array(scales, np.float32), numbers, homes=homes)


def _standing(
    db: Connection, view: View, nearest: tuple[Positions, Floats], fits: Condition
) -> list[Hit]:
    """Those of the nearest that still stand in the table and pass the filter, in order."""
    positions, cosines = nearest
    seqs: list[int] = view.seqs[positions].tolist()
    rows = db.execute(
        "SELECT v.seq, m.id FROM vectors v CROSS JOIN memories m ON m.row = v.memory"
        f" WHERE v.seq IN (SELECT value FROM json_each(?)) AND {fits.sql}",
        (str(seqs), *fits.params),
    )
    ids: dict[int, str] = dict(rows.fetchall())
    return [
        Hit(ids[seq], float(cosine))
        for seq, cosine in zip(seqs, cosines, strict=True)
        if seq in ids
    ]


def _query(vector: Vector) -> Floats:
    import numpy as np

    query = np.frombuffer(vector, dtype="<f4").astype(np.float32)
    return query / np.float32(np.linalg.norm(query))
