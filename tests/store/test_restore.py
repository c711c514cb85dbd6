"""A backup in the place of a database: whole or not at all, with what was there kept beside it."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.conformance.fixtures import EVERYTHING, HERE
from tests.support.samples import START, Samples
from wellkept.core.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreReadOnlyError,
    StoreVersionError,
    UsageError,
)
from wellkept.store import inspect_database, open_store, restore_store, verify_backup
from wellkept.store.sqlite.database import Database
from wellkept.store.sqlite.migrations import STEPS, migrate

pytestmark = pytest.mark.feature("A1")

SCRIPT = Path(__file__).with_name("restore_once.py")
FILLER = " filler" * 500


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup of 300 memories, some megabytes of them."""
    samples = Samples(seed=1, project="example")
    with closing(open_store(tmp_path / "origin" / "store.db")) as origin:
        origin.apply([samples.insert(f"restored {i}{FILLER}") for i in range(300)])
        origin.backup(tmp_path / "backup.db")
    return tmp_path / "backup.db"


@pytest.fixture
def present(path: Path) -> Path:
    """A database of two memories that nobody has open."""
    samples = Samples(seed=2)
    with closing(open_store(path)) as store:
        store.apply([samples.insert("present one"), samples.insert("present two")])
    return path


def held(path: Path) -> int:
    with closing(open_store(path)) as store:
        assert store.check(deep=True) == []
        return store.stats(EVERYTHING).total


def kept_beside(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}.before-restore-*"))


