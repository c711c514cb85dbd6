"""All near pairs of a set of vectors are found, once each."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.memory.lifecycle.compaction import near_pairs

pytestmark = pytest.mark.feature("A5")

coordinates = st.floats(min_value=-1, max_value=1, width=32)
points = st.lists(st.tuples(coordinates, coordinates, coordinates), max_size=20)


def unit(point: tuple[float, ...]) -> tuple[float, ...]:
    length = math.hypot(*point)
    return tuple(x / length for x in point) if length > 1e-6 else (1.0, 0.0, 0.0)


def named(rows: list[tuple[float, ...]]) -> list[tuple[str, bytes]]:
    return [(str(n), struct.pack("<3f", *row)) for n, row in enumerate(rows)]


@given(points)
def test_the_pairs_are_those_that_comparing_each_with_each_gives(
    drawn: list[tuple[float, float, float]],
) -> None:
    rows = [unit(point) for point in drawn]
    found = {(left, right): cosine for left, right, cosine in near_pairs(named(rows), cut=0.9)}
    for i, left in enumerate(rows):
        for j, right in enumerate(rows[i + 1 :], start=i + 1):
            cosine = dot(left, right)
            if abs(cosine - 0.9) > 1e-5:
                assert ((str(i), str(j)) in found) == (cosine > 0.9)
    assert all(int(left) < int(right) for left, right in found)


def dot(left: tuple[float, ...], right: tuple[float, ...]) -> float:
    return sum(x * y for x, y in zip(left, right, strict=True))


def test_more_vectors_than_a_block_holds_are_compared_across_blocks() -> None:
    angles = [n * 0.0099 for n in range(600)]
    rows = [(math.cos(a), math.sin(a), 0.0) for a in angles]
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))

    pairs = near_pairs(named([*rows, rows[0]]), cut=0.99999, progress=progress)
    assert [(left, right) for left, right, _ in pairs] == [("0", "600")]
    assert seen == [(512, 601), (601, 601)]


def test_a_crowd_keeps_the_nearest_only() -> None:
    rows: list[tuple[float, ...]] = [(1.0, 0.0, 0.0)] * 100
    lefts = [left for left, _, _ in near_pairs(named(rows), cut=0.9)]
    assert lefts.count("0") == 64
    assert lefts.count("98") == 1


def test_an_empty_set_and_a_zero_vector_are_no_error() -> None:
    assert list(near_pairs([], cut=0.5)) == []
    assert list(near_pairs(named([(0.0, 0.0, 0.0)] * 2), cut=0.5)) == []
