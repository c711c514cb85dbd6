"""Conformance: what is new, in the order of commits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.conformance.fixtures import ConformanceFixture
from tests.support.samples import START, Samples
from wellkept.core.changes import (
    Announce,
    Close,
    Delete,
    IndexEntry,
    Insert,
    Mark,
    PutSession,
    Replace,
    Rescore,
    SaveReadPosition,
)
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.ports.store import Store
from wellkept.core.records import replace
from wellkept.core.session.activity import ACTIVITY_RETENTION, Activity, ActivityKind, ActivityRange
from wellkept.core.session.sessions import ReadPosition, SessionRecord
from wellkept.core.types import MemoryType, Scope

_CARD = IndexEntry()
_SESSION = SessionRecord(
    id="session-1", client="cli", project="example", started_at=START, last_event_at=START
)


def _all(store: Store, *, project: str | None = None) -> list[Activity]:
    return store.activity(after=0, project=project, limit=2 * ACTIVITY_RETENTION)


def _kinds(store: Store) -> list[str]:
    return [news.kind.value for news in _all(store)]


class ActivityConformance(ConformanceFixture):
    """Contract of the `ActivityLog` port."""

    @pytest.mark.feature("C6")
    def test_a_new_store_has_no_news(self, store: Store) -> None:
        assert _all(store) == []
        assert store.activity_range() == ActivityRange(0, 0)

    @pytest.mark.feature("C6")
    def test_every_change_of_a_memory_is_told_once_to_every_handle(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        memory = replace(samples.memory(), session_id="session-1")
        store.apply([Insert(memory, _CARD)])
        changed = replace(memory, tags=("new",))
        store.apply([Replace(changed)])
        store.apply([Mark(memory.id, "stale", START)])
        store.apply([Close(memory.id, START + timedelta(days=1))])
        store.apply([Delete(memory.id)])
        told = _all(other)
        assert [news.kind for news in told] == [
            ActivityKind.MEMORY_STORED,
            ActivityKind.MEMORY_CHANGED,
            ActivityKind.MEMORY_CHANGED,
            ActivityKind.MEMORY_CLOSED,
            ActivityKind.MEMORY_DELETED,
        ]
        assert [news.number for news in told] == [1, 2, 3, 4, 5]
        assert {(n.memory_id, n.session_id, n.project) for n in told} == {
            (memory.id, "session-1", memory.project)
        }

    @pytest.mark.feature("C6")
    def test_fading_and_reading_on_are_no_news(self, store: Store, samples: Samples) -> None:
        memory = samples.memory()
        store.apply([Insert(memory, _CARD)])
        store.apply(
            [Rescore(memory.id, importance=0.1), SaveReadPosition(ReadPosition("file", "head", 1))]
        )
        store.apply([])
        assert _kinds(store) == ["memory_stored"]

    @pytest.mark.feature("C6")
    def test_a_session_begins_before_its_observations_and_ends_after_them(
        self, store: Store, samples: Samples
    ) -> None:
        seen = replace(samples.memory(), type=MemoryType.OBSERVATION)
        ended = replace(_SESSION, ended_at=START)
        store.apply([Insert(seen, _CARD), PutSession(ended)])
        assert _kinds(store) == ["session_started", "observation_stored", "session_ended"]

    @pytest.mark.feature("C6")
    def test_a_session_is_told_when_it_begins_ends_and_goes_on_but_not_in_between(
        self, store: Store
    ) -> None:
        store.apply([PutSession(_SESSION)])
        store.apply([PutSession(replace(_SESSION, revision=1, title="In between"))])
        store.apply([PutSession(replace(_SESSION, revision=2, ended_at=START))])
        store.apply([PutSession(replace(_SESSION, revision=3, ended_at=START))])
        store.apply([PutSession(replace(_SESSION, revision=4))])
        assert _kinds(store) == ["session_started", "session_ended", "session_started"]
        assert {news.session_id for news in _all(store)} == {"session-1"}

    @pytest.mark.feature("C6")
    def test_a_project_hears_of_its_own_and_of_the_person(
        self, store: Store, samples: Samples
    ) -> None:
        own = replace(samples.memory(), project="example")
        foreign = replace(samples.memory(), project="elsewhere")
        person = replace(samples.memory(), project="elsewhere", scope=Scope.USER)
        store.apply([Insert(memory, _CARD) for memory in (own, foreign, person)])
        heard = [news.memory_id for news in _all(store, project="example")]
        assert heard == [own.id, person.id]
        assert len(_all(store)) == 3

    @pytest.mark.feature("C6")
    def test_a_write_that_fails_brings_no_news(self, store: Store, samples: Samples) -> None:
        memory = samples.memory()
        store.apply([Insert(memory, _CARD)])
        with pytest.raises(ConflictError):
            store.apply([Insert(samples.memory(), _CARD), Insert(memory, _CARD)])
        assert len(_all(store)) == 1

    @pytest.mark.feature("C6")
    def test_what_is_no_memory_is_told_by_its_name(self, store: Store, other: Store) -> None:
        store.apply([Announce(ActivityKind.SKILLS_DETECTED, "example", "react, typescript")])
        (told,) = _all(other, project="example")
        assert (told.kind, told.subject) == (ActivityKind.SKILLS_DETECTED, "react, typescript")
        assert (told.memory_id, told.session_id, told.everywhere) == (None, None, False)
        assert _all(store, project="elsewhere") == []
        for project, subject in (("", "react"), ("example", "")):
            with pytest.raises(UsageError):
                store.apply([Announce(ActivityKind.SKILL_GENERATED, project, subject)])
        assert len(_all(store)) == 1

    @pytest.mark.feature("A4")
    def test_a_statement_is_refused_when_the_same_was_said_since_its_writer_looked(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        looked = store.activity_range().newest
        other.apply([samples.insert("Deploy on Mondays")])
        again = samples.memory("deploy  on Mondays.")
        with pytest.raises(ConflictError):
            store.apply([Insert(again, _CARD, unless_duplicate_since=looked)])
        assert store.get([again.id]) == []
        store.apply([Insert(again, _CARD, unless_duplicate_since=store.activity_range().newest)])
        assert store.get([again.id]) == [again]

    @pytest.mark.feature("A4")
    def test_what_was_said_elsewhere_or_is_closed_or_differs_refuses_nothing(
        self, store: Store, samples: Samples
    ) -> None:
        words = "Deploy on Mondays"
        closed = samples.insert(words)
        store.apply(
            [
                samples.insert(words, project="elsewhere"),
                samples.insert(words, scope=Scope.USER),
                closed,
                Close(closed.memory.id, closed.memory.valid_from),
                samples.insert("Deploy on Tuesdays"),
            ]
        )
        new = samples.memory(words)
        store.apply([Insert(new, _CARD, unless_duplicate_since=0)])
        assert store.get([new.id]) == [new]

    @pytest.mark.feature("C6")
    def test_news_are_read_on_from_a_number_in_pages(self, store: Store, samples: Samples) -> None:
        store.apply([Insert(samples.memory(), _CARD) for _ in range(5)])
        first = store.activity(after=0, project=None, limit=2)
        rest = store.activity(after=first[-1].number, project=None, limit=9)
        assert [news.number for news in (*first, *rest)] == [1, 2, 3, 4, 5]
        assert store.activity(after=5, project=None, limit=9) == []
        assert store.activity(after=0, project=None, limit=0) == []
        with pytest.raises(UsageError):
            store.activity(after=0, project=None, limit=-1)

    @pytest.mark.feature("C6")
    def test_only_the_latest_are_kept_and_numbers_go_on(
        self, store: Store, samples: Samples
    ) -> None:
        memory = samples.memory()
        store.apply([Insert(memory, _CARD)])
        many = [Mark(memory.id, "stale", None)] * (ACTIVITY_RETENTION + 2)
        store.apply(many)
        assert store.activity_range() == ActivityRange(4, ACTIVITY_RETENTION + 3)
        store.apply([Delete(memory.id)])
        assert store.activity_range() == ActivityRange(5, ACTIVITY_RETENTION + 4)

    @pytest.mark.feature("C6")
    def test_news_move_with_a_merged_project_and_into_a_copy(
        self,
        store: Store,
        samples: Samples,
        open_at: Callable[[Path], Store],
        tmp_path: Path,
    ) -> None:
        store.apply([Insert(replace(samples.memory(), project="old"), _CARD)])
        store.apply([PutSession(replace(_SESSION, project="old"))])
        store.merge_projects("old", into="example")
        assert len(_all(store, project="example")) == 2
        store.backup(tmp_path / "copy.db")
        copy = open_at(tmp_path / "copy.db")
        assert _all(copy) == _all(store)
        copy.close()
