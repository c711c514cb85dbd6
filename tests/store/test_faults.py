"""Real faults: each gives a clear error, and nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.conformance.fixtures import EVERYTHING, HERE
from tests.support.samples import Samples
from wellkept.core.changes import IndexEntry, Insert
from wellkept.core.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreReadOnlyError,
    StoreVersionError,
    UsageError,
)
from wellkept.core.memory import Evidence, Memory, Relation, WorkUnitRef
from wellkept.core.ports.store import Store
from wellkept.core.types import EvidenceKind, RelationType
from wellkept.store import open_store

pytestmark = pytest.mark.feature("A1")

ROOT = Path(__file__).parents[2]
NOBODY = 65_534


def start_writer(path: Path, project: str, count: int, *limits: int) -> subprocess.Popen[str]:
    words = (str(path), project, str(count), *map(str, limits))
    command = [sys.executable, "-m", "tests.store.write_rows", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def said_lines(writer: subprocess.Popen[str], count: int) -> list[str]:
    assert writer.stdout is not None
    lines = (writer.stdout.readline().strip() for _ in range(count))
    return [line for line in lines if line]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = open_store(path, busy_timeout_ms=50)
    yield opened
    opened.close()


class TestSeveralAtOnce:
    def test_processes_that_create_and_write_at_once_lose_nothing(self, path: Path) -> None:
        writers = [start_writer(path, f"p{i}", 40) for i in range(3)]
        said = [writer.communicate(timeout=120)[0].split() for writer in writers]
        assert [writer.returncode for writer in writers] == [0, 0, 0]
        store = open_store(path)
        ids = [full_id for lines in said for full_id in lines]
        assert len(ids) == len(store.get(ids)) == store.stats(EVERYTHING).total == 120
        assert store.check(deep=True) == []
        store.close()

    def test_threads_share_one_store(self, store: Store) -> None:
        failures: list[BaseException] = []

        def work(number: int) -> None:
            samples = Samples(seed=number, project=f"t{number}")
            try:
                for i in range(15):
                    vector = samples.vector(8)
                    added = samples.insert(f"word{i}", model_id="m", vector=vector)
                    store.apply([added])
                    where = replace(HERE, project=f"t{number}")
                    assert len(store.search_fulltext([f"word{i}"], where, limit=5)) == 1
                    nearest = store.search_vectors(vector, model_id="m", where=where, limit=1)
                    assert nearest[0].id == added.memory.id
                    store.record_access([added.memory.id], at=samples.now)
            except BaseException as error:
                failures.append(error)
                raise

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        store.flush()
        assert failures == []
        assert store.stats(EVERYTHING).total == 90
        assert {m.access_count for m in store.iterate(EVERYTHING)} == {1}
        assert store.check(deep=True) == []

    def test_a_forked_child_uses_connections_of_its_own(self, store: Store) -> None:
        samples = Samples()
        store.apply([samples.insert("before")])
        child = os.fork()
        if child == 0:
            try:
                store.apply([Samples(seed=1).insert("from the child")])
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        store.apply([samples.insert("after")])
        contents = {m.content for m in store.iterate(EVERYTHING)}
        assert contents == {"before", "from the child", "after"}
        assert store.check(deep=True) == []


class TestSuddenDeath:
    def test_a_killed_writer_leaves_every_acknowledged_row_and_a_sound_file(
        self, path: Path
    ) -> None:
        acknowledged: list[str] = []
        for attempt in range(4):
            writer = start_writer(path, "killed", 0)
            acknowledged += said_lines(writer, 15 + 7 * attempt)
            writer.kill()
            acknowledged += [line for line in writer.communicate()[0].split() if len(line) == 36]
            store = open_store(path)
            assert len(store.get(acknowledged)) == len(acknowledged)
            assert store.check(deep=True) == []
            store.close()
        assert len(acknowledged) > 80

    def test_a_full_disk_refuses_the_write_and_keeps_the_rest(self, path: Path) -> None:
        open_store(path).close()
        writer = start_writer(path, "filling", 5_000, 2_000_000)
        lines = writer.communicate(timeout=120)[0].splitlines()
        assert writer.returncode == 0
        assert lines[-1].startswith("full")
        assert "No disk space left" in lines[-1]
        kept = lines[:-1]
        store = open_store(path)
        assert len(store.get(kept)) == len(kept) == store.stats(EVERYTHING).total > 10
        assert store.check(deep=True) == []
        store.apply([Samples().insert("there is room again")])
        store.close()


class TestLocked:
    @pytest.fixture
    def lock(self, store: Store, path: Path) -> Iterator[sqlite3.Connection]:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        yield other
        other.close()

    def test_a_write_waits_and_then_says_who_is_in_the_way(
        self, store: Store, lock: sqlite3.Connection
    ) -> None:
        with pytest.raises(StoreBusyError, match="locked by another process"):
            store.apply([Samples().insert()])
        lock.execute("ROLLBACK")
        store.apply([Samples().insert()])
        assert store.stats(EVERYTHING).total == 1

    def test_reading_goes_on(self, store: Store, path: Path) -> None:
        added = Samples().insert("alpha")
        store.apply([added])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert len(store.search_fulltext(["alpha"], HERE, limit=3)) == 1
        assert store.get([added.memory.id]) == [added.memory]
        other.close()

    def test_counted_accesses_wait_for_better_times(self, store: Store, path: Path) -> None:
        samples = Samples()
        added = samples.insert("alpha")
        store.apply([added])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        store.record_access([added.memory.id], at=samples.now)
        store.flush()
        with pytest.raises(StoreBusyError):
            store.apply([samples.insert("late")])
        other.close()
        store.flush()
        assert store.get([added.memory.id])[0].access_count == 1


class TestReadOnly:
    @pytest.fixture
    def folder(self) -> Iterator[Path]:
        """A folder that anyone may enter, since pytest's own is closed to others."""
        made = Path(tempfile.mkdtemp(prefix="wellkept-"))
        made.chmod(0o755)
        yield made
        made.chmod(0o755)
        shutil.rmtree(made)

    @pytest.fixture
    def filled(self, folder: Path) -> Path:
        path = folder / "store.db"
        store = open_store(path)
        samples = Samples()
        store.apply([samples.insert("alpha", model_id="m", vector=samples.vector())])
        store.search_vectors(samples.vector(), model_id="m", where=HERE, limit=1)
        store.close()
        return path

    @pytest.fixture
    def powerless(self) -> Iterator[None]:
        """Permissions do not bind root, so root becomes nobody for the test."""
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)

    def check_reading_only(self, store: Store) -> None:
        (memory,) = store.list(HERE).items
        assert [h.id for h in store.search_fulltext(["alpha"], HERE, limit=3)] == [memory.id]
        assert [h.id for h in store.search_substrings(["lph", "al"], HERE, limit=3)] == [memory.id]
        vector = Samples(seed=5).vector()
        assert store.search_vectors(vector, model_id="m", where=HERE, limit=1)[0].id == memory.id
        store.record_access([memory.id], at=memory.accessed_at)
        store.flush()
        with pytest.raises(StoreReadOnlyError):
            store.apply([Samples(seed=1).insert()])
        with pytest.raises(StoreReadOnlyError):
            store.put_value("a", "b", 1)
        with pytest.raises(StoreReadOnlyError):
            store.compact_storage()
        assert store.check() == store.check(deep=True) == []
        assert store.describe()["access"] == "read only"
        store.close()

    def test_asked_for_it_reads_and_never_writes(self, filled: Path) -> None:
        before = filled.read_bytes()
        self.check_reading_only(open_store(filled, read_only=True))
        assert filled.read_bytes() == before

    def test_a_file_and_folder_that_cannot_be_written_can_be_read(
        self, filled: Path, powerless: None
    ) -> None:
        self.check_reading_only(open_store(filled))

    def test_a_writable_file_in_a_folder_that_is_not_can_be_read(
        self, filled: Path, powerless: None
    ) -> None:
        os.seteuid(os.getuid())
        filled.chmod(0o666)
        filled.parent.chmod(0o555)
        if os.getuid() == 0:
            os.seteuid(NOBODY)
        self.check_reading_only(open_store(filled))

    def test_a_file_that_another_is_writing_can_be_read_without_permission(
        self, filled: Path
    ) -> None:
        writer = open_store(filled)
        writer.apply([Samples(seed=9).insert("beta")])
        for file in filled.parent.iterdir():
            file.chmod(0o644)
        if os.geteuid() == 0:
            os.seteuid(NOBODY)
        try:
            reader = open_store(filled)
            assert {m.content for m in reader.list(HERE).items} == {"alpha", "beta"}
            reader.close()
        finally:
            if os.getuid() == 0:
                os.seteuid(0)
        writer.close()

    def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(
        self, folder: Path, powerless: None
    ) -> None:
        with pytest.raises(StoreError, match="below"):
            open_store(folder / "below" / "store.db")
        with pytest.raises(StoreError):
            open_store(folder / "new.db")

    def test_nothing_to_read_is_an_error(self, folder: Path) -> None:
        with pytest.raises(StoreError, match="no database"):
            open_store(folder / "missing.db", read_only=True)


