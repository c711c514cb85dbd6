"""Power cuts at every moment of what is done to a home: a short run of the benchmark `faults`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.disk_trace import is_available
from bench.faults import MUTANTS, SCENARIOS, caught, run

pytestmark = [
    pytest.mark.feature("C2"),
    pytest.mark.skipif(not is_available(), reason="what reaches the disk is seen by strace"),
]


@pytest.mark.parametrize("name", SCENARIOS)
def test_whatever_reached_the_disk_what_was_promised_is_there_once(
    name: str, tmp_path: Path
) -> None:
    outcome = run(name, tmp_path, whole=False)
    assert not outcome.wrong
    assert outcome.different > 10


@pytest.mark.parametrize("name", MUTANTS)
def test_a_build_that_is_wrong_in_one_place_is_caught(name: str, tmp_path: Path) -> None:
    assert caught(name, tmp_path, whole=False).wrong
