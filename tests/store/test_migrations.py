"""Numbered steps: each whole or not at all, recorded, and safe for what was there before."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.every_record import SKILL, fill
from tests.support.conformance.fixtures import EVERYTHING
from tests.support.conformance.injections import injection, line
from tests.support.conformance.sessions import session
from tests.support.samples import START, Samples
from wellkept.core.changes import PutInjection, PutSession, PutSilence, SaveReadPosition
from wellkept.core.errors import StoreError, StoreVersionError
from wellkept.core.ports.injections import SilentLine
from wellkept.core.query import FileLink
from wellkept.core.session.sessions import ReadPosition
from wellkept.core.skills import SkillRun
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


FORMER = {
    "key_values": "shelf", "activity": "news", "signals": "sightings", "skills": "skill_library",
    "skill_versions": "skill_editions", "processed_events": "taken_events",
    "read_positions": "reading_marks",
}  # fmt: skip
KEPT = (
    "models", "memories", "labels", "vectors", "project_aliases", "file_links", "sessions",
    "skill_runs", "skill_uses", "silent_lines", "scratchpads", "explanations", "injections", "injected_lines",
    "undo_steps", "shared_records", *FORMER,
)  # fmt: skip


def test_a_file_of_version_15_keeps_every_record_under_the_new_names(
    path: Path, database: Database, tmp_path: Path
) -> None:
    with closing(open_store(tmp_path / "newer.db")) as store:
        fill(store)
        store.merge_projects("renamed", into="example")
        store.put_file_links("example", [FileLink("a.py", "b.py", 0.5)])
        store.record_skill_use("user:release", project="example", at=START)
        run = SkillRun(skill_id=SKILL.id, session_id="session-1", used_by="one", at=START)
        store.put_skill_run(run)
        store.apply(
            [
                PutSession(session("session-9"), ("e1", "e2")),
                SaveReadPosition(ReadPosition("a.jsonl", "head", 5)),
                PutInjection(injection(1, line("l1"))),
                PutSilence("example", "l1", SilentLine("l1", START, "wrong")),
            ]
        )
    migrate(database, clock=lambda: START, steps=STEPS[:15])
    with closing(sqlite3.connect(path)) as db:
        db.execute("ATTACH ? AS newer", (str(tmp_path / "newer.db"),))
        for table in KEPT:
            named = [row[1] for row in db.execute(f"PRAGMA newer.table_info({table})")]
            given = ", ".join(f'"{name}"' for name in named)
            former = given
            if table == "project_aliases":
                former = given.replace("project", "alias")
            db.execute(
                f"INSERT OR REPLACE INTO main.{FORMER.get(table, table)} ({former})"
                f" SELECT {given} FROM newer.{table}"
            )
        for index in ("words", "fragments"):
            db.execute(f"INSERT INTO main.{index} ({index}) VALUES ('rebuild')")
        db.commit()
    with closing(open_store(path)) as store:
        assert store.check(deep=True) == []
        assert store.canonical_project("renamed") == "example"
    assert [one.name for one in path.parent.glob("*.before-*")] == ["store.db.before-v16"]
    with closing(sqlite3.connect(path)) as db:
        db.execute("ATTACH ? AS newer", (str(tmp_path / "newer.db"),))
        for table in KEPT:
            rows = db.execute(f"SELECT * FROM newer.{table}").fetchall()
            assert sorted(db.execute(f"SELECT * FROM main.{table}"), key=repr) == sorted(
                rows, key=repr
            ), table
            assert rows or table in ("shared_records", "undo_steps"), table


def test_an_sqlite_that_is_too_old_is_named() -> None:
    require_sqlite((3, 37, 0))
    with pytest.raises(StoreError, match=r"3\.36\.5"):
        require_sqlite((3, 36, 5))


def test_a_file_counts_as_up_to_date_at_the_last_migration() -> None:
    assert STEPS[-1].number == NEWEST