class TestAnotherFileInItsPlace:
    """A backup moved over a database in use, or the database removed: nothing goes astray."""

    @pytest.fixture
    def other(self, tmp_path: Path) -> Path:
        made = open_store(tmp_path / "other.db")
        made.apply([Samples(seed=3).insert("of the other file")])
        made.close()
        return tmp_path / "other.db"

    @pytest.mark.parametrize("how", ["replaced", "removed"])
    def test_a_process_that_has_the_former_file_open_says_so_and_writes_nothing(
        self, store: Store, path: Path, other: Path, how: str
    ) -> None:
        added = Samples().insert("alpha")
        store.apply([added])
        store.record_access([added.memory.id], at=added.memory.accessed_at)
        if how == "replaced":
            other.replace(path)
        else:
            path.unlink()
        for use in (
            lambda: store.apply([Samples(seed=1).insert("astray")]),
            lambda: store.get([added.memory.id]),
            lambda: store.search_fulltext(["alpha"], HERE, limit=3),
        ):
            with pytest.raises(StoreError, match="replaced or removed while it was open"):
                use()
        store.close()

    def test_closing_leaves_the_log_of_the_new_file_alone(
        self, store: Store, path: Path, other: Path
    ) -> None:
        store.apply([Samples().insert("alpha")])
        for name in ("store.db-wal", "store.db-shm"):
            path.with_name(name).unlink()
        other.replace(path)
        successor = open_store(path)
        successor.apply([Samples(seed=4).insert("in the log only")])
        store.close()
        assert path.with_name("store.db-wal").exists()
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("SELECT count(*) FROM memories").fetchone() == (2,)
        assert successor.check(deep=True) == []
        successor.close()


