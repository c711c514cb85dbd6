"""Conformance: records that a team shares."""

from __future__ import annotations

import pytest

from tests.support.conformance.fixtures import ConformanceFixture
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.ports.store import Store
from wellkept.core.records import replace
from wellkept.core.team.records import SharedRecord, SharedState


def _record(name: str, state: SharedState = SharedState.TEAM, **fields: object) -> SharedRecord:
    plain = SharedRecord(
        id=name,
        project="example",
        state=state,
        owner="ann",
        statement=f"says {name}",
        waiting=False,
        body='{"text": "naïve 日本 \\u0000"}',
    )
    return replace(plain, **fields)


def _changes(
    store: Store,
    *,
    after: int = 0,
    limit: int = 99,
    seen_by: str | None = None,
    waiting: bool = False,
) -> list[tuple[str, int]]:
    found = store.shared_changes(
        "example", after=after, limit=limit, seen_by=seen_by, waiting=waiting
    )
    return [(one.id, one.seq) for one in found]


class SharedRecordsConformance(ConformanceFixture):
    """Contract of the `SharedRecordStore` port."""

    @pytest.mark.feature("T3")
    def test_every_change_gets_the_next_number_of_its_project(
        self, store: Store, other: Store
    ) -> None:
        assert store.shared_head("example") == 0
        assert store.put_shared_records("example", [_record("a"), _record("b")]) == 2
        assert other.put_shared_records("elsewhere", [_record("a", project="elsewhere")]) == 1
        assert _changes(other) == [("a", 1), ("b", 2)]
        changed = replace(_record("a"), seq=1, state=SharedState.CLOSED, body="{}")
        assert other.put_shared_records("example", [changed]) == 3
        assert _changes(store) == [("b", 2), ("a", 3)]
        assert _changes(store, after=2) == [("a", 3)]
        assert _changes(store, limit=1) == [("b", 2)]
        assert store.shared_records("example", ["b", "?", "a"]) == [
            replace(_record("b"), seq=2),
            replace(changed, seq=3),
        ]
        assert (store.shared_head("example"), store.shared_head("elsewhere")) == (3, 1)
        with pytest.raises(UsageError):
            _changes(store, limit=-1)

    @pytest.mark.feature("T3")
    def test_a_write_over_an_unseen_change_stores_nothing(self, store: Store) -> None:
        store.put_shared_records("example", [_record("a")])
        for stale in (_record("a"), _record("a", seq=7), _record("new", seq=1)):
            with pytest.raises(ConflictError):
                store.put_shared_records("example", [_record("other"), stale])
        assert _changes(store) == [("a", 1)]
        assert store.put_shared_records("example", []) == 1

    @pytest.mark.feature("T3")
    def test_two_who_say_the_same_at_once_do_not_make_two_records(
        self, store: Store, other: Store
    ) -> None:
        first, second = _record("first", statement="x"), _record("second", statement="x")
        store.put_shared_records("example", [first])
        with pytest.raises(ConflictError):
            other.put_shared_records("example", [_record("more"), second])
        assert _changes(store) == [("first", 1)]
        ended = replace(first, seq=1, state=SharedState.CLOSED)
        assert other.put_shared_records("example", [ended, second]) == 3
        assert _changes(store) == [("first", 2), ("second", 3)]

    @pytest.mark.feature("T3")
    def test_proposals_are_seen_by_their_owner_and_by_whoever_decides(self, store: Store) -> None:
        mine = _record("mine", SharedState.PROPOSED, waiting=True)
        hers = _record("hers", SharedState.PROPOSED, owner="bea", waiting=True)
        ours = _record("ours", owner="bea")
        store.put_shared_records("example", [mine, hers, ours])
        assert _changes(store, seen_by="ann") == [("mine", 1), ("ours", 3)]
        assert _changes(store, seen_by="cleo") == [("ours", 3)]
        assert _changes(store, waiting=True) == [("mine", 1), ("hers", 2)]
        assert _changes(store, waiting=True, seen_by="bea") == [("hers", 2)]

    @pytest.mark.feature("T3")
    def test_equal_statements_are_found_while_they_hold(self, store: Store) -> None:
        same = [
            _record("one", statement="x"),
            _record("two", SharedState.PROPOSED, statement="x"),
            _record("old", SharedState.CLOSED, statement="x"),
            _record("gone", SharedState.ERASED, statement="x"),
            _record("else", statement="y"),
        ]
        store.put_shared_records("example", same)
        found = store.shared_statements("example", ["x", "z"])
        assert [one.id for one in found] == ["one", "two"]
        assert store.shared_statements("elsewhere", ["x"]) == []
        assert store.shared_statements("example", []) == []
