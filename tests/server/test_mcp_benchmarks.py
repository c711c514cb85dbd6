"""The benchmarks of the server count what they say they count."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.mcp_tokens import fill_with_sessions, measured

pytestmark = pytest.mark.feature("B5")


def test_three_layers_cost_a_fraction_of_full_records(tmp_path: Path) -> None:
    spent = measured(
        lambda wk: fill_with_sessions(wk, observations=40), tmp_path, count=5, rows=20, cwd=tmp_path
    )
    layers = sum(spent.tokens[name] for name in ("search", "timeline", "get"))
    assert spent.questions == 5
    assert spent.tokens["three layers"] == layers
    assert (
        0 < spent.tokens["three layers"] < spent.tokens["all texts"] < spent.tokens["all records"]
    )
    against = spent.share("all records", "three layers")
    assert against is not None
    assert against >= 10
