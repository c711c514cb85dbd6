"""Vector search: codes keep a cosine, the index in memory follows the table, cheap when unused."""

from __future__ import annotations

import subprocess
import sys
from array import array
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.conformance.fixtures import EVERYTHING, HERE
from tests.support.samples import Samples, make_vector
from wellkept.core.changes import Delete, Insert
from wellkept.store import open_store
from wellkept.store.quantization import pack, unpack
from wellkept.store.sqlite.search.vector_index import (
    RESCORED,
    Codes,
    Floats,
    VectorIndex,
    VectorSnapshot,
)

pytestmark = pytest.mark.feature("B1", "B4")

DIMENSION = 100


def random_units(count: int, *, seed: int = 0, dimension: int = DIMENSION) -> Floats:
    drawn = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True).astype(np.float32)


def clustered_units(count: int, *, seed: int = 0, dimension: int = DIMENSION) -> Floats:
    """Vectors that lie around a few hundred centres, as those of texts do."""
    chance = np.random.default_rng(seed)
    centres = random_units(300, seed=77, dimension=dimension)
    own = random_units(count, seed=seed, dimension=dimension)
    drawn = centres[chance.integers(0, 300, count)] + 0.8 * own
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def coded(units: Floats) -> tuple[Floats, Codes]:
    packed = [pack(unit.tobytes()) for unit in units]
    scales = np.array([scale for scale, _ in packed], dtype=np.float32)
    numbers = np.frombuffer(b"".join(codes for _, codes in packed), dtype=np.int8)
    return scales, numbers.reshape(len(units), -1)


def filled(units: Floats, *, parts: int = 1, homes: int = 1) -> VectorIndex:
    index = VectorIndex(units.shape[1])
    scales, codes = coded(units)
    for part in np.array_split(np.arange(len(units)), parts):
        names = [f"home{n % homes}" for n in part]
        rows = part.astype(np.int64) + 1
        index.append(rows, scales[part], codes[part], homes=names, last_seq=int(rows[-1]))
    return index


def exact(units: Floats, query: Floats, limit: int) -> set[int]:
    return set(np.argsort(-(units @ query))[:limit].tolist())


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=300).filter(any))
def test_codes_keep_a_cosine_to_half_a_hundredth(numbers: list[float]) -> None:
    vector = make_vector(numbers)
    if not any(array("f", vector)):
        return
    back = array("f", unpack(*pack(vector)))
    cosine = sum(x * y for x, y in zip(array("f", vector), back, strict=True))
    assert cosine == pytest.approx(1.0, abs=0.005)
    assert sum(x * x for x in back) == pytest.approx(1.0, abs=1e-5)


def test_the_error_of_a_cosine_is_small_at_256_dimensions() -> None:
    units, queries = random_units(400, dimension=256), random_units(50, seed=1, dimension=256)
    scales, codes = coded(units)
    errors = (codes.astype(np.float32) * scales[:, None]) @ queries.T - units @ queries.T
    assert float(np.std(errors)) < 0.0008
    assert float(np.max(np.abs(errors))) < 0.005


def test_a_small_set_is_compared_exactly() -> None:
    units, query = random_units(2_000), random_units(1, seed=9)[0]
    index = filled(units)
    positions, cosines = index.snapshot().nearest(query, mask=index.mask_for(()), limit=20)
    assert set(positions.tolist()) == exact(units, query, 20)
    assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)


def test_a_large_set_finds_nearly_all_of_the_nearest() -> None:
    units = clustered_units(30_000)
    index = filled(units)
    snapshot = index.snapshot()
    shared = 0
    for query in clustered_units(20, seed=9):
        positions, _ = snapshot.nearest(query, mask=index.mask_for(()), limit=10)
        shared += len(set(positions.tolist()) & exact(units, query, 10))
    assert shared >= 0.97 * 200


def test_an_index_grown_in_parts_equals_one_made_at_once() -> None:
    units = random_units(500)
    grown, whole = filled(units, parts=7).snapshot(), filled(units).snapshot()
    for left, right in zip(_arrays(grown), _arrays(whole), strict=True):
        assert np.array_equal(left, right)


def _arrays(
    snapshot: VectorSnapshot,
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.generic]], ...]:
    return (
        snapshot.rows,
        snapshot.scales,
        snapshot.codes,
        snapshot.bits,
        snapshot.position_of,
    )


