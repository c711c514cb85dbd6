"""Conformance: sessions, taken events and reading marks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.conformance.fixtures import HERE, ConformanceFixture
from tests.support.samples import START, Samples
from wellkept.core.changes import PutSession, SaveReadPosition
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.ports.store import Store
from wellkept.core.records import replace
from wellkept.core.session.sessions import ReadPosition, SessionRecord


def session(id: str = "session-1", *, minute: int = 0, project: str = "example") -> SessionRecord:
    """A session whose last event was that many minutes after the start."""
    at = START + timedelta(minutes=minute)
    return SessionRecord(id=id, client="cli", project=project, started_at=START, last_event_at=at)


class SessionsConformance(ConformanceFixture):
    """Contract of the `SessionStore` port and of the changes that write it."""

    @pytest.mark.feature("C1")
    def test_a_session_comes_back_as_it_was_written(self, store: Store, other: Store) -> None:
        full = replace(
            session(),
            cwd="/home/dev/a project",
            ended_at=START + timedelta(hours=1),
            end_reason="exit",
            title="Größe – 修复",
            model="some-model",
            branch="main",
            commit_sha="abc1234",
            prompt_count=1,
            turn_count=2,
            tool_count=3,
            error_count=4,
            agent_count=5,
            observation_count=6,
            discovery_tokens=7,
            input_tokens=8,
            cached_tokens=9,
            output_tokens=10,
            summarised_at=START,
            summarised_turn=2,
            work={"open": [1, None, "é"]},
        )
        store.apply([PutSession(full)])
        assert other.get_session("session-1") == replace(full, revision=1)
        assert other.get_session("session-2") is None

    @pytest.mark.feature("C1")
    def test_two_writers_of_a_session_notice_each_other(self, store: Store, other: Store) -> None:
        store.apply([PutSession(session())])
        seen = other.get_session("session-1")
        assert seen is not None
        store.apply([PutSession(replace(seen, title="first"))])
        with pytest.raises(ConflictError):
            other.apply([PutSession(replace(seen, title="second"))])
        with pytest.raises(ConflictError):
            other.apply([PutSession(session())])
        found = store.get_session("session-1")
        assert found is not None
        assert (found.title, found.revision) == ("first", 2)

    @pytest.mark.feature("C2")
    def test_an_event_is_taken_once_together_with_what_was_made_of_it(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        mark = ReadPosition("a.spool", "e1", 120)
        store.apply(
            [samples.insert("kept"), PutSession(session(), ("e1", "e2")), SaveReadPosition(mark)]
        )
        assert other.processed_events(["e1", "e2", "e3"]) == {"e1", "e2"}
        again = other.get_session("session-1")
        assert again is not None
        with pytest.raises(ConflictError):
            other.apply(
                [
                    samples.insert("lost"),
                    SaveReadPosition(replace(mark, offset=240)),
                    PutSession(again, ("e3", "e2")),
                ]
            )
        assert store.processed_events(["e3"]) == set()
        assert store.read_position("a.spool") == mark
        assert [m.content for m in store.list(HERE).items] == ["kept"]
        assert store.get_session("session-1") == again

    @pytest.mark.feature("C1")
    def test_sessions_are_listed_latest_first_inside_the_conditions(self, store: Store) -> None:
        ended = replace(session("bbbb", minute=2), ended_at=START)
        many = [session("aaaa", minute=1), ended, session("cccc", minute=3, project="p2")]
        store.apply([PutSession(s) for s in many])

        def ids(**conditions: object) -> list[str]:
            return [s.id for s in store.sessions(**conditions)]  # pyright: ignore[reportArgumentType]

        assert ids(project=None) == ["cccc", "bbbb", "aaaa"]
        assert ids(project="example") == ["bbbb", "aaaa"]
        assert ids(project=None, open_only=True) == ["cccc", "aaaa"]
        assert ids(project=None, idle_since=START + timedelta(minutes=3)) == ["bbbb", "aaaa"]
        assert ids(project=None, limit=1) == ["cccc"]
        first = store.get_session("aaaa")
        assert first is not None
        store.apply([PutSession(replace(first, summarised_at=first.last_event_at))])
        assert ids(project=None, needs_summary=True) == ["cccc", "bbbb"]
        with pytest.raises(UsageError):
            ids(project=None, limit=-1)

    @pytest.mark.feature("C1")
    def test_a_session_is_found_by_the_beginning_of_its_id(self, store: Store) -> None:
        store.apply([PutSession(session(i)) for i in ("abcd-1", "abcd-2", "abc%", "ab")])
        assert store.resolve_session("abcd") == ["abcd-1", "abcd-2"]
        assert store.resolve_session("abcd-2") == ["abcd-2"]
        assert store.resolve_session("abc%") == ["abc%"]
        assert (store.resolve_session("ab"), store.resolve_session("abc")) == (["ab"], [])

    @pytest.mark.feature("C2")
    def test_marks_are_dropped_only_as_they_were_seen(self, store: Store, other: Store) -> None:
        first, later = ReadPosition("a", "e1", 5), ReadPosition("a", "e1", 9)
        store.apply([SaveReadPosition(first)])
        other.apply([SaveReadPosition(later)])
        store.delete_read_position(first)
        assert store.read_position("a") == later
        store.delete_read_position(later)
        assert other.read_position("a") is None
        with pytest.raises(UsageError):
            store.apply([SaveReadPosition(ReadPosition("a", "e1", -1))])

    @pytest.mark.feature("C2")
    def test_the_record_of_events_goes_with_old_sessions_only(self, store: Store) -> None:
        store.apply([PutSession(session("old"), ("e1", "e2"))])
        store.apply([PutSession(session("new", minute=9), ("e3",))])
        assert store.prune_processed_events(before=START + timedelta(minutes=9)) == 2
        assert store.processed_events(["e1", "e2", "e3"]) == {"e3"}
        assert store.get_session("old") is not None

    @pytest.mark.feature("C1", "A3")
    def test_sessions_move_with_their_project_and_into_a_backup(
        self, store: Store, tmp_path: Path, open_at: Callable[[Path], Store]
    ) -> None:
        store.apply([PutSession(session(project="old"))])
        store.merge_projects("old", into="example")
        store.backup(tmp_path / "copy.db")
        copy = open_at(tmp_path / "copy.db")
        assert [s.project for s in copy.sessions(project="example")] == ["example"]
        copy.close()
