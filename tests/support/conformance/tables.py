"""Conformance: projects, the shelf, and the upkeep of a whole store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.conformance.fixtures import EVERYTHING, HERE, ConformanceFixture
from tests.support.samples import Samples
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.ports.store import Store
from wellkept.core.query import FileLink
from wellkept.core.types import Scope


class TableConformance(ConformanceFixture):
    """Contract of the `ProjectStore`, `KeyValueStore` and `StoreMaintenance` ports."""

    @pytest.mark.feature("A3")
    def test_merged_projects_share_their_memories_from_then_on(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        store.apply([samples.insert("a", project="old"), samples.insert("b", project="old")])
        store.apply([samples.insert("c"), samples.insert("d", project="third")])
        assert store.canonical_project("old") == "old"
        assert store.merge_projects("old", into="example") == 2
        assert other.canonical_project("old") == "example"
        assert other.projects() == [("example", 3), ("third", 1)]
        assert other.merge_projects("third", into="old") == 1
        assert store.canonical_project("third") == "example"
        assert store.projects() == [("example", 4)]

    @pytest.mark.feature("A3")
    def test_aliases_stay_flat_and_cannot_go_in_circles(self, store: Store) -> None:
        store.merge_projects("a", into="b")
        store.merge_projects("b", into="c")
        assert [store.canonical_project(p) for p in "abcd"] == ["c", "c", "c", "d"]
        for alias, into in (("c", "a"), ("c", "c"), ("", "x"), ("x", "")):
            with pytest.raises(UsageError):
                store.merge_projects(alias, into=into)

    @pytest.mark.feature("A3")
    def test_when_both_projects_hold_a_key_the_newer_memory_stays_open(
        self, store: Store, samples: Samples
    ) -> None:
        later = samples.now + timedelta(days=1)
        old_a = samples.insert("old a", key="a", project="old", updated_at=later)
        new_a = samples.insert("new a", key="a")
        old_b = samples.insert("old b", key="b", project="old")
        new_b = samples.insert("new b", key="b")
        person = samples.insert("person", key="b", project="old", scope=Scope.USER)
        store.apply([old_a, new_a, old_b, new_b, person])
        assert store.merge_projects("old", into="example") == 3
        for key, kept, closed in (("a", old_a, new_a), ("b", new_b, old_b)):
            found = store.find_key(key, project="example", user_scope=False)
            assert found is not None
            assert found.id == kept.memory.id
            (ended,) = store.get([closed.memory.id])
            assert (ended.project, ended.is_open) == ("example", False)
            assert ended.superseded_by == kept.memory.id
        assert store.stats(EVERYTHING).total == 5

    @pytest.mark.feature("A9")
    @pytest.mark.parametrize(
        "value",
        [
            False,
            0,
            -1.5,
            "",
            "text \U0001f600 \" '",
            [],
            {},
            [1, [None, {"k": "v"}]],
            {"a": {"b": []}},
        ],
    )
    def test_small_values_are_kept_at_once(self, store: Store, other: Store, value: Json) -> None:
        store.put_value("space", "key", value)
        assert other.get_value("space", "key") == value
        assert other.values("space") == {"key": value}

    @pytest.mark.feature("A9")
    def test_name_spaces_are_apart_and_none_removes(self, store: Store) -> None:
        store.put_value("a", "k", 1)
        store.put_value("b", "k", 2)
        store.put_value("a", "k", 3)
        store.put_value("a", "'; --", 4)
        assert (store.values("a"), store.values("b")) == ({"'; --": 4, "k": 3}, {"k": 2})
        store.put_value("a", "k", None)
        store.put_value("a", "never", None)
        assert store.get_value("a", "k") is None
        assert store.values("c") == {}

    @pytest.mark.feature("A9")
    def test_a_number_is_counted_up_to_its_limit_and_no_further(
        self, store: Store, other: Store
    ) -> None:
        assert store.try_increment("a", "k", 3, limit=5)
        assert not other.try_increment("a", "k", 3, limit=5)
        assert other.try_increment("a", "k", 2, limit=5)
        assert (store.get_value("a", "k"), store.get_value("b", "k")) == (5, None)
        store.put_value("a", "k", "no number")
        assert store.try_increment("a", "k", 1, limit=5)
        assert other.get_value("a", "k") == 1

    @pytest.mark.feature("A9")
    def test_a_value_that_is_not_json_is_refused(self, store: Store) -> None:
        store.put_value("a", "k", 1)
        with pytest.raises(UsageError):
            store.put_value("a", "k", float("nan"))
        assert store.get_value("a", "k") == 1

    @pytest.mark.feature("B7")
    def test_linked_files_come_heaviest_first_seen_from_the_file_asked_for(
        self, store: Store, other: Store
    ) -> None:
        store.put_file_links(
            "example",
            [FileLink("b", "a", 0.5), FileLink("a", "c", 0.9, 7), FileLink("d", "e", 1.0)],
        )
        store.put_file_links("elsewhere", [FileLink("a", "z", 1.0)])
        found = other.linked_files("example", ["a"], min_weight=0.0, limit=9)
        assert found == [FileLink("a", "c", 0.9, 7), FileLink("a", "b", 0.5)]
        assert other.linked_files("example", ["a"], min_weight=0.6, limit=9) == found[:1]
        assert other.linked_files("example", ["a"], min_weight=0.0, limit=1) == found[:1]
        assert other.linked_files("example", ["b"], min_weight=0.0, limit=9) == [
            FileLink("b", "a", 0.5)
        ]
        assert len(other.linked_files("example", ["a", "b", "c"], min_weight=0.0, limit=9)) == 2
        assert other.linked_files("example", [], min_weight=0.0, limit=9) == []

    @pytest.mark.feature("B7")
    def test_a_link_is_written_again_and_never_to_itself(self, store: Store) -> None:
        store.put_file_links("p", [FileLink("a", "b", 0.5)])
        store.put_file_links("p", [FileLink("b", "a", 0.25, 3)])
        for bad in (FileLink("a", "a", 0.5), FileLink("a", "c", 1.5), FileLink("a", "c", -1.0)):
            with pytest.raises(UsageError):
                store.put_file_links("p", [FileLink("x", "a", 0.5), bad])
        assert store.linked_files("p", ["a"], min_weight=0, limit=9) == [
            FileLink("a", "b", 0.25, 3)
        ]

    @pytest.mark.feature("A11")
    def test_a_backup_holds_everything_and_never_overwrites(
        self, store: Store, samples: Samples, tmp_path: Path, open_at: Callable[[Path], Store]
    ) -> None:
        vector = samples.vector()
        store.apply([samples.insert(f"word{i}", model_id="m", vector=vector) for i in range(50)])
        store.put_value("a", "k", 1)
        store.merge_projects("old", into="example")
        seen: list[tuple[int, int]] = []
        target = tmp_path / "copy.db"
        store.backup(target, progress=lambda done, total: seen.append((done, total)))
        assert seen[-1][0] == seen[-1][1] > 0
        store.apply([samples.insert("later")])
        copy = open_at(target)
        assert list(copy.iterate(EVERYTHING)) == list(store.iterate(EVERYTHING))[:50]
        assert len(copy.search_fulltext(["word7"], HERE, limit=3)) == 1
        assert len(copy.search_vectors(vector, model_id="m", where=HERE, limit=99)) == 50
        assert (copy.get_value("a", "k"), copy.canonical_project("old")) == (1, "example")
        assert copy.check(deep=True) == []
        copy.close()
        with pytest.raises(UsageError):
            store.backup(target)

    @pytest.mark.feature("A1")
    def test_upkeep_of_a_sound_store_changes_nothing(self, store: Store, samples: Samples) -> None:
        store.apply([samples.insert(f"n{i}", tags=("t",), files=("f",)) for i in range(20)])
        before = list(store.iterate(EVERYTHING))
        assert store.check() == store.check(deep=True) == store.repair() == []
        steps: list[tuple[int, int]] = []
        store.repair(progress=lambda done, total: steps.append((done, total)))
        assert steps[-1][0] == steps[-1][1]
        store.compact_storage()
        assert list(store.iterate(EVERYTHING)) == before
        assert store.size_bytes() > 0
        assert {"engine", "version", "schema", "location"} <= set(store.describe())
