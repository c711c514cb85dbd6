"""The engine as a whole: its parts put together, opened and closed."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from holdfast.core.clock import Clock
from holdfast.core.errors import StoreBusyError, StoreError, StoreReadOnlyError
from holdfast.store.sqlite.database import Database, Durability, require_sqlite
from holdfast.store.sqlite.frequent import FrequentTerms
from holdfast.store.sqlite.memories import SqliteRows
from holdfast.store.sqlite.migrations import migrate, pending
from holdfast.store.sqlite.news import SqliteNews
from holdfast.store.sqlite.observer import SqliteObserver
from holdfast.store.sqlite.search import SqliteSearch
from holdfast.store.sqlite.sessions import SqliteSessions
from holdfast.store.sqlite.shelf import SqliteProjects, SqliteShelf, SqliteVectors
from holdfast.store.sqlite.skill_library import SqliteSkillLibrary
from holdfast.store.sqlite.skill_uses import SqliteSkillUses
from holdfast.store.sqlite.upkeep import SqliteUpkeep
from holdfast.store.sqlite.vectors import VectorSearch
from holdfast.store.sqlite.words import ProjectSizes

_READING = ("?mode=ro", "?mode=ro&immutable=1")


class SqliteStore(
    SqliteRows,
    SqliteSearch,
    SqliteVectors,
    SqliteProjects,
    SqliteShelf,
    SqliteSessions,
    SqliteNews,
    SqliteSkillUses,
    SqliteObserver,
    SqliteSkillLibrary,
    SqliteUpkeep,
):
    """A `Store` in one SQLite file."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        super().__init__(database, clock=clock)
        self._frequent = FrequentTerms()
        self._sizes = ProjectSizes()
        self._vector_search = VectorSearch()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        busy_timeout_ms: int,
        durability: Durability,
        read_only: bool,
        clock: Clock,
    ) -> SqliteStore:
        """Open a file for writing where that is possible, else for reading."""
        require_sqlite(sqlite3.sqlite_version_info)
        if read_only or not _may_write(path):
            return cls(_open_for_reading(path, busy_timeout_ms), clock=clock)
        _make_folder(path)
        database = Database(path, busy_timeout_ms=busy_timeout_ms, durability=durability)
        try:
            database.use_wal()
            migrate(database, clock=clock)
        except StoreReadOnlyError:
            database.close()
            return cls(_open_for_reading(path, busy_timeout_ms), clock=clock)
        except BaseException:
            database.close()
            raise
        return cls(database, clock=clock)

    def close(self) -> None:
        """Flush and let go of every connection."""
        if not self._database.closed:
            self.flush()
            self._database.close()
            self._frequent.forget()
            self._vector_search.forget()


def _may_write(path: Path) -> bool:
    return not path.exists() or os.access(path, os.W_OK)


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The folder {path.parent} cannot be made: {error.strerror}.",
            hint="Choose another path for the database.",
        ) from error


def _open_for_reading(path: Path, busy_timeout_ms: int) -> Database:
    """Reading a WAL file needs its side files; where these cannot be made, the file alone is read.

    That last resort is right for read-only media, where nobody can be writing.
    """
    if not path.exists():
        raise StoreError(f"There is no database at {path}.", hint="Check the path.")
    refused: StoreError | None = None
    for query in _READING:
        database = Database(
            path, busy_timeout_ms=busy_timeout_ms, durability="normal", uri_query=query
        )
        try:
            with database.reading() as db:
                waiting = pending(db)
        except StoreBusyError:
            # Somebody is writing, so the file alone would not tell the truth.
            database.close()
            raise
        except StoreError as error:
            database.close()
            refused = refused or error
            continue
        if not waiting:
            return database
        database.close()
        refused = StoreReadOnlyError(
            f"The database {path} has an older schema and cannot be written.",
            hint="Open it once with write permission so that it can be migrated.",
        )
    assert refused is not None
    raise refused
