"""Filtered vector search never returns fewer than there are, with and without an HNSW index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.postgres.tenants import open_tenant
from tests.support.samples import Samples
from wellkept.core.changes import Close, Delete, Insert
from wellkept.core.query import Filter, Validity
from wellkept.core.records import replace
from wellkept.core.types import MemoryType, Scope
from wellkept_team.postgres.search import vectors
from wellkept_team.postgres.store import PostgresStore

pytestmark = pytest.mark.feature("T1")
HERE = Filter(project="example")
LARGE = 500
RARE = replace(HERE, authors=("robin",))


@pytest.fixture
def store(postgres_url: str, tmp_path: Path) -> Iterator[PostgresStore]:
    opened = open_tenant(postgres_url, tmp_path, large_project=LARGE)
    yield opened
    opened.close()


def _crowd(samples: Samples) -> list[Insert]:
    """Seven hundred near the query, and a few of every rare kind far from it."""
    near = samples.vector()
    return [
        samples.insert(
            f"n{n}",
            type=MemoryType.GOTCHA if n % 9 == 0 else MemoryType.FACT,
            author="robin" if n % 100 == 0 else None,
            scope=Scope.USER if n % 50 == 7 else Scope.GLOBAL,
            model_id="m",
            vector=samples.near(near, noise=5.0 if n % 100 == 0 else 0.5),
        )
        for n in range(700)
    ]


def _make_indexes(store: PostgresStore) -> None:
    """Those of other tenants of the same database, too: an index is made for a partition."""
    assert store.continue_upgrade()
    while store.continue_upgrade():
        pass


def _plan(store: PostgresStore) -> str | None:
    database = store._database  # pyright: ignore[reportPrivateUsage]
    with database.snapshot() as db:
        model = db.value("SELECT model FROM models WHERE tenant = %(tenant)s")
        indexes = store._vector_indexes  # pyright: ignore[reportPrivateUsage]
        return indexes.partition_of(db, "example", model=model)


@pytest.mark.feature("B1")
def test_a_large_project_is_searched_by_index_and_lacks_nothing(store: PostgresStore) -> None:
    samples = Samples()
    changes = _crowd(samples)
    query = changes[1].index_entry.vector
    assert query is not None
    store.apply(changes)
    filters = (HERE, RARE, replace(HERE, types=(MemoryType.GOTCHA,)), replace(RARE, pinned=True))
    exact = {
        where: store.search_vectors(query, model_id="m", where=where, limit=50) for where in filters
    }
    assert _plan(store) is None
    _make_indexes(store)
    assert _plan(store) is not None
    for where, wanted in exact.items():
        found = store.search_vectors(query, model_id="m", where=where, limit=50)
        assert len(found) == len(wanted)
        shared = {hit.id for hit in found} & {hit.id for hit in wanted}
        assert len(shared) >= 0.9 * len(wanted)
    # A filter that few pass is answered exactly: the scan by index would end before them.
    assert store.search_vectors(query, model_id="m", where=RARE, limit=7) == exact[RARE][:7]
    assert len(exact[RARE]) == 7


@pytest.mark.feature("B1")
def test_rows_written_after_the_index_are_found(store: PostgresStore) -> None:
    samples = Samples()
    store.apply(_crowd(samples))
    _make_indexes(store)
    late = samples.insert("late", model_id="m", vector=samples.vector())
    store.apply([late])
    assert late.index_entry.vector is not None
    (hit,) = store.search_vectors(late.index_entry.vector, model_id="m", where=HERE, limit=1)
    assert hit.id == late.memory.id


@pytest.mark.feature("A1")
def test_a_small_project_beside_a_large_one_is_compared_whole(store: PostgresStore) -> None:
    samples = Samples()
    store.apply(_crowd(samples))
    mine = [
        samples.insert(f"m{n}", project="small", model_id="m", vector=samples.vector())
        for n in range(5)
    ]
    store.apply(mine)
    _make_indexes(store)
    query = samples.vector()
    small = Filter(project="small", include_user=False)
    hits = store.search_vectors(query, model_id="m", where=small, limit=50)
    assert {hit.id for hit in hits} == {change.memory.id for change in mine}


TAGS = ("most", "half", "tenth", "few", "one", "nobody")


def _filter(
    tags: tuple[str, ...], types: tuple[MemoryType, ...], validity: Validity, user: bool
) -> Filter:
    return replace(HERE, tags=tags, types=types, validity=validity, include_user=user)


FILTERS = st.builds(
    _filter,
    st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(tuple),
    st.sampled_from([(), (MemoryType.GOTCHA,), (MemoryType.FACT, MemoryType.GOTCHA)]),
    st.sampled_from([Validity.OPEN, Validity.ANY, Validity.CLOSED]),
    st.booleans(),
)


def _tagged(samples: Samples, number: int, near: bytes) -> Insert:
    shares = (("most", 1), ("half", 2), ("tenth", 10), ("few", 150), ("one", 10_000))
    tags = [tag for tag, each in shares if number % each == each // 2]
    # The rarer, the further from the query: what a scan by nearness would end before.
    noise = 0.3 + 2.0 * ("tenth" in tags) + 6.0 * ("few" in tags)
    return samples.insert(
        f"n{number}",
        tags=tuple(tags),
        type=MemoryType.GOTCHA if number % 7 == 0 else MemoryType.FACT,
        scope=Scope.USER if number % 60 == 5 else Scope.GLOBAL,
        model_id="m",
        vector=samples.near(near, noise=noise),
    )


@pytest.mark.feature("B1")
@pytest.mark.parametrize(
    ("size", "most_scanned"),
    [(60, None), (LARGE - 1, None), (900, None), (900, 1), (900, 60)],
)
def test_no_filter_size_or_limit_of_the_scan_makes_a_search_return_too_few(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, size: int, most_scanned: int | None
) -> None:
    """Compared with every vector: the same number always, the same memories without an index."""
    samples = Samples(seed=size)
    near = samples.vector()
    changes = [_tagged(samples, number, near) for number in range(size)]
    store.apply(changes)
    by_index = size >= LARGE
    if by_index:
        _make_indexes(store)
    # After the index was made: deleted, closed and new rows.
    store.apply([Delete(one.memory.id) for one in changes[3::11]])
    gone = {one.memory.id for one in changes[3::11]}
    closed = [one.memory.id for one in changes[4::13] if one.memory.id not in gone]
    store.apply([Close(one, samples.now) for one in closed])
    store.apply([_tagged(samples, size + number, near) for number in range(20)])
    if most_scanned is not None:
        monkeypatch.setattr(vectors, "_MAX_SCANNED", most_scanned)
        monkeypatch.setattr(vectors, "_MAX_BEAM", 1)

    @settings(max_examples=25, derandomize=True, deadline=None)
    @given(where=FILTERS, limit=st.sampled_from([1, 7, 48, 300, 2_000]), is_near=st.booleans())
    def check(where: Filter, limit: int, is_near: bool) -> None:
        query = near if is_near else samples.vector()
        ids = [one.id for one in store.iterate(where)]
        every = store.similarities(query, model_id="m", ids=ids)
        wanted = sorted(every.values(), reverse=True)[:limit]
        found = store.search_vectors(query, model_id="m", where=where, limit=limit)
        assert len(found) == len(wanted), where
        assert len({hit.id for hit in found}) == len(found)
        assert {hit.id for hit in found} <= set(ids)
        if not by_index:
            assert [hit.score for hit in found] == pytest.approx(wanted, abs=1e-3)

    check()
    if by_index:
        assert _plan(store) is not None
