"""Numbered steps: each whole or not at all, recorded, and safe for what was there before."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.conformance.fixtures import EVERYTHING
from tests.support.samples import START, Samples
from wellkept.core.errors import StoreError, StoreVersionError
from wellkept.store import open_store
from wellkept.store.sqlite.database import Connection, Database, require_sqlite
from wellkept.store.sqlite.migrations import STEPS, Migration, migrate, pending, schema_version
from wellkept.store.sqlite.opening import NEWEST

pytestmark = pytest.mark.feature("A1")


def add_table(db: Connection) -> None:
    db.execute("CREATE TABLE later (x TEXT) STRICT")


def add_half_a_table(db: Connection) -> None:
    db.execute("CREATE TABLE half (x TEXT) STRICT")
    db.execute("THIS IS NOT SQL")


NEXT = STEPS[-1].number + 1
LONGER = (*STEPS, Migration(NEXT, "later", add_table))
BROKEN = (*STEPS, Migration(NEXT, "broken", add_half_a_table))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    opened = Database(path, busy_timeout_ms=1_000)
    yield opened
    opened.close()


def schema_of(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(
            "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
        ).fetchall()


def test_the_steps_are_numbered_from_one_without_gaps() -> None:
    assert [step.number for step in STEPS] == list(range(1, len(STEPS) + 1))


def test_looking_at_pending_steps_changes_nothing(path: Path, database: Database) -> None:
    with database.reading() as db:
        assert pending(db) == list(STEPS)
        assert schema_version(db) == 0
    assert path.stat().st_size == 0


def test_every_step_is_taken_once_and_recorded(database: Database) -> None:
    assert migrate(database, clock=lambda: START) == list(STEPS)
    assert migrate(database, clock=lambda: START) == []
    with database.reading() as db:
        recorded = db.execute("SELECT number, name FROM schema_steps").fetchall()
    assert recorded == [(step.number, step.name) for step in STEPS]


def test_a_migrated_schema_equals_a_fresh_one(path: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh.db"
    for target, stages in (
        (fresh, [LONGER]),
        (path, [LONGER[:n] for n in range(1, len(LONGER) + 1)]),
    ):
        for steps in stages:
            database = Database(target, busy_timeout_ms=1_000)
            migrate(database, clock=lambda: START, steps=steps)
            database.close()
    assert schema_of(path) == schema_of(fresh)


def test_a_copy_is_made_before_the_first_step_on_an_existing_file(
    path: Path, database: Database
) -> None:
    store = open_store(path)
    samples = Samples()
    store.apply([samples.insert(f"n{i}") for i in range(20)])
    memories = list(store.iterate(EVERYTHING))
    store.close()
    assert list(path.parent.glob("*.before-*")) == []
    migrate(database, clock=lambda: START, steps=LONGER)
    (copy,) = path.parent.glob("*.before-*")
    assert copy.name == f"store.db.before-v{NEXT}"
    kept = open_store(copy)
    assert list(kept.iterate(EVERYTHING)) == memories
    assert kept.check(deep=True) == []
    kept.close()


def test_a_new_file_is_never_seen_half_made(path: Path, database: Database) -> None:
    """Whoever opens it meanwhile would copy it, as an old one that is about to be changed."""
    seen: list[int] = []

    def look(db: Connection) -> None:
        del db
        with closing(sqlite3.connect(path)) as other:
            seen.append(schema_version(other))

    spied = tuple(Migration(n, "spied", look) if n > 1 else STEPS[0] for n in range(1, 4))
    database.use_wal()
    assert migrate(database, clock=lambda: START, steps=spied) == list(spied)
    assert seen == [0, 0]
    with database.reading() as db:
        assert schema_version(db) == 3


def test_a_step_that_fails_leaves_the_file_as_it_was(path: Path, database: Database) -> None:
    migrate(database, clock=lambda: START)
    before = schema_of(path)
    with pytest.raises(StoreError):
        migrate(database, clock=lambda: START, steps=BROKEN)
    assert schema_of(path) == before
    with database.reading() as db:
        assert schema_version(db) == STEPS[-1].number
    assert migrate(database, clock=lambda: START, steps=LONGER) == [LONGER[-1]]


def test_older_code_refuses_a_newer_file(path: Path, database: Database) -> None:
    migrate(database, clock=lambda: START, steps=LONGER)
    with database.reading() as db, pytest.raises(StoreVersionError):
        pending(db)
    with pytest.raises(StoreVersionError, match=f"version {NEXT}"):
        open_store(path)


def test_an_older_file_that_cannot_be_written_says_what_to_do(
    path: Path,
) -> None:
    open_store(path).close()
    readable = Database(path, busy_timeout_ms=1_000, uri_query="?mode=ro")
    with readable.reading() as db:
        assert pending(db, LONGER) == [LONGER[-1]]
    with pytest.raises(StoreError, match="reading only"):
        migrate(readable, clock=lambda: START, steps=LONGER)
    readable.close()


def test_an_sqlite_that_is_too_old_is_named() -> None:
    require_sqlite((3, 37, 0))
    with pytest.raises(StoreError, match=r"3\.36\.5"):
        require_sqlite((3, 36, 5))


def test_a_file_counts_as_up_to_date_at_the_last_migration() -> None:
    assert STEPS[-1].number == NEWEST