def restored_by(
    source: Path, path: Path, fault: str, number: int
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(source), str(path), fault, str(number)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class TestWhatIsThere:
    def test_it_is_replaced_and_kept_beside(self, present: Path, backup: Path) -> None:
        done = restore_store(backup, present, clock=lambda: START)
        kept = present.with_name(f"store.db.before-restore-{START:%Y%m%dT%H%M%SZ}")
        assert done == (kept, True)
        assert (held(present), held(kept)) == (300, 2)

    @pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
    def test_the_copy_is_for_its_owner_alone(self, present: Path, backup: Path) -> None:
        kept = restore_store(backup, present).kept
        assert kept is not None
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600

    def test_two_in_the_same_second_keep_two_copies(self, present: Path, backup: Path) -> None:
        first = restore_store(backup, present, clock=lambda: START).kept
        second = restore_store(backup, present, clock=lambda: START).kept
        assert first is not None
        assert second is not None
        assert first != second
        assert (held(first), held(second)) == (2, 300)

    def test_nothing_there_is_nothing_kept(self, path: Path, backup: Path) -> None:
        assert restore_store(backup, path).kept is None
        assert held(path) == 300

    def test_a_log_of_a_database_that_is_gone_is_not_mixed_in(
        self, present: Path, backup: Path
    ) -> None:
        store = open_store(present)
        store.apply([Samples(seed=5).insert("only in the log")])
        log = present.with_name("store.db-wal")
        aside = log.with_name("aside")
        shutil.copyfile(log, aside)
        store.close()
        present.unlink()
        aside.replace(log)
        restore_store(backup, present)
        assert held(present) == 300

    def test_a_process_that_has_it_open_goes_on_with_what_was_restored(
        self, present: Path, backup: Path
    ) -> None:
        with closing(open_store(present)) as running:
            assert len(running.search_fulltext(["present"], HERE, limit=9)) == 2
            restore_store(backup, present)
            assert running.search_fulltext(["present"], HERE, limit=9) == []
            assert len(running.search_fulltext(["restored"], HERE, limit=9)) == 9
            running.apply([Samples(seed=7).insert("written afterwards")])
            assert running.stats(EVERYTHING).total == 301
        assert held(present) == 301

    def test_what_only_the_log_of_a_running_process_holds_is_kept_too(
        self, present: Path, backup: Path
    ) -> None:
        with closing(open_store(present)) as running:
            running.apply([Samples(seed=7).insert("in the log")])
            kept = restore_store(backup, present).kept
        assert kept is not None
        assert held(kept) == 3

    def test_nobody_writes_between_the_copy_and_the_restored_state(
        self, present: Path, backup: Path
    ) -> None:
        refused: list[StoreBusyError] = []
        with closing(open_store(present, busy_timeout_ms=0)) as running:

            def write_meanwhile(done: int, total: int) -> None:
                if done < total:
                    assert running.stats(EVERYTHING).total == 2
                    with pytest.raises(StoreBusyError) as caught:
                        running.apply([Samples(seed=7).insert("in between")])
                    refused.append(caught.value)

            restore_store(backup, present, progress=write_meanwhile)
        assert refused
        assert held(present) == 300

    def test_one_that_is_being_written_is_waited_for_and_then_left_alone(
        self, present: Path, backup: Path
    ) -> None:
        with closing(sqlite3.connect(present, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusyError, match="locked"):
                restore_store(backup, present, busy_timeout_ms=50)
        assert held(present) == 2
        assert kept_beside(present) == []

    def test_one_of_a_newer_release_makes_way(self, present: Path, backup: Path) -> None:
        with closing(sqlite3.connect(present)) as db, db:
            db.execute("INSERT INTO schema_steps VALUES (999, 'of tomorrow', 0)")
        with pytest.raises(StoreVersionError):
            open_store(present)
        kept = restore_store(backup, present).kept
        assert held(present) == 300
        assert kept is not None
        assert inspect_database(kept).schema == 999

    def test_a_database_of_another_program_is_left_alone(self, path: Path, backup: Path) -> None:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("CREATE TABLE recipes (name)")
        with pytest.raises(UsageError, match="another program"):
            restore_store(backup, path)
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("SELECT name FROM sqlite_schema").fetchall() == [("recipes",)]

    def test_other_page_sizes_are_told_and_fit_where_nothing_is(
        self, present: Path, backup: Path
    ) -> None:
        with closing(sqlite3.connect(backup, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = DELETE")
            db.execute("PRAGMA page_size = 8192")
            db.execute("VACUUM")
        with pytest.raises(StoreError, match="8192"):
            restore_store(backup, present)
        assert held(present) == 2
        present.unlink()
        restore_store(backup, present)
        assert held(present) == 300

    @pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
    def test_one_that_cannot_be_written_is_told(self, present: Path, backup: Path) -> None:
        present.chmod(0o400)
        with pytest.raises(StoreReadOnlyError):
            restore_store(backup, present)


class TestDamage:
    @pytest.mark.parametrize(
        "content", [b"Dear diary, " * 1000, b"SQLite format 3\0" + b"\xff" * 8000]
    )
    def test_a_file_that_cannot_be_opened_is_kept_as_it_is(
        self, path: Path, backup: Path, content: bytes
    ) -> None:
        path.write_bytes(content)
        path.with_name("store.db-wal").write_bytes(b"its log")
        done = restore_store(backup, path)
        assert held(path) == 300
        assert not done.in_place
        assert done.kept is not None
        assert done.kept.read_bytes() == content
        assert done.kept.with_name(done.kept.name + "-wal").read_bytes() == b"its log"
        assert list(path.parent.glob("*.partial")) == []

    def test_a_damaged_page_is_replaced_in_place(self, present: Path, backup: Path) -> None:
        content = bytearray(present.read_bytes())
        content[4096 : 4096 * 12] = b"\xab" * (4096 * 11)
        present.write_bytes(content)
        done = restore_store(backup, present)
        assert held(present) == 300
        assert done.kept is not None
        assert done.kept.read_bytes()[4096 : 4096 * 12] == b"\xab" * (4096 * 11)

    def test_a_truncated_file_is_replaced(self, present: Path, backup: Path) -> None:
        os.truncate(present, present.stat().st_size // 2 + 100)
        restore_store(backup, present)
        assert held(present) == 300
        assert kept_beside(present)


class TestTheBackup:
    def test_it_is_told_by_what_it_holds(self, path: Path, backup: Path) -> None:
        found = verify_backup(backup, path)
        assert (found.memories, found.projects) == (300, (("example", 300),))
        assert found.oldest_at is not None
        assert found.newest_at is not None
        assert found.oldest_at < found.newest_at
        assert found.size_bytes == backup.stat().st_size

    def test_it_is_only_read(self, present: Path, backup: Path) -> None:
        before = backup.read_bytes()
        restore_store(backup, present)
        assert backup.read_bytes() == before
        assert sorted(p.name for p in backup.parent.glob("backup.db*")) == ["backup.db"]

    def test_a_store_in_use_serves_as_one_with_what_its_log_holds(
        self, tmp_path: Path, present: Path
    ) -> None:
        with closing(open_store(tmp_path / "live.db")) as live:
            live.apply([Samples(seed=8).insert("in the log only")])
            restore_store(tmp_path / "live.db", present)
        assert held(present) == 1

    def test_an_older_one_is_migrated(self, tmp_path: Path, present: Path) -> None:
        old = Database(tmp_path / "old.db", busy_timeout_ms=1_000)
        migrate(old, clock=lambda: START, steps=STEPS[:1])
        old.close()
        assert verify_backup(tmp_path / "old.db", present).schema == 1
        restore_store(tmp_path / "old.db", present)
        assert inspect_database(present).schema == STEPS[-1].number
        assert held(present) == 0

    def test_a_newer_one_is_refused(self, present: Path, backup: Path) -> None:
        with closing(sqlite3.connect(backup)) as db, db:
            db.execute("INSERT INTO schema_steps VALUES (999, 'of tomorrow', 0)")
        with pytest.raises(StoreVersionError, match="999"):
            restore_store(backup, present)
        assert held(present) == 2

    def test_a_damaged_one_is_refused(self, present: Path, backup: Path) -> None:
        content = bytearray(backup.read_bytes())
        middle = len(content) // 2 // 4096 * 4096
        content[middle : middle + 4096] = b"\xab" * 4096
        backup.write_bytes(content)
        with pytest.raises(StoreCorruptError, match="is corrupt"):
            verify_backup(backup, present)
        with pytest.raises(StoreCorruptError, match="is corrupt"):
            restore_store(backup, present)
        assert held(present) == 2
        assert kept_beside(present) == []

    def test_what_is_no_backup_is_refused(self, tmp_path: Path, present: Path) -> None:
        (tmp_path / "empty").touch()
        (tmp_path / "text").write_text("Dear diary, " * 1000)
        with closing(sqlite3.connect(tmp_path / "foreign")) as db, db:
            db.execute("CREATE TABLE recipes (name)")
        for name in ("empty", "text", "foreign"):
            with pytest.raises(StoreCorruptError, match=name):
                restore_store(tmp_path / name, present)
            with pytest.raises(StoreCorruptError, match=name) as refused:
                verify_backup(tmp_path / name, present)
            assert refused.value.hint == "Nothing was changed. Choose another backup."
        for name in ("missing", "."):
            with pytest.raises(UsageError, match="no file"):
                restore_store(tmp_path / name, present)
        with pytest.raises(UsageError, match="the database itself"):
            restore_store(present, present)
        assert held(present) == 2
        assert kept_beside(present) == []


@pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX systems")
class TestFaults:
    @pytest.mark.parametrize(("pages_left", "memories"), [(1, 2), (0, 300)])
    def test_a_killed_process_leaves_what_was_there_or_all_of_the_backup(
        self, present: Path, backup: Path, pages_left: int, memories: int
    ) -> None:
        with closing(sqlite3.connect(f"{backup.as_uri()}?immutable=1", uri=True)) as db:
            (total,) = db.execute("PRAGMA page_count").fetchone()
        died = restored_by(backup, present, "kill", total - pages_left)
        assert died.returncode == -signal.SIGKILL
        assert held(present) == memories
        (kept,) = kept_beside(present)
        assert held(kept) == 2
        restore_store(backup, present)
        assert held(present) == 300

    def test_a_killed_process_leaves_an_empty_database_where_none_was(
        self, path: Path, backup: Path
    ) -> None:
        assert restored_by(backup, path, "kill", 1).returncode == -signal.SIGKILL
        assert held(path) == 0

    def test_a_full_disk_leaves_what_was_there(self, present: Path, backup: Path) -> None:
        limit = present.stat().st_size + 200_000
        assert backup.stat().st_size > limit
        assert restored_by(backup, present, "limit", limit).stdout == "full\n"
        assert held(present) == 2

    def test_no_room_for_the_copy_changes_nothing(self, present: Path, backup: Path) -> None:
        limit = present.stat().st_size - 8192
        done = restored_by(backup, present, "limit", limit)
        assert done.stdout == "full\n", done.stderr
        assert held(present) == 2
        assert kept_beside(present) == []