def test_a_view_does_not_change_while_the_index_grows() -> None:
    units = random_units(300)
    index = filled(units[:200])
    snapshot = index.snapshot()
    before = [array.copy() for array in _arrays(snapshot)]
    scales, codes = coded(units[200:])
    rows = np.arange(201, 301)
    index.append(rows, scales, codes, homes=["x"] * 100, last_seq=300)
    assert all(np.array_equal(a, b) for a, b in zip(before, _arrays(snapshot), strict=True))
    assert (len(snapshot.rows), len(index.snapshot().rows), index.last_seq) == (200, 300, 300)


@pytest.mark.parametrize(("homes", "dimension"), [(2, 100), (2, 300), (20, 256)])
def test_homes_narrow_a_search_without_losing_its_best(homes: int, dimension: int) -> None:
    units = clustered_units(24_000, dimension=dimension)
    index = filled(units, homes=homes)
    snapshot, here = index.snapshot(), index.mask_for(("home1", "nowhere"))
    own = np.flatnonzero(here)
    assert own.tolist() == list(range(1, 24_000, homes))
    found = 0
    for query in clustered_units(20, seed=9, dimension=dimension):
        positions, cosines = snapshot.nearest(query, mask=here, limit=10)
        assert set(positions.tolist()) <= set(own.tolist())
        assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)
        best = own[np.argsort(-(units[own] @ query))[:10]]
        found += len(set(positions.tolist()) & set(best.tolist()))
    assert found >= 0.9 * 20 * 10
    assert not index.mask_for(("unknown",)).any()


def test_projects_that_take_turns_row_by_row_are_compared_no_more_often() -> None:
    index = filled(random_units(25_000), homes=2)
    snapshot, query = index.snapshot(), random_units(1, seed=9)[0]
    for home in ("home0", "home1"):
        here = index.mask_for((home,))
        closest = snapshot.closest_by_sign(query, among=None, mask=here, kept=RESCORED)
        assert RESCORED / 2 < len(closest) < 2 * RESCORED


def test_the_opposite_of_every_sign_comes_last() -> None:
    units = clustered_units(12_000)
    units = np.concatenate((units, units, units), axis=1)[:, :256]
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    query = units[7]
    units[11] = -query
    index = filled(units)
    positions, _ = index.snapshot().nearest(query, mask=index.mask_for(()), limit=11_000)
    assert positions[0] == 7
    assert 11 not in positions.tolist()[:10_000]


def test_an_index_worn_by_deletions_still_answers_fully(tmp_path: Path) -> None:
    store, samples = open_store(tmp_path / "store.db"), Samples()
    changes = [samples.insert(f"n{i}", model_id="m", vector=samples.vector(8)) for i in range(900)]
    store.apply(changes)
    query = samples.vector(8)
    assert len(store.search_vectors(query, model_id="m", where=HERE, limit=10)) == 10
    near = store.search_vectors(query, model_id="m", where=HERE, limit=860)
    store.apply([Delete(hit.id) for hit in near])
    for _ in range(2):
        left = store.search_vectors(query, model_id="m", where=HERE, limit=50)
        assert len(left) == 40
    fresh = Insert(samples.memory("late"), samples.insert(model_id="m", vector=query).index_entry)
    store.apply([fresh])
    assert store.search_vectors(query, model_id="m", where=HERE, limit=1)[0].id == fresh.memory.id
    assert len(dict(store.vectors(model_id="m", where=EVERYTHING))) == 41
    store.close()


def test_work_without_vectors_never_loads_numpy(tmp_path: Path) -> None:
    script = f"""
import sys
from wellkept.store import open_store
assert "sqlite3" not in sys.modules
from wellkept.core.query import Filter
store = open_store({str(tmp_path / "store.db")!r})
store.search_fulltext(["alpha"], Filter(project="p"), limit=3)
store.search_substrings(["alpha"], Filter(project="p"), limit=3)
store.check()
store.close()
assert "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_process_without_numpy_finds_the_same_in_a_small_store(
    tmp_path: Path,
) -> None:
    samples, store = Samples(), open_store(tmp_path / "store.db")
    path, query = tmp_path / "store.db", random_units(1, seed=5)[0].tobytes()
    for number, unit in enumerate(clustered_units(60)):
        store.apply([samples.insert(f"note {number}", model_id="m", vector=unit.tobytes())])
    hits = store.search_vectors(query, model_id="m", where=HERE, limit=12)
    store.close()
    script = f"""
import sys
from wellkept.core.query import Filter
from wellkept.store import open_store
store = open_store({str(path)!r})
query = bytes.fromhex({query.hex()!r})
for hit in store.search_vectors(query, model_id="m", where=Filter(project="example"), limit=12):
    print(hit.id, round(hit.score, 4))
assert "numpy" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == [f"{hit.id} {round(hit.score, 4)}" for hit in hits]
