"""Sessions in SQLite: an older file gets them by migration, and rows stay tied together."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.conformance.fixtures import EVERYTHING
from tests.support.conformance.sessions import session
from tests.support.samples import START, Samples
from wellkept.core.changes import PutSession, SaveReadPosition
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.session.sessions import ReadPosition
from wellkept.store import open_store
from wellkept.store.sqlite.database import Database
from wellkept.store.sqlite.migrations import STEPS, migrate

pytestmark = pytest.mark.feature("C1", "A1")


def test_a_file_from_before_sessions_gets_them_and_keeps_its_memories(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    database = Database(path, busy_timeout_ms=1_000)
    database.use_wal()
    migrate(database, clock=lambda: START, steps=STEPS[:1])
    database.close()
    store = open_store(path)
    store.apply([Samples().insert("kept"), PutSession(session(), ("e1",))])
    store.close()
    assert (tmp_path / "old.db.before-v2").exists()
    again = open_store(path)
    assert [m.content for m in again.iterate(EVERYTHING)] == ["kept"]
    assert again.get_session("session-1") is not None
    assert again.check(deep=True) == []
    again.close()


def test_events_go_with_their_session(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(path)
    store.apply([PutSession(session("a"), ("e1", "e2")), PutSession(session("b"), ("e3",))])
    store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("DELETE FROM sessions WHERE id = 'a'")
        db.commit()
        assert db.execute("SELECT event_id FROM processed_events").fetchall() == [("e3",)]


def test_a_session_without_an_id_or_with_work_that_is_no_json_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.db")
    with pytest.raises(UsageError):
        store.apply([PutSession(session(""))])
    with pytest.raises(UsageError):
        store.apply(
            [
                SaveReadPosition(ReadPosition("a", "h", 1)),
                PutSession(replace(session(), work=float("nan"))),
            ]
        )
    assert store.read_position("a") is None
    store.close()


def test_many_ids_are_looked_up_at_once(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.db")
    ids = [f"event-{n}" for n in range(2_500)]
    store.apply([PutSession(session(), tuple(ids[::2]))])
    assert store.processed_events(ids) == set(ids[::2])
    with pytest.raises(ConflictError):
        store.apply([PutSession(session("other"), ("x", "x"))])
    store.close()