class TestDamage:
    def test_a_file_that_is_no_database_is_refused_and_left_alone(self, path: Path) -> None:
        path.write_text("Dear diary, " * 1000)
        with pytest.raises(StoreCorruptError, match="not a Wellkept database"):
            open_store(path)
        assert path.read_text().startswith("Dear diary")

    def test_a_database_of_someone_else_is_refused_and_left_alone(self, path: Path) -> None:
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE bookmarks (url TEXT)")
        other.commit()
        other.close()
        with pytest.raises(StoreCorruptError, match="not one of Wellkept's"):
            open_store(path)
        other = sqlite3.connect(path)
        assert other.execute("SELECT name FROM sqlite_schema").fetchall() == [("bookmarks",)]
        other.close()

    @pytest.mark.parametrize("how", ["cut", "zeroed", "flipped", "header"])
    def test_a_damaged_file_is_told_as_damage_and_never_as_something_else(
        self, path: Path, how: str
    ) -> None:
        samples = Samples()
        store = open_store(path)
        store.apply([samples.insert(f"word{i} " * 50) for i in range(300)])
        store.close()
        path.write_bytes(_damaged(path.read_bytes(), how))
        told = 0
        try:
            store = open_store(path)
        except StoreCorruptError:
            return
        for look in (
            lambda: list(store.iterate(EVERYTHING)),
            lambda: store.search_fulltext(["word7", "word250"], HERE, limit=500),
            lambda: store.search_substrings(["word299"], HERE, limit=500),
        ):
            try:
                look()
            except StoreCorruptError:
                told += 1
        findings = [f for f in store.check(deep=True) if not f.repairable or f.check == "damage"]
        assert findings or told
        store.close()

    def test_a_row_that_cannot_be_read_is_named(self, store: Store, path: Path) -> None:
        added = Samples().insert("alpha")
        store.apply([added])
        raw = sqlite3.connect(path)
        raw.execute("UPDATE memories SET type = 'nonsense'")
        raw.commit()
        raw.close()
        with pytest.raises(StoreCorruptError, match=added.memory.id):
            store.get([added.memory.id])
        assert [f.check for f in store.check(deep=True)] == ["missing checksums", "rows"]

    def test_a_newer_database_is_refused_untouched(self, path: Path) -> None:
        open_store(path).close()
        raw = sqlite3.connect(path)
        raw.execute("INSERT INTO schema_steps VALUES (99, 'from the future', 0)")
        raw.commit()
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        raw.close()
        before = path.read_bytes()
        for read_only in (False, True):
            with pytest.raises(StoreVersionError, match="Upgrade Wellkept"):
                open_store(path, read_only=read_only)
        assert path.read_bytes() == before


