"""Copies of a whole file: private, whole, and safe beside another copy to the same place."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.samples import START
from wellkept.core.errors import StoreError
from wellkept.store import open_store
from wellkept.store.sqlite.database import Database
from wellkept.store.sqlite.migrations import STEPS, migrate
from wellkept.store.sqlite.restore import copy_database

pytestmark = pytest.mark.feature("A1")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A file with the oldest schema."""
    opened = Database(tmp_path / "store.db", busy_timeout_ms=1_000)
    migrate(opened, clock=lambda: START, steps=STEPS[:1])
    yield opened
    opened.close()


def test_two_copies_to_the_same_place_at_once_do_not_trip_each_other(
    tmp_path: Path, database: Database
) -> None:
    target = tmp_path / "copy.db"
    with database.reading() as db, database.reading() as other:

        def copy_meanwhile(_status: int, _remaining: int, _total: int) -> None:
            copy_database(other, target)

        copy_database(db, target, progress=copy_meanwhile)
    with closing(sqlite3.connect(target)) as copied:
        assert copied.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert list(tmp_path.glob("*.partial")) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_the_copy_before_a_migration_can_be_read_by_its_owner_alone(
    tmp_path: Path, database: Database
) -> None:
    open_store(database.path).close()
    (copy,) = tmp_path.glob("store.db.before-*")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_a_copy_that_fails_leaves_nothing_behind(tmp_path: Path, database: Database) -> None:
    def fail(_status: int, _remaining: int, _total: int) -> None:
        raise KeyboardInterrupt

    with database.reading() as db, pytest.raises(KeyboardInterrupt):
        copy_database(db, tmp_path / "copy.db", progress=fail)
    assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == []


def test_a_copy_into_a_folder_that_is_not_there_says_so(tmp_path: Path, database: Database) -> None:
    with database.reading() as db, pytest.raises(StoreError, match="cannot be written"):
        copy_database(db, tmp_path / "nowhere" / "copy.db")


def test_what_a_killed_copy_left_is_removed_by_the_next_once_it_is_old(
    tmp_path: Path, database: Database
) -> None:
    names = ("copy.db.abcdefgh.wellkept.partial", "copy.db.abcdefgh.wellkept.partial-journal")
    old, young = tmp_path / "old", tmp_path / "young"
    for folder in (old, young):
        folder.mkdir()
        for name in (*names, "film.partial"):
            (folder / name).write_bytes(b"half")
            os.utime(folder / name, (1, 1) if folder is old else None)
    with database.reading() as db:
        for folder in (old, young):
            copy_database(db, folder / "next.db")
    assert {path.name for path in old.iterdir()} == {"film.partial", "next.db"}
    assert {path.name for path in young.iterdir()} == {*names, "film.partial", "next.db"}


def test_a_killed_copy_beside_the_database_is_told_and_mended(
    tmp_path: Path, database: Database
) -> None:
    left = tmp_path / "store.db.abcdefgh.wellkept.partial"
    with closing(open_store(database.path)) as store:
        left.write_bytes(b"half")
        os.utime(left, (1, 1))
        assert [finding.check for finding in store.check()] == ["copies"]
        assert left.exists()
        assert [finding.check for finding in store.repair()] == ["copies"]
        assert store.check() == []
    assert not left.exists()
