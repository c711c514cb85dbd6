"""The blend of a question and a made-up answer."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.memory.recall.hyde_and_rerank import blend, needs_second_pass

pytestmark = pytest.mark.feature("B7")


def packed(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def test_the_answer_counts_for_more_than_the_question() -> None:
    x, y = struct.unpack("<2f", blend(packed(1, 0), packed(0, 1)))
    assert y / x == pytest.approx(0.6 / 0.4)


@given(st.floats(0, 2 * math.pi), st.floats(0, 2 * math.pi))
def test_a_blend_has_unit_length(first: float, second: float) -> None:
    mixed = struct.unpack(
        "<2f",
        blend(packed(math.cos(first), math.sin(first)), packed(math.cos(second), math.sin(second))),
    )
    assert math.hypot(*mixed) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("scores", "thin"),
    [([], True), ([0.9, 0.8], True), ([0.51, 0.6, 0.7], False), ([0.5, 0.5, 0.5, 0.5], True)],
)
def test_fewer_than_three_hits_above_a_half_are_thin(scores: list[float], thin: bool) -> None:
    assert needs_second_pass(scores) is thin
