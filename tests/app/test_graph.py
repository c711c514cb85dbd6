"""The code graph of an open project: always fresh for the file asked about, one build at a time."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import wellkept
from tests.codegraph.trees import write
from wellkept.api import Wellkept
from wellkept.core.errors import NotFoundError, StoreCorruptError, StoreVersionError
from wellkept.core.file_locks import lock, open_lock
from wellkept.core.graph import BuildProgress, BuildStage

pytestmark = pytest.mark.feature("E2")

FILES = {
    "a.py": "from b import f\n\n\ndef go():\n    f()\n",
    "b.py": "def f():\n    pass\n",
    "p/b.py": "def other():\n    pass\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "project", FILES)
    return tmp_path / "project"


@pytest.fixture
def wk(root: Path, tmp_path: Path) -> Iterator[Wellkept]:
    with wellkept.open(tmp_path / "memory.db", cwd=root, project="x", embedder="none") as opened:
        opened.code_graph.build(workers=1)
        yield opened


def test_a_query_sees_the_current_file(wk: Wellkept, root: Path) -> None:
    write(root, {"b.py": "# moved down\n\n\ndef f():\n    pass\n"})
    assert wk.code_graph.node("b.py::f").line == 4
    write(root, {"b.py": "def g():\n    pass\n"})
    with pytest.raises(NotFoundError, match=r"nothing called 'b\.py::f'"):
        wk.code_graph.node("b.py::f")
    assert wk.code_graph.node("b.py::g").line == 1


def test_a_new_file_can_be_queried_before_the_next_build(wk: Wellkept, root: Path) -> None:
    write(root, {"new.py": "from b import f\n\n\ndef fresh():\n    f()\n"})
    assert wk.graph.impact("new.py::fresh").target.line == 4
    assert "new.py" in wk.graph.impact("b.py::f").files


def test_changed_files_are_parsed_before_a_query(wk: Wellkept, root: Path, tmp_path: Path) -> None:
    wk.code_graph.close()
    write(root, {"c.py": "from b import f\n", "a.py": "x = 1\n"})
    (root / "p/b.py").unlink()
    with wellkept.open(tmp_path / "memory.db", cwd=root, project="x", embedder="none") as again:
        assert again.graph.impact("b.py::f").files == ("c.py",)
        assert [f.path for f in again.code_graph.files()] == ["a.py", "b.py", "c.py"]


def test_many_changed_files_are_only_marked_as_stale(
    wk: Wellkept, root: Path, tmp_path: Path
) -> None:
    wk.code_graph.close()
    write(root, {f"m{n}.py": "" for n in range(60)} | {"a.py": "from b import f\n# longer\n"})
    with wellkept.open(tmp_path / "memory.db", cwd=root, project="x", embedder="none") as again:
        found = again.graph.impact("b.py::f")
        assert found.stale_files == ("a.py",)
        assert len(again.code_graph.files()) == 3


def test_a_query_about_an_ignored_file_does_not_add_it(wk: Wellkept, root: Path) -> None:
    write(root, {".gitignore": "out/\n", "out/made.py": "x = 1\n"})
    with pytest.raises(NotFoundError):
        wk.code_graph.node("out/made.py")


def test_a_second_build_waits_and_a_query_does_not(
    wk: Wellkept, root: Path, tmp_path: Path
) -> None:
    write(root, {"b.py": "def f():\n    pass\n\n\ndef g():\n    pass\n"})
    seen: list[BuildStage] = []
    held = open_lock(tmp_path / "locks", wk.code_graph.tree)
    assert lock(held)
    assert wk.code_graph.node("b.py").end_line == 2  # as the graph has it: somebody else is at work

    def tell(at: BuildProgress) -> None:
        seen.append(at.stage)
        if at.stage is BuildStage.WAIT:
            held.close()

    assert wk.code_graph.build(workers=1, progress=tell).reanalysed == 1
    assert seen[0] is BuildStage.WAIT


def test_a_build_that_was_killed_is_finished_by_the_next(tmp_path: Path) -> None:
    root = tmp_path / "project"
    files = {f"m{n}.py": f"from m{n + 1} import f\n\n\ndef f():\n    f()\n" for n in range(250)}
    write(root, files)
    program = (
        "import os, signal, sys\nimport wellkept\nfrom pathlib import Path\n"
        "def tell(at):\n"
        "    if at.stage.value == sys.argv[2] and at.done >= 100:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "with wellkept.open(sys.argv[1], cwd=Path.cwd(), project='x', embedder='none') as wk:\n"
        "    wk.code_graph.build(workers=1, progress=tell)\n"
    )
    store = tmp_path / "memory.db"
    for stage in ("parse", "link"):
        command = [sys.executable, "-c", program, str(store), stage]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        done = subprocess.run(command, cwd=root, env=environment, check=False)
        assert done.returncode == -signal.SIGKILL
    with wellkept.open(store, cwd=root, project="x", embedder="none") as wk:
        assert 0 < wk.code_graph.status().unresolved < 250
        report = wk.graph.build(workers=1)
        assert (report.reanalysed, wk.code_graph.status().unresolved) == (0, 0)
        assert wk.code_graph.status().edges["imports"] == 249 * 2


@pytest.mark.parametrize("content", [b"no database at all" * 500, b"SQLite format 3\0" * 500])
def test_a_damaged_graph_says_how_to_rebuild_it(root: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "memory.graph.db").write_bytes(content)
    with wellkept.open(tmp_path / "memory.db", cwd=root, project="x", embedder="none") as opened:
        with pytest.raises(StoreCorruptError, match="wellkept graph build"):
            opened.code_graph.build(workers=1)
        (tmp_path / "memory.graph.db").unlink()
        assert opened.code_graph.build(workers=1).reanalysed == 3


def test_a_graph_of_a_newer_version_is_left_alone(wk: Wellkept, root: Path, tmp_path: Path) -> None:
    wk.code_graph.close()
    with closing(sqlite3.connect(tmp_path / "memory.graph.db")) as newer, newer:
        newer.execute("INSERT INTO schema_steps VALUES (999, 'from the future', 0)")
    before = (tmp_path / "memory.graph.db").read_bytes()
    with (
        wellkept.open(tmp_path / "memory.db", cwd=root, project="x", embedder="none") as opened,
        pytest.raises(StoreVersionError, match="Delete that file"),
    ):
        opened.code_graph.status()
    assert (tmp_path / "memory.graph.db").read_bytes() == before


@pytest.mark.feature("E3")
def test_facts_about_the_running_application_are_not_crowded_out(wk: Wellkept) -> None:
    for number in range(30):
        wk.remember(f"Rule {number} about the one function f", type="gotcha", files=["b.py"])
    wk.remember(
        "Click `Save`: the element is disabled until f has run.",
        type="e2e_observation",
        files=["b.py"],
    )
    found = wk.graph.impact("b.py::f")
    assert [m.text[:12] for m in found.e2e_observations] == ["Click `Save`"]
    assert len(found.memories) == 20
    assert [m.id for m in wk.graph.impact("a.py").e2e_observations] == []
