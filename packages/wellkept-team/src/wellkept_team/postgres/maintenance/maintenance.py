"""The `StoreMaintenance` port: check, repair, copies, size.

Invariant: `check` changes nothing; `repair` rewrites only derived data, in one transaction.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, LiteralString, cast

from wellkept.core.errors import UsageError
from wellkept_team.postgres.connection.database import NAMESPACE, Component
from wellkept_team.postgres.maintenance.copies import read_copy, write_copy
from wellkept_team.postgres.maintenance.indexes import check_indexes, rebuild_indexes
from wellkept_team.postgres.migrations import schema_version
from wellkept_team.postgres.search.vector_index import has_missing_index, make_missing_indexes

if TYPE_CHECKING:
    from wellkept.core.query import Finding
    from wellkept.core.types import Progress
    from wellkept_team.postgres.search.vector_index import VectorIndexes

_REPAIR_STEPS = 3


class PostgresMaintenance(Component):
    """Maintenance of one tenant; the server keeps its own files in order."""

    _vector_indexes: VectorIndexes

    def check(self, *, deep: bool = False) -> list[Finding]:
        with self._database.snapshot() as db:
            return check_indexes(db, deep=deep)

    def repair(self, *, progress: Progress | None = None) -> list[Finding]:
        def tell(done: int) -> None:
            if progress is not None:
                progress(done, _REPAIR_STEPS)

        tell(0)
        before = self.check(deep=True)
        tell(1)
        with self._database.writing() as db:
            rebuild_indexes(db)
        tell(2)
        left = {finding.check for finding in self.check(deep=True)}
        tell(_REPAIR_STEPS)
        return [f for f in before if f.repairable and f.check not in left]

    def continue_upgrade(self) -> bool:
        """Make one vector index that a large project lacks. Others go on writing meanwhile."""
        if self._database.read_only:
            return False
        least = self._vector_indexes.least
        with self._database.reading() as db:
            if not has_missing_index(db.raw, least=least):
                return False
        with self._database.alone() as raw:
            made = make_missing_indexes(raw, least=least, most=1)
        self._vector_indexes.forget()
        return made > 0

    def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        if target.exists():
            raise UsageError(
                f"{target} already exists. A backup never overwrites a file.",
                hint="Choose another name.",
            )
        with self._database.snapshot() as db:
            write_copy(db, target, version=schema_version(db.raw), progress=progress)

    def restore(self, source: Path) -> None:
        """Restore a copy into this tenant, which must be empty: all or nothing."""
        with self._database.writing() as db:
            read_copy(db, source)
            rebuild_indexes(db)

    def compact_storage(self) -> None:
        with self._database.alone() as raw:
            rows = raw.execute(
                "SELECT quote_ident(relname) FROM pg_class c JOIN pg_namespace n"
                " ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'",
                (NAMESPACE,),
            ).fetchall()
            for (table,) in rows:
                raw.execute(cast("LiteralString", f"VACUUM (ANALYZE) {NAMESPACE}.{table}"))

    def size_bytes(self) -> int:
        """Space of all tenants in this database: tables are shared."""
        with self._database.reading() as db:
            return int(
                db.value(
                    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c"
                    " JOIN pg_namespace n ON n.oid = c.relnamespace"
                    " WHERE n.nspname = %(name)s AND c.relkind = 'r'",
                    name=NAMESPACE,
                )
            )

    def describe(self) -> dict[str, str]:
        with self._database.reading() as db:
            row = db.row(
                "SELECT current_setting('server_version'), (SELECT extversion FROM pg_extension"
                " WHERE extname = 'vector'), pg_is_in_recovery()"
            )
            assert row is not None
            version = schema_version(db.raw)
        reads_only = self._database.read_only or bool(row[2])
        return {
            "engine": "PostgreSQL",
            "version": str(row[0]).split()[0],
            "schema": str(version),
            "location": self._database.place,
            "pgvector": str(row[1]),
            "tenant": self._database.tenant,
            "access": "read only" if reads_only else "read and write",
        }
