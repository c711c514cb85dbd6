"""The `StoreMaintenance` port: check, repair, backup.

Invariant: `check` changes nothing; `repair` rewrites only derived data, each part in one
transaction. Damaged rows are reported only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError
from wellkept.store.sqlite.connection.database import Component
from wellkept.store.sqlite.opening import schema_version

if TYPE_CHECKING:
    from wellkept.core.query import Finding
    from wellkept.core.types import Progress
    from wellkept.store.sqlite.search.vectors import VectorSearch


class SqliteMaintenance(Component):
    """Maintenance of one file."""

    _vector_search: VectorSearch

    def check(self, *, deep: bool = False) -> list[Finding]:
        from wellkept.store.sqlite.maintenance import checks
        from wellkept.store.sqlite.maintenance.backup import unfinished

        with self._database.reading() as db:
            found = checks.run(db, deep=deep, may_write=not self._database.read_only)
        return [*found, *checks.unfinished_copies(unfinished(self._database.path.parent))]

    def repair(self, *, progress: Progress | None = None) -> list[Finding]:
        from wellkept.store.sqlite.checksums import fill_missing
        from wellkept.store.sqlite.maintenance import damaged_records
        from wellkept.store.sqlite.maintenance import repair as repairs
        from wellkept.store.sqlite.maintenance.backup import remove_unfinished

        before = self.check(deep=True)
        with self._database.writing() as db:
            # First: the indexes are made anew from the texts.
            damaged_records.mend(db, _copies(self._database.path))
            fill_missing(db)
        for done, run in enumerate(repairs.REPAIRS):
            if progress is not None:
                progress(done, len(repairs.REPAIRS))
            with self._database.writing() as db:
                run(db)
        self._vector_search.clear()
        remove_unfinished(self._database.path.parent)
        if progress is not None:
            progress(len(repairs.REPAIRS), len(repairs.REPAIRS))
        left = {finding.check for finding in self.check(deep=True)}
        return [f for f in before if f.repairable and f.check not in left]

    def continue_upgrade(self) -> bool:
        from wellkept.store.sqlite.checksums import backfill

        with self._database.reading() as db:
            if not db.execute("SELECT EXISTS (SELECT 1 FROM unsummed)").fetchone()[0]:
                return False
        with self._database.writing() as db:
            return backfill(db)

    def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        from wellkept.store.sqlite.maintenance.backup import copy_database

        if target.exists():
            raise UsageError(
                f"{target} already exists. A backup never overwrites a file.",
                hint="Choose another name.",
            )
        with self._database.snapshot() as db:
            # In a snapshot, concurrent writes do not restart the copy.
            db.execute("SELECT 1 FROM memories LIMIT 1")
            copy_database(db, target, progress=_page_progress(progress))

    def compact_storage(self) -> None:
        with self._database.writing() as db:
            db.execute("INSERT INTO words (words) VALUES ('optimize')")
            db.execute("INSERT INTO fragments (fragments) VALUES ('optimize')")
        with self._database.alone() as db:
            db.execute("VACUUM")
            db.execute("PRAGMA optimize = 0x10002")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def size_bytes(self) -> int:
        path = self._database.path
        files = (path, path.with_name(path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def describe(self) -> dict[str, str]:
        with self._database.reading() as db:
            (journal,) = db.execute("PRAGMA journal_mode").fetchone()
            version = schema_version(db)
        return {
            "engine": "SQLite",
            "version": sqlite3.sqlite_version,
            "schema": str(version),
            "location": str(self._database.path),
            "journal": str(journal),
            "access": "read only" if self._database.read_only else "read and write",
        }


def _copies(path: Path) -> list[Path]:
    """Copies that migrations and restores left beside the database, the newest first."""
    found = [copy for copy in path.parent.glob(f"{path.name}.before-*") if copy.is_file()]
    return sorted(found, key=lambda copy: copy.stat().st_mtime, reverse=True)


def _page_progress(progress: Progress | None) -> Callable[[int, int, int], None]:
    def tell(_status: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    return tell
