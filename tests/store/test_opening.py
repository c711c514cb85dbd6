"""Opening a store: what it makes, what it promises, and how SQLite's complaints are told."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.support.conformance.fixtures import EVERYTHING
from tests.support.samples import Samples
from wellkept.core.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    UsageError,
)
from wellkept.core.ports.store import Store
from wellkept.store import open_store
from wellkept.store.queries import AccessBuffer, AccessCount
from wellkept.store.sqlite.database import Database, translate

pytestmark = pytest.mark.feature("A1")


def test_a_new_store_makes_its_folder_and_uses_a_write_ahead_log(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "store.db"
    store: Store = open_store(str(path))
    candidates = store.describe()
    assert (candidates["engine"], candidates["journal"], candidates["location"]) == (
        "SQLite",
        "wal",
        str(path),
    )
    store.close()
    assert path.is_file()


def test_a_commit_waits_for_the_disk_and_keys_are_checked(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.db", busy_timeout_ms=1)
    with database.reading() as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
        assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)
    database.close()


def test_a_path_with_signs_that_mean_something_in_a_url_is_only_a_path(tmp_path: Path) -> None:
    path = tmp_path / "50% off?mode=memory#1 é.db"
    store = open_store(path)
    store.apply([Samples().insert()])
    store.close()
    assert path.is_file()
    again = open_store(path, read_only=True)
    assert again.stats(EVERYTHING).total == 1
    again.close()


def test_a_folder_in_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        open_store(tmp_path)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (sqlite3.SQLITE_BUSY, StoreBusyError),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreBusyError),
        (sqlite3.SQLITE_LOCKED, StoreBusyError),
        (sqlite3.SQLITE_READONLY_DIRECTORY, StoreReadOnlyError),
        (sqlite3.SQLITE_FULL, StoreFullError),
        (sqlite3.SQLITE_IOERR_WRITE, StoreFullError),
        (sqlite3.SQLITE_CORRUPT_VTAB, StoreCorruptError),
        (sqlite3.SQLITE_NOTADB, StoreCorruptError),
        (sqlite3.SQLITE_CANTOPEN, StoreError),
        (sqlite3.SQLITE_IOERR_READ, StoreError),
        (sqlite3.SQLITE_TOOBIG, UsageError),
    ],
)
def test_every_complaint_of_sqlite_says_what_to_do(
    code: int, expected: type[Exception], tmp_path: Path
) -> None:
    error = sqlite3.OperationalError("as SQLite puts it")
    error.sqlite_errorcode = code
    told = translate(error, tmp_path / "store.db")
    assert type(told) is expected
    assert told.hint


def test_waiting_accesses_are_bounded_and_the_latest_stay() -> None:
    waiting = AccessBuffer(max_ids=3)
    waiting.add((name, AccessCount(1, at)) for at, name in enumerate("abcab"))
    waiting.add([("d", AccessCount(1, 9))])
    assert waiting.take_all() == {
        "a": AccessCount(2, 3),
        "b": AccessCount(2, 4),
        "d": AccessCount(1, 9),
    }
    assert waiting.take_all() == {}
