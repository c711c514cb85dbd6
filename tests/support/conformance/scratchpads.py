"""Conformance: scratchpads, sightings and explanations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.conformance.fixtures import ConformanceFixture
from tests.support.conformance.sessions import session
from tests.support.samples import START, Samples
from wellkept.core.changes import (
    Delete,
    ForgetSessions,
    PutExplanation,
    PutScratchpad,
    PutSession,
    PutSignals,
)
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.ports.store import Store
from wellkept.core.records import replace
from wellkept.core.session.scratchpad import (
    MAX_SESSIONS_PER_SUBJECT,
    AgentNote,
    Explanation,
    Scratchpad,
    ScratchpadStatus,
    SessionSignal,
    SignalKind,
    TaskScratchpad,
    Validation,
)

_FULL_SHEET = TaskScratchpad(
    name="größe – 修复",
    since=1,
    retries=1,
    changed=9,
    validations=(Validation("passed", "commit", "Add a", 7, 1_000, 2, "abc1234", ("a.py",)),),
    notes=(AgentNote("n1", "text", "gotcha", 2, 5, ("a.py",), by_person=True),),
)


def pad(id: str = "session-1", *, minute: int = 0, project: str = "example") -> Scratchpad:
    """A scratchpad that was last written that many minutes after the start."""
    at = START + timedelta(minutes=minute)
    return Scratchpad(session_id=id, project=project, updated_at=at)


def signal(
    subject: str, id: str = "session-1", *, minute: int = 0, project: str = "example"
) -> SessionSignal:
    """A file that a session used."""
    return SessionSignal(
        project=project,
        kind=SignalKind.FILE_ACCESS,
        subject=subject,
        session_id=id,
        at=START + timedelta(minutes=minute),
        count=2,
        module="src",
        detail={"reads": 1},
    )


def putting(*signals: SessionSignal) -> PutSignals:
    """The change that makes these the files that one session used."""
    first = signals[0]
    kinds = (SignalKind.FILE_ACCESS,)
    return PutSignals(first.project, first.session_id, kinds, signals)


def explanation(memory_id: str, *, minute: int = 0) -> Explanation:
    """Why a memory was promoted."""
    return Explanation(
        memory_id=memory_id,
        project="example",
        rule="co_dependence",
        subject="a.py\nb.py",
        at=START + timedelta(minutes=minute),
        validated_by="pytest",
        sessions=("s1", "s2"),
        signals=("a.py and b.py within 2 steps",),
        score=0.75,
        frequency=0.7,
        recency=1.0,
        novelty=0.5,
        threshold=0.6,
    )


class ScratchpadConformance(ConformanceFixture):
    """Contract of the `ScratchpadStore` port and of the changes that write it."""

    @pytest.mark.feature("D3")
    def test_a_scratchpad_comes_back_as_it_was_written(self, store: Store, other: Store) -> None:
        full = replace(
            pad(),
            state=ScratchpadStatus.FAILED,
            step=9,
            failed_runs=1,
            promoted_count=4,
            tasks=(_FULL_SHEET, TaskScratchpad()),
        )
        store.apply([PutScratchpad(full)])
        assert other.scratchpad("session-1") == replace(full, revision=1)
        assert other.scratchpad("session-2") is None

    @pytest.mark.feature("D3")
    def test_two_writers_of_a_scratchpad_notice_each_other(
        self, store: Store, other: Store
    ) -> None:
        store.apply([PutScratchpad(pad())])
        seen = other.scratchpad("session-1")
        assert seen is not None
        store.apply([PutScratchpad(replace(seen, step=1))])
        for late in (seen, pad()):
            with pytest.raises(ConflictError):
                other.apply([PutSession(session()), PutScratchpad(late)])
        assert store.get_session("session-1") is None
        with pytest.raises(UsageError):
            store.apply([PutScratchpad(replace(pad(), session_id=""))])

    @pytest.mark.feature("D3")
    def test_scratchpads_are_listed_latest_first_and_dropped_by_age(self, store: Store) -> None:
        failed = replace(pad("bbbb", minute=2), state=ScratchpadStatus.FAILED)
        store.apply(
            [
                PutScratchpad(p)
                for p in (pad("aaaa", minute=1), failed, pad("cccc", minute=3, project="p2"))
            ]
        )

        def ids(**conditions: object) -> list[str]:
            found = store.scratchpads(**conditions)  # pyright: ignore[reportArgumentType]
            return [p.session_id for p in found]

        assert ids(project=None) == ["cccc", "bbbb", "aaaa"]
        assert ids(project="example") == ["bbbb", "aaaa"]
        assert ids(project=None, statuses=(ScratchpadStatus.FAILED,)) == ["bbbb"]
        assert ids(project=None, before=START + timedelta(minutes=2)) == ["aaaa"]
        assert ids(project=None, limit=1) == ["cccc"]
        with pytest.raises(UsageError):
            ids(project=None, limit=-1)
        late = START + timedelta(minutes=3)
        assert store.drop_scratchpads(before=late, statuses=(ScratchpadStatus.FAILED,)) == 1
        assert store.drop_scratchpads(before=late) == 1
        assert ids(project=None) == ["cccc"]

    @pytest.mark.feature("D1", "D4")
    def test_a_session_counts_once_for_a_subject_however_often_it_is_put(
        self, store: Store, other: Store
    ) -> None:
        first = (signal("a.py"), signal("it's; --"))
        store.apply([putting(*first)])
        other.apply([putting(*first)])
        found = other.signals(project="example", kinds=(SignalKind.FILE_ACCESS,))
        assert found == [first[0], first[1]]
        store.apply([putting(signal("b.py"))])
        assert [s.subject for s in store.signals(project="example", kinds=())] == ["b.py"]
        assert store.signals(project="example", kinds=(SignalKind.NOTE,)) == []
        with pytest.raises(UsageError):
            store.apply([replace(putting(signal("a.py")), session_id="another")])

    @pytest.mark.feature("D1", "D4")
    def test_sightings_of_the_latest_sessions_stay_in_whatever_order_they_come(
        self, store: Store
    ) -> None:
        numbers = [
            *range(MAX_SESSIONS_PER_SUBJECT, MAX_SESSIONS_PER_SUBJECT + 5),
            *range(MAX_SESSIONS_PER_SUBJECT),
        ]
        for n in numbers:
            store.apply([putting(signal("a.py", f"s{n:03}", minute=n))])
        found = store.signals(project="example", kinds=(), subjects=("a.py",))
        latest = [f"s{n:03}" for n in range(MAX_SESSIONS_PER_SUBJECT + 4, 4, -1)]
        assert [s.session_id for s in found] == latest

    @pytest.mark.feature("D1", "D4")
    def test_sightings_are_asked_for_by_subject_module_session_and_time(self, store: Store) -> None:
        there = replace(signal("x.py", "s2", minute=5), module="lib")
        store.apply([putting(signal("a.py", "s1")), putting(there)])

        def subjects(**conditions: object) -> list[str]:
            found = store.signals(project="example", kinds=(), **conditions)  # pyright: ignore[reportArgumentType]
            return [s.subject for s in found]

        assert subjects() == ["x.py", "a.py"]
        assert subjects(subjects=("a.py", "b.py")) == ["a.py"]
        assert subjects(modules=("lib",)) == ["x.py"]
        assert subjects(sessions=("s1",)) == ["a.py"]
        assert subjects(since=START + timedelta(minutes=5)) == ["x.py"]
        assert subjects(limit=1) == ["x.py"]
        assert store.signals(project="other", kinds=()) == []
        assert store.count_signals(project="example") == {SignalKind.FILE_ACCESS: 2}
        assert store.count_signals(project="other") == {}

    @pytest.mark.feature("D4")
    def test_an_explanation_stays_and_goes_with_its_memory(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        one, two = samples.insert("one"), samples.insert("two")
        store.apply([one, two, PutExplanation(explanation(one.memory.id))])
        later = explanation(two.memory.id, minute=1)
        store.apply([PutExplanation(explanation(two.memory.id)), PutExplanation(later)])
        found = other.explanations([one.memory.id, two.memory.id, "unknown"])
        assert found == {one.memory.id: explanation(one.memory.id), two.memory.id: later}
        latest = other.latest_explanations(project="example")
        assert [why.memory_id for why in latest] == [two.memory.id, one.memory.id]
        store.apply([Delete(one.memory.id)])
        assert other.explanations([one.memory.id]) == {}
        with pytest.raises(NotFoundError):
            store.apply([PutExplanation(explanation(one.memory.id))])

    @pytest.mark.feature("D3", "A3")
    def test_sessions_that_are_forgotten_take_what_was_noticed_in_them_along(
        self, store: Store, other: Store
    ) -> None:
        there = session("session-2", project="there")
        store.apply([PutSession(session(), ("event-1",)), PutSession(there, ("event-2",))])
        store.apply([PutScratchpad(pad()), putting(signal("a.py"))])
        store.apply([PutScratchpad(pad("session-2", project="there"))])
        store.apply([ForgetSessions("example")])
        assert [s.id for s in other.sessions(project=None)] == ["session-2"]
        assert other.processed_events(["event-1", "event-2"]) == {"event-2"}
        assert [p.session_id for p in other.scratchpads(project=None)] == ["session-2"]
        assert other.signals(project="example", kinds=()) == []
        store.apply([PutSession(session(), ("event-1",))])
        assert other.processed_events(["event-1"]) == {"event-1"}

    @pytest.mark.feature("D3", "A3")
    def test_what_was_noticed_moves_with_its_project_and_into_a_backup(
        self, store: Store, tmp_path: Path, open_at: Callable[[Path], Store]
    ) -> None:
        store.apply([PutScratchpad(pad(project="old")), putting(signal("a.py", project="old"))])
        store.merge_projects("old", into="example")
        store.backup(tmp_path / "copy.db")
        copy = open_at(tmp_path / "copy.db")
        assert [p.project for p in copy.scratchpads(project=None)] == ["example"]
        assert len(copy.signals(project="example", kinds=())) == 1
        copy.close()
