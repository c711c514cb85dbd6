"""Each record has a checksum: text that changed by itself is found, named, and mended when sure."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from tests.store.every_record import fill
from tests.support.conformance.fixtures import EVERYTHING
from tests.support.samples import START, Samples
from wellkept.core.changes import Mark, Replace, Rescore
from wellkept.core.ports.store import Store
from wellkept.core.records import replace
from wellkept.core.types import Severity
from wellkept.store import open_store
from wellkept.store.sqlite import migrations
from wellkept.store.sqlite.checksums import TABLES, SummedTable, backfill
from wellkept.store.sqlite.database import Database
from wellkept.store.sqlite.migrations import STEPS, migrate

pytestmark = pytest.mark.feature("A2")

BY_NAME = {table.name: table for table in TABLES}
# A column of each table with text in it, and how its record is named.
TEXTS = {
    "memories": "content",
    "sessions": "title",
    "scratchpads": "body",
    "signals": "subject",
    "explanations": "body",
    "skills": "text",
    "skill_versions": "text",
    "key_values": "value",
}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("healthy") / "memory.db"
    with closing(open_store(path)) as store:
        fill(store)
        store.compact_storage()
    return path


@pytest.fixture
def path(healthy: Path, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(healthy, tmp_path / "memory.db"))


def execute(path: Path, *statements: str) -> list[tuple[object, ...]]:
    """Behind the engine's back, without its triggers."""
    rows: list[tuple[object, ...]] = []
    with closing(sqlite3.connect(path)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        known = triggers.fetchall()
        for name, _ in known:
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            rows += db.execute(statement).fetchall()
        for _, sql in known:
            db.execute(sql)
        db.commit()
    return rows


def problems(store: Store) -> list[str]:
    return [f.check for f in store.check(deep=True) if f.severity is Severity.ERROR]


def one_row(table: SummedTable, path: Path) -> tuple[str, str]:
    """The condition that finds one record, and its name."""
    key, name = execute(
        path,
        f"SELECT {table.order[-1]}, {table.named_by} FROM {table.name} ORDER BY 1 DESC LIMIT 1",
    )[0]
    return f"{table.order[-1]} = '{key}'", str(name)


def test_every_table_with_text_has_a_checksum(healthy: Path) -> None:
    assert set(TEXTS) == set(BY_NAME)
    for table in TABLES:
        ((missing, total),) = execute(
            healthy, f"SELECT sum(checksum IS NULL), count(*) FROM {table.name}"
        )
        assert (missing, total) != (0, 0)
        assert missing == 0, table.name
    with closing(open_store(healthy)) as store:
        assert store.check(deep=True) == []


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_changed_character_is_named_and_mended(path: Path, name: str) -> None:
    table, column = BY_NAME[name], TEXTS[name]
    where, named = one_row(table, path)
    ((before,),) = execute(path, f"SELECT {column} FROM {name} WHERE {where}")
    changed = f"SET {column} = replace({column}, 'marigold', 'marygold')"
    execute(path, f"UPDATE {name} {changed} WHERE {where}")
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    with closing(open_store(path)) as store:
        check = f"checksum of {table.what} {named.replace('marigold', 'marygold')}"
        found = {f.check: f for f in store.check(deep=True)}
        assert check in found
        assert named in found[check].message or column in table.order
        assert check in {f.check for f in store.repair()}
        assert store.check(deep=True) == []
    assert execute(path, f"SELECT {column} FROM {name} WHERE {where}") == [(before,)]


def test_random_flips_in_the_text_of_the_file_are_all_found_and_mended(
    healthy: Path, tmp_path: Path
) -> None:
    raw, chance = healthy.read_bytes(), random.Random(3)
    places = [m.start() for m in re.finditer(rb"The marigold parser number \d+ is", raw)]
    assert len(places) >= 30
    with closing(open_store(healthy)) as store:
        before = sorted((m.id, m.content) for m in store.iterate(EVERYTHING))
    for number in range(8):
        at = chance.choice(places) + chance.randrange(25)
        path = tmp_path / f"{number}.db"
        flipped = bytes([raw[at] ^ (1 << chance.randrange(8))])
        path.write_bytes(raw[:at] + flipped + raw[at + 1 :])
        with closing(open_store(path)) as store:
            assert any(check.startswith("checksum of memory") for check in problems(store))
            store.repair()
            assert problems(store) == []
            assert sorted((m.id, m.content) for m in store.iterate(EVERYTHING)) == before


def test_what_fits_no_checksum_is_named_and_left_as_it_is(path: Path) -> None:
    execute(path, "UPDATE memories SET content = 'another text' WHERE row = 7")
    ((full_id,),) = execute(path, "SELECT id FROM memories WHERE row = 7")
    with closing(open_store(path)) as store:
        store.repair()
        assert problems(store) == [f"checksum of memory {full_id}"]
        (memory,) = store.get([str(full_id)])
        assert memory.content == "another text"
        # Whoever corrects it by hand says that it is right now.
        store.apply([Replace(replace(memory, content="The right text"), None, None)])
        assert problems(store) == []


def test_a_copy_beside_the_database_mends_what_is_sure(path: Path) -> None:
    shutil.copyfile(path, path.with_name("memory.db.before-v14"))
    before = execute(path, "SELECT content FROM memories WHERE row = 7")
    execute(path, "UPDATE memories SET content = 'another text' WHERE row = 7")
    with closing(open_store(path)) as store:
        store.repair()
        assert problems(store) == []
    assert execute(path, "SELECT content FROM memories WHERE row = 7") == before


def test_a_copy_that_is_damaged_too_or_no_database_is_of_no_use(path: Path) -> None:
    execute(path, "UPDATE memories SET content = 'another text' WHERE row = 7")
    shutil.copyfile(path, path.with_name("memory.db.before-v14"))
    path.with_name("memory.db.before-v13").write_bytes(b"no database")
    with closing(open_store(path)) as store:
        store.repair()
        assert len(problems(store)) == 1


def test_a_damaged_vector_is_found_and_removed(path: Path) -> None:
    execute(
        path,
        "UPDATE vectors SET codes = CAST(x'01' || substr(codes, 2) AS BLOB) WHERE seq = 3 AND"
        " substr(codes, 1, 1) <> x'01'",
        "UPDATE vectors SET scale = scale * 2 WHERE seq = 4",
    )
    with closing(open_store(path)) as store:
        assert "vector checksums" in problems(store)
        assert "vector checksums" in {f.check for f in store.repair()}
        assert problems(store) == []


def test_a_checksum_or_vector_of_another_kind_stops_no_repair(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA writable_schema = 1")
        kept = db.execute("SELECT rowid, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
        db.execute("UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE type = 'table'")
        db.commit()
    execute(
        path,
        "UPDATE memories SET checksum = 'no number' WHERE row = 5",
        "UPDATE vectors SET codes = 'no bytes' WHERE seq = 2",
        "UPDATE vectors SET scale = 'no number' WHERE seq = 3",
    )
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA writable_schema = 1")
        db.executemany("UPDATE sqlite_schema SET sql = ?2 WHERE rowid = ?1", kept)
        db.commit()
    with closing(open_store(path)) as store:
        store.repair()
        assert any(check.startswith("checksum of memory") for check in problems(store))
        assert "vector checksums" not in problems(store)


def test_a_text_that_is_no_text_any_more_hides_nothing_else(path: Path) -> None:
    execute(
        path,
        "UPDATE memories SET content = CAST(x'ff' || substr(CAST(content AS BLOB), 2) AS TEXT)"
        " WHERE row = 3",
        "UPDATE memories SET content = 'other' WHERE row = 9",
    )
    names = {str(row[0]) for row in execute(path, "SELECT id FROM memories WHERE row IN (3, 9)")}
    with closing(open_store(path)) as store:
        assert {f"checksum of memory {name}" for name in names} <= set(problems(store))
        store.repair()
        assert len(problems(store)) == 1


def test_ordinary_changes_keep_a_record_whole(path: Path) -> None:
    with closing(open_store(path)) as store:
        ids = [memory.id for memory in store.iterate(EVERYTHING)]
        store.apply([Rescore(one, 0.1, 0.9) for one in ids])
        store.apply([Mark(one, "stale", START) for one in ids])
        store.apply([Mark(one, "archived", START) for one in ids])
        store.record_access(ids, at=START)
        store.merge_projects("example", into="renamed")
        assert store.check(deep=True) == []
        assert store.generated_skills(project="renamed")


# -- Files of an older version ---------------------------------------------------------------------


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file as version 12 left it, with 1,200 memories."""
    path = tmp_path / "older.db"
    database = Database(path, busy_timeout_ms=1_000)
    migrate(database, clock=lambda: START, steps=STEPS[:12])
    database.close()
    samples = Samples()
    newer = tmp_path / "newer.db"
    with closing(open_store(newer)) as store:
        store.apply([samples.insert(f"fact {number}") for number in range(1_200)])
        store.put_value("space", "key", 5)
    with closing(sqlite3.connect(path)) as db:
        db.execute("ATTACH ? AS newer", (str(newer),))
        columns = [row[1] for row in db.execute("PRAGMA table_info(memories)")]
        listed = ", ".join(columns)
        db.execute(f"INSERT INTO memories ({listed}) SELECT {listed} FROM newer.memories")
        db.execute(
            "INSERT INTO shelf (space, key, value) SELECT space, key, value FROM newer.key_values"
        )
        for index in ("words", "fragments"):
            db.execute(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")
        db.commit()
    return path


def test_an_older_file_gets_its_checksums_in_bounded_steps(older: Path) -> None:
    with closing(open_store(older)) as store:
        assert [f.check for f in store.check(deep=True)] == ["missing checksums"]
        missing = [1_201]
        while store.continue_upgrade():
            ((left,),) = execute(
                older,
                "SELECT (SELECT count(*) FROM memories WHERE checksum IS NULL)"
                " + (SELECT count(*) FROM key_values WHERE checksum IS NULL)",
            )
            assert isinstance(left, int)
            missing.append(left)
        assert all(a - b <= 500 for a, b in pairwise(missing))
        assert missing[-1] == 0
        assert not store.continue_upgrade()
        assert store.check(deep=True) == []


def test_filling_in_goes_on_where_it_was_broken_off(older: Path) -> None:
    with closing(open_store(older)):
        pass
    database = Database(older, busy_timeout_ms=1_000)
    with database.writing() as db:
        assert backfill(db, limit=300)
    database.close()
    with closing(open_store(older)) as store:
        store.apply([Samples(seed=9).insert("a new one")])
        while store.continue_upgrade():
            pass
        assert store.check(deep=True) == []


def test_a_repair_makes_all_that_are_missing(older: Path) -> None:
    with closing(open_store(older)) as store:
        assert [f.check for f in store.repair()] == ["missing checksums"]
        assert not store.continue_upgrade()
        assert store.check(deep=True) == []


def test_filling_in_does_not_look_like_a_change_of_the_memories(older: Path) -> None:
    with closing(open_store(older)) as store:
        before = execute(older, "SELECT max(number) FROM changed_rows")
        while store.continue_upgrade():
            pass
        assert execute(older, "SELECT max(number) FROM changed_rows") == before


def test_a_change_by_an_older_program_takes_the_checksum_away(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE sessions SET title = 'changed by an older program'")
        db.execute("UPDATE memories SET citation = 'changed' WHERE row = 4")
        db.commit()
    with closing(open_store(path)) as store:
        (found,) = store.check(deep=True)
        assert (found.check, found.count) == ("missing checksums", 4)


def test_a_new_file_has_nothing_to_fill_in(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "new.db")) as store:
        assert not store.continue_upgrade()
    assert migrations.STEPS[-1].number >= 13