def _damaged(content: bytes, how: str) -> bytes:
    middle = len(content) // 2 // 4096 * 4096
    if how == "cut":
        return content[:middle]
    if how == "zeroed":
        return content[:middle] + bytes(40_960) + content[middle + 40_960 :]
    if how == "flipped":
        flipped = bytes(b ^ 0x5A for b in content[8_192 : middle + 8_192])
        return content[:8_192] + flipped + content[middle + 8_192 :]
    return bytes(100) + content[100:]


class TestHostileText:
    TEXT_FIELDS = tuple(
        f.name for f in fields(Memory) if f.type in ("str", "str | None") and f.name != "id"
    )

    @pytest.mark.parametrize("name", TEXT_FIELDS)
    @pytest.mark.parametrize("text", ["'; DROP TABLE memories; --", 'a" OR "b*', "NEAR(x) \\ %_"])
    def test_sql_and_search_syntax_in_any_field_is_only_text(
        self, store: Store, name: str, text: str
    ) -> None:
        memory = replace(Samples().memory("alpha"), **{name: text})  # pyright: ignore[reportArgumentType]
        store.apply([Insert(memory, IndexEntry())])
        assert store.get([memory.id]) == [memory]
        assert store.list(replace(EVERYTHING, project=memory.project)).items == (memory,)
        assert store.check(deep=True) in ([], [f for f in store.check() if f.check == "successors"])

    @pytest.mark.parametrize("name", TEXT_FIELDS)
    def test_text_that_cannot_be_stored_is_refused_whole(self, store: Store, name: str) -> None:
        samples = Samples()
        good = samples.insert("good")
        bad = replace(samples.memory("bad"), **{name: "a\ud800b"})  # pyright: ignore[reportArgumentType]
        with pytest.raises(UsageError, match="cannot be stored"):
            store.apply([good, Insert(bad, IndexEntry())])
        assert store.stats(EVERYTHING).total == 0
        assert store.check(deep=True) == []

    def test_nested_text_that_cannot_be_stored_is_refused_whole(self, store: Store) -> None:
        broken = "\udfff"
        for changes in (
            {"tags": (broken,)},
            {"files": (broken,)},
            {"evidence": (Evidence(EvidenceKind.PERSON, broken),)},
            {"relations": (Relation(RelationType.VALIDATES, target_file=broken),)},
            {"work_unit": WorkUnitRef("native", (broken,), "x")},
        ):
            with pytest.raises(UsageError):
                store.apply([Insert(Samples().memory("x", **changes), IndexEntry())])
        with pytest.raises(UsageError):
            store.apply([Samples().insert("x", extra=broken)])
        with pytest.raises(UsageError):
            store.put_value("a", broken, 1)
        assert store.stats(EVERYTHING).total == 0

    def test_a_nul_is_kept_as_it_is_and_found_but_refused_in_a_label(self, store: Store) -> None:
        memory = Samples().memory("a\0b word", key="a\0b", author="a\0b")
        store.apply([Insert(memory, IndexEntry(extra="a\0b"))])
        assert store.get([memory.id]) == [memory]
        assert store.list(replace(HERE, authors=("a\0b",))).total == 1
        for name in ("tags", "files", "modules"):
            with pytest.raises(UsageError, match="contains a NUL"):
                store.apply([Insert(Samples().memory("x", **{name: ("a\0b",)}), IndexEntry())])
        assert store.find_key("a\0b", project="example", user_scope=False) == memory
        assert store.check(deep=True) == []

    def test_looking_for_what_cannot_be_stored_finds_nothing_or_is_refused(
        self, store: Store
    ) -> None:
        store.apply([Samples().insert("alpha", tags=("t",))])
        broken = "\ud800"
        assert store.list(replace(HERE, tags=(broken,))).total == 0
        assert store.list(replace(HERE, project=broken)).total == 0
        assert store.search_fulltext([broken], HERE, limit=3) == []
        assert store.search_substrings([broken, broken * 4], HERE, limit=3) == []
        assert store.resolve(broken * 8, project=None) == []
        assert store.get([broken]) == []
        assert store.linked_files(broken, [broken], min_weight=0.1, limit=3) == []
        assert store.search_links(files=[broken], modules=[], where=HERE, limit=3) == []
        assert store.get_value(broken, "k") is None
        assert store.get_session(broken) is None
        with pytest.raises(UsageError):
            store.find_key(broken, project="p", user_scope=False)

    def test_a_number_too_large_for_a_column_is_refused(self, store: Store) -> None:
        with pytest.raises(UsageError):
            store.apply([Samples().insert("x", seq=2**70)])

    def test_a_limit_that_no_column_can_hold_is_refused_as_a_limit(self, store: Store) -> None:
        for ask in (
            lambda: store.list(HERE, limit=10**30),
            lambda: store.search_fulltext(["x"], HERE, limit=10**30),
            lambda: store.sessions(project=None, limit=10**30),
            lambda: store.activity(after=0, project=None, limit=10**30),
        ):
            with pytest.raises(UsageError, match=r"limit of 10+ is out of range"):
                ask()


def test_a_clock_that_goes_backwards_does_no_harm(store: Store) -> None:
    samples = Samples()
    made: list[Insert] = []
    for number in range(20):
        samples.now -= timedelta(hours=3 * (number % 4))
        made.append(samples.insert(f"n{number}"))
        store.apply([made[-1]])
    seen: list[str] = []
    cursor = None
    while True:
        page = store.list(HERE, limit=3, cursor=cursor)
        seen += [m.id for m in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(seen) == sorted(change.memory.id for change in made)
    oldest_first = [m.created_at for m in store.iterate(HERE)]
    assert oldest_first == sorted(oldest_first)
