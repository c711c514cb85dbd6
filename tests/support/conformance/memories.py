"""Conformance: the canonical rows."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.conformance.fixtures import EVERYTHING, HERE, ConformanceFixture
from tests.support.samples import START, Samples
from wellkept.core import payloads
from wellkept.core.changes import Close, Delete, IndexEntry, Insert, Mark, Replace, Rescore
from wellkept.core.errors import ConflictError, NotFoundError, StoreError, UsageError
from wellkept.core.memory import Evidence, Memory, Relation, WorkUnitRef
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter, Order, Validity
from wellkept.core.records import fields, replace
from wellkept.core.types import EvidenceKind, MemoryType, RelationType, Scope, Source

HOUR = timedelta(hours=1)


def full_memory(samples: Samples) -> Memory:
    """A memory with every field set to something that is not its default."""
    return samples.memory(
        "Deploys go through staging 🚢\nthen production",
        type=MemoryType.DECISION,
        key="deploy.path",
        tags=("ops", "release"),
        files=("deploy/run.sh", "日本語.py"),
        modules=("deploy",),
        importance=0.9,
        confidence=0.25,
        scope=Scope.MODULE,
        source=Source.USER_TAUGHT,
        author="robin",
        session_id="s-1",
        seq=7,
        provenance_sessions=("s-0", "s-1"),
        commit_sha="abc123",
        work_unit=WorkUnitRef("native", ("spec", "3"), "spec 3"),
        relations=(
            Relation(RelationType.VALIDATES, target_id=samples.memory().id, confidence=0.5),
            Relation(RelationType.REQUIRED_WITH, target_file="a.py", auto_extracted=True),
        ),
        evidence=(
            Evidence(EvidenceKind.PERSON, "robin", note="said so", at=START),
            Evidence(EvidenceKind.COMMIT, "abc123"),
        ),
        graph_node="module:deploy",
        half_life_days=30.5,
        needs_review=True,
        user_verified=True,
        pinned=True,
        citation="robin, in January",
        work_tokens=1200,
        payload=payloads.Decision(rationale="it broke once", alternatives=("none",)),
        valid_from=START - HOUR,
        valid_to=START + HOUR,
        superseded_by=samples.memory().id,
        stale_at=START + HOUR,
        archived_at=START + 2 * HOUR,
        access_count=3,
    )


class MemoryConformance(ConformanceFixture):
    """Contract of the `MemoryStore` port."""

    @pytest.mark.feature("A1")
    def test_a_memory_comes_back_exactly_as_it_was_given(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        memory = full_memory(samples)
        store.apply([Insert(memory, IndexEntry())])
        assert store.get([memory.id]) == [memory]
        assert other.get([memory.id]) == [memory]

    @pytest.mark.feature("A1")
    def test_the_full_memory_of_this_suite_leaves_no_field_at_its_default(
        self, samples: Samples
    ) -> None:
        memory, plain = full_memory(samples), samples.memory()
        same = [f.name for f in fields(Memory) if getattr(memory, f.name) == getattr(plain, f.name)]
        assert same == ["project"]

    @pytest.mark.feature("A1")
    @pytest.mark.parametrize(
        "content",
        ["", " ", "x" * 1_048_576, "'; DROP TABLE memories; --", "\U0001f600e\u0301"],
    )
    def test_any_clean_text_survives(self, store: Store, samples: Samples, content: str) -> None:
        label = content[:512]
        memory = samples.memory(content, key=label or None, tags=(label,), author=label)
        store.apply([Insert(memory, IndexEntry(extra=content))])
        assert store.get([memory.id]) == [memory]
        assert store.list(replace(HERE, tags=(label,), authors=(label,))).total == 1

    @pytest.mark.feature("A1")
    @pytest.mark.parametrize("field", ["content", "key", "author", "session_id", "tags"])
    @pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
    def test_text_that_is_not_clean_is_refused_or_survives_but_is_never_changed(
        self, store: Store, samples: Samples, field: str, text: str
    ) -> None:
        changed = {field: (text,) if field == "tags" else text}
        memory = replace(samples.memory("x"), **changed)  # pyright: ignore[reportArgumentType]
        try:
            store.apply([Insert(memory, IndexEntry())])
        except UsageError:
            assert store.stats(EVERYTHING).total == 0
        else:
            assert store.get([memory.id]) == [memory]

    @pytest.mark.feature("A1")
    def test_moments_keep_their_milliseconds_and_may_lie_far_away(
        self, store: Store, samples: Samples
    ) -> None:
        far = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, 1, 2, 3, 4000, tzinfo=UTC)
        memory = samples.memory(valid_from=far[0], accessed_at=far[1])
        store.apply([Insert(memory, IndexEntry())])
        assert store.get([memory.id]) == [memory]

    @pytest.mark.feature("A3")
    def test_get_keeps_the_order_asked_for_and_leaves_out_the_unknown(
        self, store: Store, samples: Samples
    ) -> None:
        added = [samples.insert(f"n{i}") for i in range(5)]
        store.apply(added)
        ids = [change.memory.id for change in reversed(added)]
        asked = [ids[0], samples.memory().id, *ids[1:], "not an id"]
        assert [m.id for m in store.get(asked)] == ids
        assert store.get([]) == []

    @pytest.mark.feature("A3")
    def test_contents_can_be_read_alone(self, store: Store, samples: Samples) -> None:
        one, two = samples.insert("one"), samples.insert("two \U0001f40d\n")
        store.apply([one, two])
        asked = [two.memory.id, samples.memory().id, one.memory.id, "not an id"]
        assert store.contents(asked) == {
            one.memory.id: "one",
            two.memory.id: "two \U0001f40d\n",
        }
        assert store.contents([]) == {}

    @pytest.mark.feature("A3")
    def test_a_batch_is_kept_whole_or_not_at_all(self, store: Store, samples: Samples) -> None:
        good = samples.insert("good", extra="good", model_id="m", vector=samples.vector())
        with pytest.raises(NotFoundError):
            store.apply([good, Delete(samples.memory().id)])
        assert store.get([good.memory.id]) == []
        assert store.search_fulltext(["good"], HERE, limit=5) == []
        assert store.vector_models() == []
        store.apply([good])
        assert store.get([good.memory.id]) == [good.memory]

    @pytest.mark.feature("A3")
    def test_an_id_can_be_used_once(self, store: Store, samples: Samples) -> None:
        change = samples.insert("first")
        store.apply([change])
        with pytest.raises(ConflictError):
            store.apply([change])
        assert store.stats(EVERYTHING).total == 1

    @pytest.mark.feature("A3")
    def test_a_change_to_an_unknown_memory_is_refused(self, store: Store, samples: Samples) -> None:
        unknown = samples.memory()
        changes = (
            Replace(unknown), Close(unknown.id, START), Rescore(unknown.id, importance=0.1),
            Mark(unknown.id, "stale", START), Delete(unknown.id),
        )  # fmt: skip
        for change in changes:
            with pytest.raises(NotFoundError):
                store.apply([change])

    @pytest.mark.feature("A1")
    def test_an_open_key_belongs_to_one_memory_of_a_project(
        self, store: Store, samples: Samples
    ) -> None:
        first = samples.insert("old", key="build")
        second = samples.insert("new", key="build")
        elsewhere = samples.insert("other", key="build", project="elsewhere")
        store.apply([first, elsewhere])
        with pytest.raises(ConflictError):
            store.apply([second])
        assert store.find_key("build", project="example", user_scope=False) == first.memory
        store.apply([Close(first.memory.id, START, second.memory.id), second])
        assert store.find_key("build", project="example", user_scope=False) == second.memory
        assert store.find_key("build", project="nowhere", user_scope=False) is None

    @pytest.mark.feature("A1")
    def test_of_two_who_supersede_what_they_read_the_second_is_refused(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        old, first, second = (samples.insert(text) for text in ("old", "first", "second"))
        store.apply([old])
        read = old.memory.updated_at
        later = read + timedelta(seconds=1)
        with pytest.raises(ConflictError):
            store.apply([Close(old.memory.id, read, first.memory.id, later), first])
        store.apply([Close(old.memory.id, read, first.memory.id, read), first])
        with pytest.raises(ConflictError):
            other.apply([Close(old.memory.id, read, second.memory.id, read), second])
        assert {memory.id for memory in store.iterate(EVERYTHING)} == {
            old.memory.id,
            first.memory.id,
        }

    @pytest.mark.feature("A1")
    def test_keys_about_the_person_are_shared_by_all_projects_and_apart_from_theirs(
        self, store: Store, samples: Samples
    ) -> None:
        person = samples.insert("tabs", key="indent", scope=Scope.USER)
        project = samples.insert("spaces", key="indent")
        store.apply([person, project])
        assert store.find_key("indent", project="any", user_scope=True) == person.memory
        assert store.find_key("indent", project="example", user_scope=False) == project.memory
        with pytest.raises(ConflictError):
            store.apply([samples.insert("x", key="indent", scope=Scope.USER, project="b")])

    @pytest.mark.feature("A3")
    def test_replace_writes_the_whole_memory_again(self, store: Store, samples: Samples) -> None:
        before = samples.insert("before", extra="hint", tags=("old",), files=("old.py",))
        store.apply([before])
        after = replace(full_memory(samples), id=before.memory.id)
        store.apply([Replace(after)])
        assert store.get([after.id]) == [after]
        assert store.list(replace(EVERYTHING, tags=("old",))).total == 0
        assert store.list(replace(EVERYTHING, files=("日本語.py",))).items == (after,)

    @pytest.mark.feature("A3")
    def test_replace_notices_that_another_write_came_first(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        first = samples.memory("one")
        store.apply([Insert(first, IndexEntry())])
        second = replace(first, content="two", updated_at=first.updated_at + HOUR)
        other.apply([Replace(second, expected_updated_at=first.updated_at)])
        third = replace(first, content="three", updated_at=first.updated_at + 2 * HOUR)
        with pytest.raises(ConflictError):
            store.apply([Replace(third, expected_updated_at=first.updated_at)])
        assert store.get([first.id]) == [second]

    @pytest.mark.feature("A1")
    def test_closing_ends_validity_and_names_the_successor(
        self, store: Store, samples: Samples
    ) -> None:
        old, new = samples.insert("old"), samples.insert("new")
        at = samples.now + HOUR
        store.apply([old, new, Close(old.memory.id, at, new.memory.id)])
        (closed,) = store.get([old.memory.id])
        assert (closed.valid_to, closed.superseded_by, closed.updated_at) == (at, new.memory.id, at)
        assert [m.id for m in store.list(HERE).items] == [new.memory.id]

    @pytest.mark.feature("A5")
    def test_a_rescore_that_expects_another_importance_changes_nothing(
        self, store: Store, samples: Samples
    ) -> None:
        first, second = samples.memory(importance=0.5), samples.memory(importance=0.6)
        store.apply([Insert(one, IndexEntry()) for one in (first, second)])
        with pytest.raises(ConflictError):
            store.apply(
                [
                    Rescore(first.id, importance=0.1, expected_importance=0.5),
                    Rescore(second.id, importance=0.1, expected_importance=0.5),
                ]
            )
        assert [m.importance for m in store.get([first.id, second.id])] == [0.5, 0.6]
        store.apply([Rescore(first.id, importance=0.1, expected_importance=0.5)])
        assert store.get([first.id])[0].importance == 0.1

    @pytest.mark.feature("A5")
    def test_scores_and_marks_change_nothing_else(self, store: Store, samples: Samples) -> None:
        memory = samples.memory()
        store.apply([Insert(memory, IndexEntry()), Rescore(memory.id, importance=0.0)])
        store.apply([Rescore(memory.id, confidence=1.0), Mark(memory.id, "stale", START)])
        store.apply([Mark(memory.id, "archived", START), Rescore(memory.id)])
        marked = replace(memory, importance=0.0, confidence=1.0, stale_at=START, archived_at=START)
        assert store.get([memory.id]) == [marked]
        store.apply([Mark(memory.id, "stale", None), Mark(memory.id, "archived", None)])
        assert store.get([memory.id]) == [replace(marked, stale_at=None, archived_at=None)]

    @pytest.mark.feature("A1")
    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.01, 1.01])
    def test_a_score_outside_its_range_is_refused(
        self, store: Store, samples: Samples, value: float
    ) -> None:
        kept = samples.insert()
        store.apply([kept])
        changes = (
            samples.insert(importance=value), samples.insert(confidence=value),
            Rescore(kept.memory.id, importance=value), Rescore(kept.memory.id, confidence=value),
        )  # fmt: skip
        for change in changes:
            with pytest.raises(UsageError):
                store.apply([change])
        assert store.list(EVERYTHING).items == (kept.memory,)

    @pytest.mark.feature("A3")
    def test_a_deleted_memory_leaves_no_trace(self, store: Store, samples: Samples) -> None:
        vector = samples.vector()
        gone = samples.insert(
            "secret word", key="k", tags=("t",), files=("f.py",), model_id="m", vector=vector
        )
        heir = samples.insert("heir", valid_to=START, superseded_by=gone.memory.id)
        store.apply([gone, heir])
        store.apply([Delete(gone.memory.id)])
        assert store.get([gone.memory.id]) == []
        assert store.search_fulltext(["secret"], EVERYTHING, limit=5) == []
        assert store.search_substrings(["secret"], EVERYTHING, limit=5) == []
        assert store.search_vectors(vector, model_id="m", where=EVERYTHING, limit=5) == []
        assert store.search_links(files=["f.py"], modules=[], where=EVERYTHING, limit=5) == []
        assert store.resolve(gone.memory.short, project=None) == []
        assert store.get([heir.memory.id])[0].superseded_by is None
        assert store.check(deep=True) == []

    @pytest.mark.feature("A1")
    def test_ids_resolve_in_every_form_people_type(self, store: Store, samples: Samples) -> None:
        memories = [samples.memory(f"n{i}") for i in range(30)]
        store.apply([Insert(m, IndexEntry()) for m in memories])
        one = memories[3]
        for text in (one.id, one.id.upper(), one.short, one.short.upper(), f"m:{one.short}"):
            assert store.resolve(text, project="example") == [one.id]
        assert one.id in store.resolve(one.short[:4], project=None)
        assert len(store.resolve(one.id[:6], project=None)) == 10
        for text in ("", "abc", one.short[:3], "zzzzzzzz", "%", "____", "' OR 1"):
            assert store.resolve(text, project=None) == []

    @pytest.mark.feature("A1")
    def test_ids_resolve_inside_the_project_and_the_person(
        self, store: Store, samples: Samples
    ) -> None:
        theirs = samples.memory(project="elsewhere")
        person = samples.memory(project="elsewhere", scope=Scope.USER)
        store.apply([Insert(theirs, IndexEntry()), Insert(person, IndexEntry())])
        assert store.resolve(theirs.short, project="example") == []
        assert store.resolve(theirs.id, project="example") == []
        assert store.resolve(person.short, project="example") == [person.id]

    @pytest.mark.feature("A3")
    @pytest.mark.parametrize("order", list(Order))
    def test_pages_cover_everything_once_while_rows_are_added(
        self, store: Store, samples: Samples, order: Order
    ) -> None:
        same = [samples.memory(f"n{i}", importance=(i % 3) / 2) for i in range(11)]
        moment = {"created_at": START, "updated_at": START, "valid_from": START}
        same += [samples.memory(f"t{i}", accessed_at=START, **moment) for i in range(6)]
        store.apply([Insert(m, IndexEntry()) for m in same])
        seen: list[Memory] = []
        cursor: str | None = None
        while True:
            page = store.list(HERE, order=order, limit=4, cursor=cursor)
            seen += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
            assert page.total >= 17
            store.apply([samples.insert("late", importance=1.0, project="elsewhere")])
        assert seen == list(store.list(HERE, order=order, limit=100).items)
        assert {m.id for m in seen} == {m.id for m in same}

    @pytest.mark.feature("A3")
    def test_each_order_sorts_by_its_own_measure(self, store: Store, samples: Samples) -> None:
        a = samples.memory("a", importance=0.2, valid_from=START + 9 * HOUR)
        b = samples.memory("b", importance=0.9, accessed_at=START + 9 * HOUR)
        c = samples.memory("c", importance=0.4, updated_at=START + 9 * HOUR)
        store.apply([Insert(m, IndexEntry()) for m in (b, c, a)])
        firsts = {
            Order.NEWEST: c, Order.OLDEST: a, Order.UPDATED: c,
            Order.IMPORTANCE: b, Order.ACCESSED: b, Order.EVENT: b, Order.EVENT_LATEST: a,
        }  # fmt: skip
        assert {order: store.list(HERE, order=order).items[0] for order in Order} == firsts

    @pytest.mark.feature("A3")
    def test_a_bad_cursor_or_limit_is_refused(self, store: Store, samples: Samples) -> None:
        store.apply([samples.insert(f"n{i}") for i in range(3)])
        cursor = store.list(HERE, limit=1).next_cursor
        assert cursor is not None
        for bad in ("", "x", "AAAA", cursor[:-3], "é", "\ud800", "W10", "bnVsbA"):
            with pytest.raises(UsageError):
                store.list(HERE, cursor=bad)
        with pytest.raises(UsageError):
            store.list(HERE, order=Order.IMPORTANCE, cursor=cursor)
        for limit in (0, -1):
            with pytest.raises(UsageError):
                store.list(HERE, limit=limit)

    @pytest.mark.feature("A11")
    def test_iterate_goes_through_everything_oldest_first(
        self, store: Store, samples: Samples
    ) -> None:
        memories = [samples.memory(f"n{i}") for i in range(1_203)]
        store.apply([Insert(m, IndexEntry()) for m in reversed(memories)])
        assert list(store.iterate(EVERYTHING)) == memories

    @pytest.mark.feature("A5")
    def test_memories_can_be_changed_while_iterating(self, store: Store, samples: Samples) -> None:
        memories = [samples.memory(f"n{i}") for i in range(1_100)]
        store.apply([Insert(m, IndexEntry()) for m in memories])
        for memory in store.iterate(HERE):
            if memory.content.endswith("7"):
                store.apply([Delete(memory.id)])
        assert store.stats(HERE).total == 990

    @pytest.mark.feature("A3")
    def test_stats_count_what_the_filter_lets_through(self, store: Store, samples: Samples) -> None:
        full = full_memory(samples)
        store.apply([samples.insert(), samples.insert(type=MemoryType.GOTCHA, pinned=True)])
        store.apply([Insert(full, IndexEntry()), samples.insert(project="elsewhere")])
        here = store.stats(replace(EVERYTHING, project="example"))
        assert here.total == 3
        assert here.by_type == {"fact": 1, "gotcha": 1, "decision": 1}
        assert here.by_scope == {"global": 2, "module": 1}
        assert here.by_source == {"agent_explicit": 2, "user_taught": 1}
        counted = (here.closed, here.stale, here.archived, here.needs_review, here.pinned)
        assert counted == (1, 1, 1, 1, 2)
        assert (here.oldest, here.newest) == (full.created_at, START + timedelta(minutes=5))
        empty = store.stats(Filter(project="nowhere"))
        assert (empty.total, empty.by_type, empty.oldest) == (0, {}, None)

    @pytest.mark.feature("A1")
    def test_accesses_are_counted_and_never_go_back_in_time(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        memory = samples.memory()
        store.apply([Insert(memory, IndexEntry())])
        later = memory.accessed_at + HOUR
        store.record_access([memory.id, "unknown"], at=later)
        store.record_access([memory.id], at=later - 2 * HOUR)
        store.flush()
        store.flush()
        expected = replace(memory, access_count=2, accessed_at=later)
        assert other.get([memory.id]) == [expected]
        store.record_access([memory.id], at=later)
        store.apply([Rescore(memory.id, importance=0.1)])
        assert other.get([memory.id])[0].access_count == 3

    @pytest.mark.feature("A1")
    def test_a_closed_store_says_so(self, store: Store, samples: Samples) -> None:
        store.close()
        store.close()
        with pytest.raises(StoreError):
            store.get(["x"])
        with pytest.raises(StoreError):
            store.apply([samples.insert()])

    @pytest.mark.feature("A1")
    def test_what_one_handle_wrote_the_other_finds_and_after_closing_it_is_still_there(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        for i in range(10):
            (store if i % 2 else other).apply([samples.insert(f"word{i}")])
        other.close()
        assert store.stats(HERE).total == 10
        assert all(store.search_fulltext([f"word{i}"], HERE, limit=3) for i in range(10))

    @pytest.mark.feature("B6")
    def test_the_past_can_be_asked_what_it_believed(self, store: Store, samples: Samples) -> None:
        may = samples.memory("may", valid_from=START, valid_to=START + 10 * HOUR)
        june = samples.memory("june", valid_from=START + 10 * HOUR)
        store.apply([Insert(may, IndexEntry()), Insert(june, IndexEntry())])

        def believed(at: datetime) -> list[str]:
            return [m.content for m in store.list(replace(HERE, as_of=at)).items]

        assert believed(START - HOUR) == []
        assert believed(START) == ["may"]
        assert believed(START + 10 * HOUR) == ["june"]
        closed = store.list(replace(HERE, validity=Validity.CLOSED)).items
        assert closed == (may,)
