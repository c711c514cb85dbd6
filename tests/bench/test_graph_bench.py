"""The benchmarks of the code graph on trees that hold nothing to measure."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import graph, imports
from tests.codegraph.trees import write

pytestmark = pytest.mark.feature("E2")


@pytest.mark.parametrize("run", [graph.main, imports.main])
@pytest.mark.parametrize("folder", ["empty", "missing"])
def test_a_tree_without_source_gets_a_clear_word(run: object, folder: str, tmp_path: Path) -> None:
    assert callable(run)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match=rf"{folder} holds no source file"):
        run(["--repo", str(tmp_path / folder), "--json"])


def test_a_tree_without_python_has_its_updates_measured_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "repo", {"a.go": "package a\n\nfunc F() {}\n"})
    assert graph.main(["--repo", str(tmp_path / "repo"), "--workers", "1", "--json"]) == 0
    assert '"update_names": {"count": 1' in capsys.readouterr().out
