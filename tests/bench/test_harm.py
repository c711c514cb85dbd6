"""Forty histories in which a careless memory does harm: nothing of it is told, and truths are."""

from __future__ import annotations

import pytest

from bench.harm import HarmCase, play
from bench.harm_cases import CASES

pytestmark = pytest.mark.feature("A12", "B9", "C4", "C9", "D10", "D11")


def _name(case: HarmCase) -> str:
    return f"{case.kind}: {case.name}"


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_no_harm_is_told(case: HarmCase) -> None:
    result = play(case)
    assert not result.is_harmful, result.text
    assert result.is_complete, result.text


def test_the_cases_would_catch_a_memory_that_tells_everything() -> None:
    results = [play(case) for case in CASES[:12]]
    assert sum(result.harms_if_everything for result in results) > 8
