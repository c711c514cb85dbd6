"""Whether named hubs are hubs is judged by Python's own imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import hubs
from tests.codegraph.trees import NAME, built

pytestmark = pytest.mark.feature("E3")


def test_the_reach_of_a_file_counts_imports_through_others() -> None:
    chain = {("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")}
    assert hubs.reach(chain) == {"b": 1, "c": 2, "d": 3, "e": 3}
    assert hubs.reach({("a", "b"), ("b", "a")}) == {"a": 1, "b": 1}
    assert hubs.reach(set()) == {}


def test_the_impact_names_the_hubs_and_the_length_of_files_does_not(tmp_path: Path) -> None:
    files = {f"hub{i}.py": "" if i < 2 else f"import hub{i - 1}\n" for i in range(hubs.HUBS)}
    files |= {
        f"leaf{i}.py": f"import hub{i % hubs.HUBS}\n" + "x = 1\n" * 50 for i in range(2 * hubs.HUBS)
    }
    found = hubs.verdict(built(tmp_path, files), NAME, tmp_path / "tree")
    assert found is not None
    assert found["impact"] == 100
    assert found["lines"] == 0
    assert found["files"] == 3 * hubs.HUBS


def test_a_tree_without_enough_python_has_no_verdict(tmp_path: Path) -> None:
    assert hubs.verdict(built(tmp_path, {"a.py": "x = 1\n"}), NAME, tmp_path) is None
