"""Opens an SQLite file of Wellkept: for writing where possible, otherwise for reading.

Creates or migrates the file; one that is up to date needs no migration to be loaded. A file with a
newer schema, or of another program, raises and stays unchanged.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from wellkept.core.clock import Clock
from wellkept.core.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreReadOnlyError,
    StoreVersionError,
)
from wellkept.core.query import Finding
from wellkept.core.types import Severity
from wellkept.store.sqlite.database import Connection, Database, require_sqlite

if TYPE_CHECKING:
    from wellkept.store.sqlite.migrations import Migration

# "Well" in ASCII: tells a Wellkept file from any other SQLite database.
APPLICATION_ID = 0x57656C6C
NEWEST = 16
"""The number of the last migration of a store."""
_READING = ("?mode=ro", "?mode=ro&immutable=1")


def open_file(
    path: Path,
    *,
    busy_timeout_ms: int,
    clock: Clock,
    read_only: bool = False,
    steps: Sequence[Migration] | None = None,
    application_id: int = APPLICATION_ID,
) -> Database:
    """Open a file; create or migrate it as needed. Without `steps` it is a store."""
    require_sqlite(sqlite3.sqlite_version_info)
    if read_only or (path.exists() and not os.access(path, os.W_OK)):
        return _open_for_reading(path, busy_timeout_ms, steps, application_id)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The folder {path.parent} cannot be created: {error.strerror}.",
            hint="Choose another path for the database.",
        ) from error
    database = Database(path, busy_timeout_ms=busy_timeout_ms)
    try:
        database.use_wal()
        _bring_up_to_date(database, steps, application_id, clock)
    except StoreReadOnlyError:
        database.close()
        return _open_for_reading(path, busy_timeout_ms, steps, application_id)
    except BaseException:
        database.close()
        raise
    return database


def schema_version(db: Connection, application_id: int = APPLICATION_ID) -> int:
    """Number of the last applied migration; 0 for an empty file."""
    if int(db.execute("PRAGMA application_id").fetchone()[0]) != application_id:
        if db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            raise StoreCorruptError(
                "The file is an SQLite database, but not one of Wellkept's.",
                hint="Choose another path for the database.",
            )
        return 0
    return int(db.execute("SELECT coalesce(max(number), 0) FROM schema_steps").fetchone()[0])


def _is_up_to_date(db: Connection, steps: Sequence[Migration] | None, application_id: int) -> bool:
    newest = NEWEST if steps is None else steps[-1].number
    return schema_version(db, application_id) == newest


def _bring_up_to_date(
    database: Database, steps: Sequence[Migration] | None, application_id: int, clock: Clock
) -> None:
    with database.snapshot() as db:
        if _is_up_to_date(db, steps, application_id):
            return
    from wellkept.store.sqlite.migrations import STEPS, migrate

    migrate(database, clock=clock, steps=steps or STEPS, application_id=application_id)


def _has_pending(db: Connection, steps: Sequence[Migration] | None, application_id: int) -> bool:
    if _is_up_to_date(db, steps, application_id):
        return False
    from wellkept.store.sqlite.migrations import STEPS, pending

    return bool(pending(db, steps or STEPS, application_id))


def check_file(
    path: Path, *, steps: Sequence[Migration], application_id: int, deep: bool
) -> Finding | None:
    """What is wrong with a derived file, or None. Changes nothing."""
    pragma = "integrity_check" if deep else "quick_check"
    try:
        database = _open_for_reading(path, 1_000, steps, application_id)
    except StoreError as error:
        return _finding(path, error.message)
    try:
        with database.reading() as db:
            messages = [str(text) for (text,) in db.execute(f"PRAGMA {pragma}(1)").fetchall()]
    except (StoreError, sqlite3.DatabaseError) as error:
        return _finding(path, str(error))
    finally:
        database.close()
    return None if messages == ["ok"] else _finding(path, f"SQLite found damage: {messages[0]}.")


def _finding(path: Path, message: str) -> Finding:
    return Finding(path.name, message, Severity.WARNING, repairable=False)


def _open_for_reading(
    path: Path, busy_timeout_ms: int, steps: Sequence[Migration] | None, application_id: int
) -> Database:
    """Open read-only. Without permission to create the WAL files, open as immutable.

    Immutable is correct for read-only media, where no process can write.
    """
    if not path.exists():
        raise StoreError(f"There is no database at {path}.", hint="Check the path.")
    refused: StoreError | None = None
    for query in _READING:
        database = Database(path, busy_timeout_ms=busy_timeout_ms, uri_query=query)
        try:
            with database.reading() as db:
                is_older = _has_pending(db, steps, application_id)
        except (StoreBusyError, StoreVersionError):
            # Another process is writing, or the schema is newer: immutable would not help.
            database.close()
            raise
        except StoreError as error:
            database.close()
            refused = refused or error
            continue
        if not is_older:
            return database
        database.close()
        refused = StoreReadOnlyError(
            f"The database {path} has an older schema and cannot be written.",
            hint="Open it once with write permission so that it can be migrated.",
        )
    assert refused is not None
    raise refused


class DerivedFile:
    """A file of its own for what can be built again, with a schema and a mark of its own.

    Apart from the memories, so that a long build never keeps a memory waiting and a backup does not
    carry it.
    """

    steps: ClassVar[Sequence[Migration]]
    application_id: ClassVar[int]

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(
        cls, path: Path, *, busy_timeout_ms: int, clock: Clock, read_only: bool = False
    ) -> Self:
        """Open the file, making or migrating it as needed; one that cannot be written is read."""
        return cls(
            open_file(
                path,
                busy_timeout_ms=busy_timeout_ms,
                clock=clock,
                read_only=read_only,
                steps=cls.steps,
                application_id=cls.application_id,
            )
        )

    def close(self) -> None:
        """Let go of every connection."""
        self._database.close()
