"""Real code is hardly altered, and no hostile text makes the work grow with its square."""

from __future__ import annotations

import pytest

from bench.redaction_limits import altered_lines, hostile_units
from wellkept.text.secrets.redaction import redact

pytestmark = pytest.mark.feature("A10")

UNITS = hostile_units()


def test_real_code_is_hardly_altered() -> None:
    figures = altered_lines(3)
    assert figures["lines"] > 10_000
    assert figures["altered_percent"] < 0.15


@pytest.mark.parametrize("start", range(0, len(UNITS), 300))
def test_no_hostile_text_makes_the_work_grow_with_its_square(start: int) -> None:
    # A part of the units; `bench.redaction_limits` takes all. Work that grew with the square would
    # try each character some hundred times.
    for unit in UNITS[start : start + 300 : 4]:
        text = unit * (64_000 // len(unit))
        assert redact(text).places <= 4 * len(text), unit
