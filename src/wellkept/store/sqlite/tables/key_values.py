"""Vectors beside the rows, projects, and small persistent things: three ports of plain tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from wellkept.core.clock import to_ms
from wellkept.core.errors import UsageError
from wellkept.core.query import FileLink, Filter, VectorModelCount
from wellkept.store.sqlite.connection.component import Component, require_limit
from wellkept.store.sqlite.connection.database import Connection, bindable, placeholders
from wellkept.store.sqlite.search import quantization
from wellkept.store.sqlite.search.vectors import find_model
from wellkept.store.sqlite.tables.filters import condition
from wellkept.store.sqlite.tables.memory_rows import SELECTED, dump, require_unit, to_memory
from wellkept.store.sqlite.tables.scratchpad_rows import move_signals
from wellkept.store.sqlite.tables.skill_uses import move_skill_uses

if TYPE_CHECKING:
    from wellkept.core.changes import IndexEntry
    from wellkept.core.codec import Json
    from wellkept.core.memory import Memory
    from wellkept.core.ports.models import Vector

_STREAM_ROWS = 1_000


class SqliteVectors(Component):
    """The `VectorShelf` port."""

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
        fits = condition(where)
        after = 0
        while True:
            with self._database.reading() as db:
                model = find_model(db, model_id)
                if model is None:
                    return
                rows = db.execute(
                    "SELECT v.seq, m.id, v.scale, v.codes FROM vectors v"
                    " CROSS JOIN memories m ON m.row = v.memory"
                    f" WHERE v.seq > ? AND v.model = ? AND {fits.sql} ORDER BY v.seq LIMIT ?",
                    (after, model.number, *fits.params, _STREAM_ROWS),
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
            # The next vectors of this name may have another dimension.
            db.execute("DELETE FROM models WHERE model = ?", (model.number,))
        return dropped


class SqliteProjects(Component):
    """The `ProjectBook` port. Aliases are kept flat: each names its canonical project."""

    def canonical_project(self, identity: str) -> str:
        with self._database.reading() as db:
            return _canonical(db, identity)

    def projects(self) -> list[tuple[str, int]]:
        with self._database.reading() as db:
            return db.execute(
                "SELECT project, count(*) AS n FROM memories GROUP BY project"
                " ORDER BY n DESC, project"
            ).fetchall()

    def merge_projects(self, alias: str, *, into: str) -> int:
        """Move the memories; where both hold an open key, the one updated last stays open."""
        if not alias or not into:
            raise UsageError("A project needs a name.")
        with self._database.writing() as db:
            target = _canonical(db, into)
            if target == alias:
                raise UsageError(f"The project {into!r} already stands for {alias!r}.")
            self._close_clashes(db, alias, target)
            moved = db.execute(
                "UPDATE memories SET project = ? WHERE project = ?", (target, alias)
            ).rowcount
            for table in (
                "sessions", "news", "skill_library", "scratchpads", "explanations",
            ):  # fmt: skip
                db.execute(f"UPDATE {table} SET project = ? WHERE project = ?", (target, alias))
            _move_file_links(db, alias, target)
            move_skill_uses(db, alias, target)
            move_signals(db, alias, target)
            db.execute(
                "UPDATE project_aliases SET canonical = ? WHERE canonical = ?", (target, alias)
            )
            db.execute("INSERT OR REPLACE INTO project_aliases VALUES (?, ?)", (alias, target))
        return moved

    def _close_clashes(self, db: Connection, alias: str, target: str) -> None:
        clashes = db.execute(
            "SELECT a.id, b.id, a.updated_ms > b.updated_ms FROM memories a JOIN memories b"
            " ON b.project = ? AND b.key = a.key AND b.valid_to_ms IS NULL AND b.scope <> 'user'"
            " WHERE a.project = ? AND a.valid_to_ms IS NULL AND a.scope <> 'user'",
            (target, alias),
        ).fetchall()
        now_ms = to_ms(self._clock())
        for ours, theirs, ours_is_newer in clashes:
            kept, closed = (ours, theirs) if ours_is_newer else (theirs, ours)
            db.execute(
                "UPDATE memories SET valid_to_ms = max(valid_from_ms, ?),"
                " updated_ms = max(updated_ms, ?), superseded_by = ? WHERE id = ?",
                (now_ms, now_ms, kept, closed),
            )


def _canonical(db: Connection, identity: str) -> str:
    row = db.execute(
        "SELECT canonical FROM project_aliases WHERE alias = ?", (identity,)
    ).fetchone()
    return identity if row is None else str(row[0])


def _move_file_links(db: Connection, alias: str, target: str) -> None:
    """A pair that both projects know keeps the larger weight and both counts."""
    db.execute(
        "INSERT INTO file_links SELECT ?, file_a, file_b, weight, count FROM file_links"
        " WHERE project = ? ON CONFLICT (project, file_a, file_b) DO UPDATE SET"
        " weight = max(weight, excluded.weight), count = count + excluded.count",
        (target, alias),
    )
    db.execute("DELETE FROM file_links WHERE project = ?", (alias,))


class SqliteKeyValues(Component):
    """The `Shelf` port."""

    def get_value(self, namespace: str, key: str) -> Json:
        with self._database.reading() as db:
            row = db.execute(
                "SELECT value FROM shelf WHERE space = ? AND key = ?", (namespace, key)
            ).fetchone()
        return None if row is None else json.loads(row[0])

    def put_value(self, namespace: str, key: str, value: Json) -> None:
        text = dump(value)
        with self._database.writing() as db:
            if value is None:
                db.execute("DELETE FROM shelf WHERE space = ? AND key = ?", (namespace, key))
            else:
                db.execute("INSERT OR REPLACE INTO shelf VALUES (?, ?, ?)", (namespace, key, text))

    def try_increment(self, namespace: str, key: str, by: int, *, limit: int) -> bool:
        with self._database.writing() as db:
            row = db.execute(
                "SELECT value FROM shelf WHERE space = ? AND key = ?", (namespace, key)
            ).fetchone()
            known: object = 0 if row is None else json.loads(row[0])
            count = (known if isinstance(known, int) else 0) + by
            if count > limit:
                return False
            db.execute(
                "INSERT OR REPLACE INTO shelf VALUES (?, ?, ?)", (namespace, key, dump(count))
            )
            return True

    def values(self, namespace: str) -> dict[str, Json]:
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT key, value FROM shelf WHERE space = ? ORDER BY key", (namespace,)
            ).fetchall()
        return {key: json.loads(value) for key, value in rows}

    def put_file_links(self, project: str, links: Sequence[FileLink]) -> None:
        rows = [_link_row(project, link) for link in links]
        with self._database.writing() as db:
            db.executemany("INSERT OR REPLACE INTO file_links VALUES (?, ?, ?, ?, ?)", rows)

    def linked_files(
        self, project: str, files: Sequence[str], *, min_weight: float, limit: int
    ) -> list[FileLink]:
        require_limit(limit)
        if math.isnan(min_weight):
            raise UsageError("min_weight must be a number.")
        project, files = bindable(project), [bindable(file) for file in files]
        listed = placeholders(files)
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT file_a, file_b, weight, count FROM file_links"
                f" WHERE project = ? AND file_a IN ({listed}) AND weight >= ?"
                " UNION ALL SELECT file_b, file_a, weight, count FROM file_links"
                f" WHERE project = ? AND file_b IN ({listed}) AND weight >= ?"
                f" AND file_a NOT IN ({listed}) ORDER BY 3 DESC, 1, 2 LIMIT ?",
                (project, *files, min_weight, project, *files, min_weight, *files, limit),
            ).fetchall()
        return [FileLink(*row) for row in rows]


def _link_row(project: str, link: FileLink) -> tuple[str, str, str, float, int]:
    if link.file_a == link.file_b:
        raise UsageError(f"The file {link.file_a!r} cannot be linked to itself.")
    require_unit("weight", link.weight)
    first, second = sorted((link.file_a, link.file_b))
    return project, first, second, link.weight, link.count
