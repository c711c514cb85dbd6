"""Moves the memories of a project to another one, with what is derived from them."""

from __future__ import annotations

from wellkept.store.tables import Connection
from wellkept.store.tables.merging import ProjectMerge
from wellkept_team.postgres.tables.text_index import DERIVED


class PostgresProjectMerge(ProjectMerge):
    """The writing part of the `ProjectStore` port."""

    def _move_memories(self, db: Connection, names: dict[str, str]) -> int:
        """Memories about the person keep their home: they are seen from everywhere."""
        for table in DERIVED:
            db.write(
                f"UPDATE {table} SET home = :target WHERE tenant = :tenant AND home = :alias",
                **names,
            )
        return db.write(
            "UPDATE memories SET project = :target,"
            " home = CASE home WHEN '' THEN '' ELSE :target END"
            " WHERE tenant = :tenant AND project = :alias AND home IN (:alias, '')",
            **names,
        )
