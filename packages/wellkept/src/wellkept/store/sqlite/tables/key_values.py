"""The `KeyValueStore` and `FileLinkStore` ports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError
from wellkept.core.query import FileLink
from wellkept.store.queries import require_limit
from wellkept.store.rows import dump, link_row, loaded
from wellkept.store.sqlite.checksums import checksum
from wellkept.store.sqlite.database import Component, Connection, bindable, placeholders

if TYPE_CHECKING:
    from wellkept.core.codec import Json


class SqliteKeyValues(Component):
    """JSON values and file links."""

    def get_value(self, namespace: str, key: str) -> Json:
        with self._database.reading() as db:
            row = db.execute(
                "SELECT value FROM shelf WHERE space = ? AND key = ?", (namespace, key)
            ).fetchone()
        return None if row is None else loaded(namespace, row[0])

    def put_value(self, namespace: str, key: str, value: Json) -> None:
        text = dump(value)
        with self._database.writing() as db:
            if value is None:
                db.execute("DELETE FROM shelf WHERE space = ? AND key = ?", (namespace, key))
            else:
                _put(db, namespace, key, text)

    def try_increment(self, namespace: str, key: str, by: int, *, limit: int) -> bool:
        with self._database.writing() as db:
            row = db.execute(
                "SELECT value FROM shelf WHERE space = ? AND key = ?", (namespace, key)
            ).fetchone()
            known: object = 0 if row is None else loaded(namespace, row[0])
            count = (known if isinstance(known, int) else 0) + by
            if count > limit:
                return False
            _put(db, namespace, key, dump(count))
            return True

    def values(self, namespace: str) -> dict[str, Json]:
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT key, value FROM shelf WHERE space = ? ORDER BY key", (namespace,)
            ).fetchall()
        return {key: loaded(namespace, value) for key, value in rows}

    def put_file_links(self, project: str, links: Sequence[FileLink]) -> None:
        rows = [link_row(project, link) for link in links]
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


def _put(db: Connection, namespace: str, key: str, text: str) -> None:
    row = (namespace, key, text)
    db.execute(
        "INSERT OR REPLACE INTO shelf (space, key, value, checksum) VALUES (?, ?, ?, ?)",
        (*row, checksum(row)),
    )
