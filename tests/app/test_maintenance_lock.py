"""One maintenance run per store at a time, and a write-ahead log that stays small."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.app.opening import open_in
from tests.support.samples import Samples
from wellkept.api.maintenance import run
from wellkept.core.errors import StoreBusyError
from wellkept.store import open_store
from wellkept.store.sqlite import database

pytestmark = pytest.mark.feature("A6")


def test_a_second_run_does_nothing_while_the_first_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_WAIT_S", 0.01)
    with open_in(tmp_path) as wk, open_in(tmp_path, project="other") as other:
        wk.remember("The parser is slow")
        other.remember("The lexer is fast")
        with run.maintaining(wk.services) as alone:
            assert alone
            for memory in (wk, other):
                assert not memory.maintenance_is_due()
                assert memory.maintain_if_due() is None
            with pytest.raises(StoreBusyError, match="running already"):
                wk.maintain()
            assert wk.maintain(dry_run=True).dry_run
        assert wk.maintenance_is_due()
        assert wk.maintain_if_due() is not None
        assert wk.maintain_if_due() is None
        assert other.maintain_if_due() is not None


@pytest.mark.feature("A2")
def test_maintenance_finishes_what_a_migration_left(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember("The parser is slow")
        with closing(sqlite3.connect(wk.path)) as db:
            db.execute("UPDATE memories SET checksum = NULL")
            db.execute("INSERT INTO unsummed VALUES ('memories', '[]')")
            db.commit()
        wk.maintain(dry_run=True)
        assert "missing checksums" in {f.check for f in wk.doctor(deep=True).findings}
        wk.maintain()
        assert wk.doctor(deep=True).healthy
        assert "missing checksums" not in {f.check for f in wk.doctor(deep=True).findings}


def test_the_lock_goes_with_the_process(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from tests.app.opening import open_in\n"
        "from wellkept.api.maintenance.run import maintaining\n"
        "with open_in(Path(sys.argv[1])) as wk, maintaining(wk.services) as alone:\n"
        "    print(alone, flush=True); sys.stdin.read()\n"
    )
    with open_in(tmp_path) as wk:
        wk.remember("The parser is slow")
        with subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"True\n"
            assert wk.maintain_if_due() is None
            other.kill()
        assert wk.maintain_if_due() is not None


def test_a_log_that_readers_held_open_is_emptied_by_the_next_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_MAX_LOG_BYTES", 1 << 20)
    monkeypatch.setattr(database, "_CHECKPOINT_EVERY_S", 0.0)
    path = tmp_path / "memory.db"
    log = tmp_path / "memory.db-wal"
    samples = Samples()
    with closing(open_store(path)) as store, closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memories").fetchone()
        for _ in range(40):
            store.apply([samples.insert("x" * 60_000)])
        grown = log.stat().st_size
        assert grown > 2 << 20  # the reader keeps it from being reused
        reader.execute("ROLLBACK")
        store.apply([samples.insert("one more")])
        assert log.stat().st_size < grown // 4
        assert len(list(store.projects())) == 1
