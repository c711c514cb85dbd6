"""The `KeyValueStore` and `FileLinkStore` ports, and the reading part of `ProjectStore`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError
from wellkept.core.query import FileLink
from wellkept.store.queries import require_limit
from wellkept.store.rows import dump, link_row, loaded
from wellkept.store.tables import Component, Connection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.codec import Json

_ALL = "FROM key_values WHERE tenant = :tenant AND project = '' AND space = :space"
_LINKS = "FROM file_links WHERE tenant = :tenant AND project = :project AND weight >= :least"


class KeyValues(Component):
    """JSON values, file links and names of projects. Aliases are flat: each names its canonical
    project."""

    def canonical_project(self, identity: str) -> str:
        with self._tables.reading() as db:
            return canonical(db, identity)

    def projects(self) -> list[tuple[str, int]]:
        with self._tables.reading() as db:
            rows = db.rows(
                "SELECT project, count(*) AS n FROM memories WHERE tenant = :tenant"
                " GROUP BY project ORDER BY n DESC, project"
            )
        return [(name, n) for name, n in rows]

    def get_value(self, namespace: str, key: str) -> Json:
        with self._tables.reading() as db:
            return _value(db, namespace, key)

    def put_value(self, namespace: str, key: str, value: Json) -> None:
        text = dump(value)
        with self._tables.writing() as db:
            if value is None:
                db.write(f"DELETE {_ALL} AND key = :key", space=namespace, key=key)
            else:
                _put(db, namespace, key, text)

    def try_increment(self, namespace: str, key: str, by: int, *, limit: int) -> bool:
        with self._tables.writing() as db:
            known: object = _value(db, namespace, key)
            count = (known if isinstance(known, int) else 0) + by
            if count > limit:
                return False
            _put(db, namespace, key, dump(count))
            return True

    def values(self, namespace: str) -> dict[str, Json]:
        with self._tables.reading() as db:
            rows = db.rows(f"SELECT key, value {_ALL} ORDER BY key", space=namespace)
        return {key: loaded(namespace, value) for key, value in rows}

    def put_file_links(self, project: str, links: Sequence[FileLink]) -> None:
        rows = [link_row(project, link) for link in links]
        with self._tables.writing() as db:
            db.put("file_links", rows, key=("project", "file_a", "file_b"))

    def linked_files(
        self, project: str, files: Sequence[str], *, min_weight: float, limit: int
    ) -> list[FileLink]:
        require_limit(limit)
        if math.isnan(min_weight):
            raise UsageError("min_weight must be a number.")
        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT file_a, file_b, weight, count {_LINKS} AND file_a IN :files"
                f" UNION ALL SELECT file_b, file_a, weight, count {_LINKS} AND file_b IN :files"
                " AND file_a NOT IN :files ORDER BY 3 DESC, 1, 2 LIMIT :limit",
                project=project, files=files, least=float(min_weight), limit=limit,
            )  # fmt: skip
        return [FileLink(*row) for row in rows]


def canonical(db: Connection, identity: str) -> str:
    """The project that a name stands for."""
    found = db.value(
        "SELECT canonical FROM project_aliases WHERE tenant = :tenant AND project = :name",
        name=identity,
    )
    return identity if found is None else str(found)


def _value(db: Connection, namespace: str, key: str) -> Json:
    text = db.value(f"SELECT value {_ALL} AND key = :key", space=namespace, key=key)
    return None if text is None else loaded(namespace, text)


def _put(db: Connection, namespace: str, key: str, text: str) -> None:
    db.put("key_values", [{"space": namespace, "key": key, "value": text}], key=("space", "key"))
