"""Conformance: vectors, their models, and search by nearness."""

from __future__ import annotations

from array import array

import pytest

from tests.support.conformance.fixtures import EVERYTHING, HERE, ConformanceFixture
from tests.support.samples import START, Samples, make_vector
from wellkept.core.changes import Close, Delete, IndexEntry, Replace
from wellkept.core.errors import UsageError
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter, VectorModelCount
from wellkept.core.records import replace
from wellkept.core.types import MemoryType, Scope

TOLERANCE = 0.005
"""How far an engine's cosine may be off: it may keep vectors in a compact form."""


class VectorConformance(ConformanceFixture):
    """Promises of vector search and of the `VectorStore` port."""

    @pytest.mark.feature("B1")
    def test_the_nearest_come_first_with_their_cosine(self, store: Store, samples: Samples) -> None:
        query = samples.vector()
        changes = [
            samples.insert(f"n{i}", model_id="m", vector=samples.near(query, noise=i / 10))
            for i in range(30)
        ]
        store.apply(changes)
        hits = store.search_vectors(query, model_id="m", where=HERE, limit=4)
        expected = store.similarities(query, model_id="m", ids=[c.memory.id for c in changes])
        best = sorted(expected, key=lambda i: -expected[i])[:4]
        assert [h.id for h in hits] == best
        assert [h.score for h in hits] == pytest.approx([expected[i] for i in best], abs=TOLERANCE)
        assert hits[0].score == pytest.approx(1.0, abs=TOLERANCE)

    @pytest.mark.feature("B4")
    def test_similarities_are_cosines_of_the_given_memories(
        self, store: Store, samples: Samples
    ) -> None:
        right, up = make_vector([1.0, 0.0]), make_vector([0.0, 1.0])
        a = samples.insert("a", model_id="m", vector=right)
        b = samples.insert("b", model_id="m", vector=make_vector([-1.0, 1.0]))
        c = samples.insert("c")
        store.apply([a, b, c])
        ids = [a.memory.id, b.memory.id, c.memory.id, "unknown"]
        assert store.similarities(up, model_id="m", ids=ids) == pytest.approx(
            {a.memory.id: 0.0, b.memory.id: 0.7071}, abs=TOLERANCE
        )
        assert store.similarities(up, model_id="m", ids=[]) == {}

    @pytest.mark.feature("B4")
    def test_models_never_meet(self, store: Store, samples: Samples) -> None:
        vector, small = samples.vector(), samples.vector(8)
        a = samples.insert("a", model_id="large", vector=vector)
        b = samples.insert("b", model_id="small", vector=small)
        c = samples.insert("c", model_id="large", vector=vector)
        store.apply([a, b, c])
        hits = store.search_vectors(small, model_id="small", where=HERE, limit=9)
        assert [h.id for h in hits] == [b.memory.id]
        assert store.search_vectors(vector, model_id="unknown", where=HERE, limit=9) == []
        assert store.vector_models() == [
            VectorModelCount("large", 64, 2),
            VectorModelCount("small", 8, 1),
        ]

    @pytest.mark.feature("B4")
    def test_a_vector_of_another_dimension_is_refused(self, store: Store, samples: Samples) -> None:
        kept = samples.insert("a", model_id="m", vector=samples.vector())
        store.apply([kept])
        short = samples.vector(8)
        with pytest.raises(UsageError):
            store.apply([samples.insert("b", model_id="m", vector=short)])
        with pytest.raises(UsageError):
            store.put_index_entries([(kept.memory.id, IndexEntry("", "m", short))])
        with pytest.raises(UsageError):
            store.search_vectors(short, model_id="m", where=HERE, limit=3)
        with pytest.raises(UsageError):
            store.similarities(short, model_id="m", ids=[kept.memory.id])
        assert store.list(HERE).items == (kept.memory,)

    @pytest.mark.feature("B4")
    @pytest.mark.parametrize(
        "vector",
        [b"", b"abc", array("f", [0.0] * 4).tobytes(), array("f", [float("nan"), 1.0]).tobytes(),
         array("f", [1.0, float("inf")]).tobytes()],
    )  # fmt: skip
    def test_what_is_no_vector_is_refused(
        self, store: Store, samples: Samples, vector: bytes
    ) -> None:
        with pytest.raises(UsageError):
            store.apply([samples.insert("a", model_id="m", vector=vector)])
        with pytest.raises(UsageError):
            store.search_vectors(vector, model_id="m", where=HERE, limit=3)
        with pytest.raises(UsageError):
            store.apply([samples.insert("b", vector=samples.vector())])
        assert store.stats(EVERYTHING).total == 0

    @pytest.mark.feature("B1")
    def test_vectors_of_other_handles_are_seen_at_once(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        for i in range(5):
            vector = samples.vector()
            added = samples.insert(f"n{i}", model_id="m", vector=vector)
            other.apply([added])
            best = store.search_vectors(vector, model_id="m", where=HERE, limit=1)
            assert [h.id for h in best] == [added.memory.id]

    @pytest.mark.feature("B1")
    def test_edits_and_deletions_of_other_handles_are_seen_at_once(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        first, second = samples.vector(), samples.vector()
        memory = samples.insert("n", model_id="m", vector=first)
        store.apply([memory, samples.insert("gone", model_id="m", vector=first)])
        assert len(store.search_vectors(first, model_id="m", where=HERE, limit=9)) == 2
        gone = next(m for m in store.list(HERE).items if m.content == "gone")
        other.apply([Replace(memory.memory, IndexEntry("", "m", second)), Delete(gone.id)])
        (hit,) = store.search_vectors(second, model_id="m", where=HERE, limit=9)
        assert (hit.id, hit.score) == (memory.memory.id, pytest.approx(1.0, abs=TOLERANCE))
        other.apply([Replace(memory.memory, IndexEntry())])
        assert store.search_vectors(second, model_id="m", where=HERE, limit=9) == []

    @pytest.mark.feature("B1")
    def test_a_memory_that_moves_is_found_from_its_new_place_only(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        vector = samples.vector()
        moved = samples.insert("moved", project="old", model_id="m", vector=vector)
        store.apply([moved])
        everywhere = replace(HERE, project="third")

        def found(where: Filter) -> list[str]:
            hits = store.search_vectors(vector, model_id="m", where=where, limit=3)
            return [h.id for h in hits]

        assert found(HERE) == found(everywhere) == []
        other.merge_projects("old", into="example")
        assert (found(HERE), found(everywhere)) == ([moved.memory.id], [])
        (memory,) = store.get([moved.memory.id])
        other.apply([Replace(replace(memory, scope=Scope.USER))])
        assert found(HERE) == found(everywhere) == [moved.memory.id]
        assert found(replace(everywhere, include_user=False)) == []
        other.apply([Replace(replace(memory, project="third"))])
        assert (found(HERE), found(everywhere)) == ([], [moved.memory.id])

    @pytest.mark.feature("B1")
    def test_a_narrow_filter_gets_its_own_nearest(self, store: Store, samples: Samples) -> None:
        query = samples.vector()
        crowd = [
            samples.insert(
                "c", project="crowd", model_id="m", vector=samples.near(query, noise=0.1)
            )
            for _ in range(600)
        ]
        mine = [
            samples.insert(f"m{i}", model_id="m", vector=samples.near(query, noise=3 + i))
            for i in range(3)
        ]
        store.apply([*crowd, *mine])
        hits = store.search_vectors(query, model_id="m", where=HERE, limit=10)
        assert {h.id for h in hits} == {change.memory.id for change in mine}

    @pytest.mark.feature("B4")
    def test_missing_vectors_are_listed_by_id_for_a_reindex(
        self, store: Store, samples: Samples
    ) -> None:
        done = samples.insert("done", model_id="new", vector=samples.vector())
        waiting = [
            samples.insert(f"w{i}", model_id="old", vector=samples.vector(8)) for i in range(5)
        ]
        closed = samples.insert("closed")
        skipped = samples.insert("skipped", type=MemoryType.TIMELINE)
        store.apply([done, *waiting, closed, skipped, Close(closed.memory.id, START)])
        seen: list[str] = []
        after: str | None = None
        while page := store.memories_without_vector(
            model_id="new", skip_types=("timeline",), after=after, limit=2
        ):
            seen += [m.content for m in page]
            after = page[-1].id
        assert seen == [f"w{i}" for i in range(5)]
        assert (
            len(store.memories_without_vector(model_id="x", skip_types=(), after=None, limit=99))
            == 7
        )

    @pytest.mark.feature("B4")
    def test_cards_fill_a_new_model_while_the_old_one_still_serves(
        self, store: Store, samples: Samples
    ) -> None:
        old, new = samples.vector(8), samples.vector()
        memory = samples.insert("a", extra="before", model_id="old", vector=old)
        store.apply([memory])
        full_id = memory.memory.id
        store.put_index_entries(
            [(full_id, IndexEntry("after", "new", new)), ("gone", IndexEntry("x"))]
        )
        assert store.get([full_id]) == [memory.memory]
        assert [h.id for h in store.search_fulltext(["after"], HERE, limit=3)] == [full_id]
        assert store.search_fulltext(["before"], HERE, limit=3) == []
        for model, vector in (("old", old), ("new", new)):
            hits = store.search_vectors(vector, model_id=model, where=HERE, limit=3)
            assert [h.id for h in hits] == [full_id]
        assert store.drop_vectors(model_id="old") == 1
        assert store.drop_vectors(model_id="old") == 0
        assert [share.model_id for share in store.vector_models()] == ["new"]

    @pytest.mark.feature("B4")
    def test_after_dropping_a_model_its_name_may_take_another_dimension(
        self, store: Store, samples: Samples
    ) -> None:
        memory = samples.insert("a", model_id="m", vector=samples.vector(8))
        store.apply([memory])
        store.search_vectors(samples.vector(8), model_id="m", where=HERE, limit=1)
        store.drop_vectors(model_id="m")
        vector = samples.vector()
        store.put_index_entries([(memory.memory.id, IndexEntry("", "m", vector))])
        (hit,) = store.search_vectors(vector, model_id="m", where=HERE, limit=1)
        assert hit.id == memory.memory.id

    @pytest.mark.feature("B4")
    def test_stored_vectors_can_be_read_back(self, store: Store, samples: Samples) -> None:
        vectors = {f"n{i}": samples.vector() for i in range(7)}
        changes = [samples.insert(n, model_id="m", vector=v) for n, v in vectors.items()]
        store.apply([*changes, samples.insert("none")])
        read = dict(store.vectors(model_id="m", where=HERE))
        assert set(read) == {c.memory.id for c in changes}
        for change in changes:
            wanted = array("f", vectors[change.memory.content])
            found = array("f", read[change.memory.id])
            assert sum(x * y for x, y in zip(wanted, found, strict=True)) == pytest.approx(
                1.0, abs=TOLERANCE
            )
        nowhere = replace(HERE, project="nowhere")
        assert list(store.vectors(model_id="m", where=nowhere)) == []
        assert list(store.vectors(model_id="x", where=HERE)) == []
