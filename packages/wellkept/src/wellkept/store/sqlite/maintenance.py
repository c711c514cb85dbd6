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
from wellkept.store.sqlite.checks import expected_labels
from wellkept.store.sqlite.database import Component, Connection
from wellkept.store.sqlite.opening import schema_version
from wellkept.store.sqlite.schema import FRAGMENTS_TABLE, WORDS_TABLE

if TYPE_CHECKING:
    from wellkept.core.query import Finding
    from wellkept.core.types import Progress


def _drop_orphans(db: Connection) -> None:
    db.execute("DELETE FROM vectors WHERE memory NOT IN (SELECT row FROM memories)")
    db.execute("DELETE FROM vectors WHERE model NOT IN (SELECT model FROM models)")


def _drop_wrong_dimensions(db: Connection) -> None:
    """A vector of the wrong length can only be recomputed by a re-index."""
    db.execute(
        "DELETE FROM vectors WHERE length(codes) <>"
        " (SELECT dimension FROM models d WHERE d.model = vectors.model)"
    )


def _fix_homes(db: Connection) -> None:
    db.execute(
        "INSERT OR REPLACE INTO vectors (memory, model, home, scale, codes, checksum)"
        " SELECT v.memory, v.model, m.home, v.scale, v.codes, v.checksum FROM vectors v"
        " JOIN memories m ON m.row = v.memory WHERE v.home <> m.home"
    )


def _fix_short_ids(db: Connection) -> None:
    db.execute("UPDATE memories SET short = short_of(id) WHERE short IS NOT short_of(id)")


def _rebuild_indexes(db: Connection) -> None:
    db.execute("REINDEX")


def _rebuild_labels(db: Connection) -> None:
    db.execute("DELETE FROM labels")
    db.execute(f"INSERT OR IGNORE INTO labels {expected_labels(step=1)}")


def _rebuild_words(db: Connection) -> None:
    # Recreated instead of rebuilt in place: also repairs a table that FTS5 cannot read.
    db.execute("DROP TABLE words")
    db.execute(WORDS_TABLE)
    db.execute("INSERT INTO words (words) VALUES ('rebuild')")
    db.execute("UPDATE text_edits SET count = count + 1")
    # A gap in the numbers invalidates all cached lengths.
    db.execute("INSERT INTO edited_texts SELECT coalesce(max(number), 0) + 2, 0 FROM edited_texts")


def _rebuild_fragments(db: Connection) -> None:
    db.execute("DROP TABLE fragments")
    db.execute(FRAGMENTS_TABLE)
    db.execute("INSERT INTO fragments (fragments) VALUES ('rebuild')")


REPAIRS: tuple[Callable[[Connection], None], ...] = (
    _rebuild_indexes,
    _drop_orphans,
    _drop_wrong_dimensions,
    _fix_homes,
    _fix_short_ids,
    _rebuild_labels,
    _rebuild_words,
    _rebuild_fragments,
)


class SqliteMaintenance(Component):
    """Maintenance of one file."""

    def check(self, *, deep: bool = False) -> list[Finding]:
        from wellkept.store.sqlite import checks
        from wellkept.store.sqlite.restore import unfinished

        with self._database.reading() as db:
            found = checks.run(db, deep=deep, may_write=not self._database.read_only)
        return [*found, *checks.unfinished_copies(unfinished(self._database.path.parent))]

    def repair(self, *, progress: Progress | None = None) -> list[Finding]:
        from wellkept.store.sqlite import checks
        from wellkept.store.sqlite.checksums import fill_missing
        from wellkept.store.sqlite.restore import remove_unfinished

        before = self.check(deep=True)
        with self._database.writing() as db:
            # First: the indexes are made anew from the texts.
            checks.mend(db, _copies(self._database.path))
            fill_missing(db)
        for done, run in enumerate(REPAIRS):
            if progress is not None:
                progress(done, len(REPAIRS))
            with self._database.writing() as db:
                run(db)
        self.let_go()
        remove_unfinished(self._database.path.parent)
        if progress is not None:
            progress(len(REPAIRS), len(REPAIRS))
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
        from wellkept.store.sqlite.restore import copy_database

        if target.exists():
            raise UsageError(
                f"{target} already exists. A backup never overwrites a file.",
                hint="Choose another name.",
            )

        def tell(_status: int, remaining: int, total: int) -> None:
            if progress is not None:
                progress(total - remaining, total)

        with self._database.snapshot() as db:
            # In a snapshot, concurrent writes do not restart the copy.
            db.execute("SELECT 1 FROM memories LIMIT 1")
            copy_database(db, target, progress=tell)

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
