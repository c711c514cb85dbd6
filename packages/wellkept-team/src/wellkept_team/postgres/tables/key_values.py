"""The `KeyValueStore` and `FileLinkStore` ports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError
from wellkept.core.query import FileLink
from wellkept.store.queries import require_limit
from wellkept.store.rows import dump, link_row, loaded
from wellkept_team.postgres.connection.database import Component, Connection, all_bindable, bindable

if TYPE_CHECKING:
    from wellkept.core.codec import Json

_ONE = "WHERE tenant = %(tenant)s AND project = '' AND space = %(space)s AND key = %(key)s"


class PostgresKeyValues(Component):
    """JSON values and file links."""

    def get_value(self, namespace: str, key: str) -> Json:
        with self._database.reading() as db:
            return _value(db, namespace, key)

    def put_value(self, namespace: str, key: str, value: Json) -> None:
        text = dump(value)
        with self._database.writing() as db:
            if value is None:
                db.run(f"DELETE FROM key_values {_ONE}", space=namespace, key=key)
            else:
                _put(db, namespace, key, text)

    def try_increment(self, namespace: str, key: str, by: int, *, limit: int) -> bool:
        with self._database.writing() as db:
            known: object = _value(db, namespace, key)
            count = (known if isinstance(known, int) else 0) + by
            if count > limit:
                return False
            _put(db, namespace, key, dump(count))
            return True

    def values(self, namespace: str) -> dict[str, Json]:
        with self._database.reading() as db:
            rows = db.rows(
                "SELECT key, value FROM key_values WHERE tenant = %(tenant)s AND project = ''"
                " AND space = %(space)s ORDER BY key",
                space=bindable(namespace),
            )
        return {key: loaded(namespace, value) for key, value in rows}

    def put_file_links(self, project: str, links: Sequence[FileLink]) -> None:
        rows = [link_row(project, link) for link in links]
        names = ("project", "file_a", "file_b", "weight", "count")
        with self._database.writing() as db:
            db.many(
                "INSERT INTO file_links (tenant, project, file_a, file_b, weight, count) VALUES"
                " (%(tenant)s, %(project)s, %(file_a)s, %(file_b)s, %(weight)s, %(count)s)"
                " ON CONFLICT (tenant, project, file_a, file_b)"
                " DO UPDATE SET weight = excluded.weight, count = excluded.count",
                [dict(zip(names, row, strict=True)) for row in rows],
            )

    def linked_files(
        self, project: str, files: Sequence[str], *, min_weight: float, limit: int
    ) -> list[FileLink]:
        require_limit(limit)
        if math.isnan(min_weight):
            raise UsageError("min_weight must be a number.")
        heavy = "tenant = %(tenant)s AND project = %(project)s AND weight >= %(least)s"
        with self._database.reading() as db:
            rows = db.rows(
                "SELECT file_a, file_b, weight, count FROM file_links"
                f" WHERE {heavy} AND file_a = ANY(%(files)s)"
                " UNION ALL SELECT file_b, file_a, weight, count FROM file_links"
                f" WHERE {heavy} AND file_b = ANY(%(files)s) AND file_a <> ALL(%(files)s)"
                " ORDER BY 3 DESC, 1, 2 LIMIT %(limit)s",
                project=bindable(project),
                files=all_bindable(files),
                least=float(min_weight),
                limit=limit,
            )
        return [FileLink(*row) for row in rows]


def _value(db: Connection, namespace: str, key: str) -> Json:
    text = db.value(
        f"SELECT value FROM key_values {_ONE}", space=bindable(namespace), key=bindable(key)
    )
    return None if text is None else loaded(namespace, text)


def _put(db: Connection, namespace: str, key: str, text: str) -> None:
    db.run(
        "INSERT INTO key_values (tenant, project, space, key, value)"
        " VALUES (%(tenant)s, '', %(space)s, %(key)s, %(value)s)"
        " ON CONFLICT (tenant, project, space, key) DO UPDATE SET value = excluded.value",
        space=namespace,
        key=key,
        value=text,
    )
