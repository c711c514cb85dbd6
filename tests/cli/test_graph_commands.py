"""`wellkept graph` from build to impact."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import wellkept
from tests.codegraph.trees import write

pytestmark = pytest.mark.feature("E3")

FILES = {
    "a.py": "from b import f\n\n\ndef go():\n    f()\n",
    "b.py": "def f():\n    pass\n",
    "tests/test_b.py": "from b import f\n\n\ndef test_f():\n    f()\n",
}


def test_the_graph_is_built_asked_and_kept_fresh(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, FILES)
    with wellkept.open(tmp_path / "memory.db", cwd=root, project="example", embedder="none") as wk:
        assert wk.graph.build(workers=1).reanalysed == 3
        wk.remember("f must stay pure", type="gotcha", files=["b.py"])
        found = wk.graph.impact("b.py")
        assert [m.text for m in found.memories] == ["f must stay pure"]
        assert set(found.files) == {"a.py", "tests/test_b.py"}
        write(root, {"b.py": "def f():\n    pass\n\n\ndef extra():\n    pass\n"})
        assert wk.code_graph.node("b.py").end_line == 6
        wk.graph.note("decision", "pure-core", text="no input or output in b")
        wk.graph.link("b.py", "applies_pattern", "decision:pure-core")
        assert "a.py" in wk.graph.impact("decision:pure-core").files
    assert (tmp_path / "memory.graph.db").exists()


def _run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    store = str(root.parent / "memory.db")
    command = [sys.executable, "-m", "wellkept.cli", "--store", store, "graph", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def test_the_summary_of_a_build_adds_up(tmp_path: Path) -> None:
    root = tmp_path / "project"
    photo, minified = "\x00PNG", "var a=1;"  # one is skipped once it is read, one by its name
    write(root, FILES | {"photo.py": photo, "app.min.js": minified})
    assert "5 files: 3 parsed, 0 unchanged, 2 skipped. 3 relinked; " in _run(root, "build").stdout
    (root / "a.py").unlink()
    write(root, {"b.py": "def f():\n    return 1\n"})
    told = _run(root, "build").stdout
    assert told.startswith("4 files: 1 parsed, 3 unchanged, 0 skipped. ")
    assert ", 1 removed; " in told


def test_the_commands_answer_as_text_and_as_json(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, FILES)
    assert "There is no code graph" in _run(root, "impact", "b.py").stderr
    assert "3 files: 3 parsed" in _run(root, "build").stdout
    assert json.loads(_run(root, "build", "--json").stdout)["unchanged"] == 3
    assert "python 3" in _run(root, "show").stdout
    impact = json.loads(_run(root, "impact", "b.py", "--json").stdout)
    assert set(impact["files"]) == {"a.py", "tests/test_b.py"}
    assert "b.py::f" in _run(root, "deps", "a.py").stdout
    assert "-> b.py::f (calls)" in _run(root, "trace", "a.py::go").stdout
    assert "tests reach 1 of 1 functions" in _run(root, "show", "b.py", "--coverage").stdout
    assert json.loads(_run(root, "show", "b.py", "--json").stdout)["symbols"][0]["name"] == "f"
    assert _run(root, "impact", "nothing.py").returncode != 0


def test_an_impact_names_the_calls_that_were_left_unresolved(tmp_path: Path) -> None:
    root = tmp_path / "project"
    take = "class {}:\n    def take(self):\n        pass\n"
    use = "import pool, box\n\n\ndef use(some):\n    return some.take()\n"
    write(root, {"pool.py": take.format("Pool"), "box.py": take.format("Box"), "use.py": use})
    _run(root, "build")
    told = _run(root, "impact", "Pool.take").stdout
    assert "Unresolved, may be calls of it (1):\n  use.py:5 some.take\n" in told


@pytest.mark.feature("E1")
def test_what_no_parser_reads_is_noted_linked_listed_and_taken_back(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, FILES)
    _run(root, "build")
    assert _run(root, "note", "decision", "pure core", "--text", "no input").returncode == 0
    assert _run(root, "note", "file", "x.py").returncode == 2
    assert _run(root, "note", "decision", "  ").returncode != 0
    done = _run(root, "link", "b.py", "applies_pattern", "decision:pure core", "--json")
    assert json.loads(done.stdout)["links"][0]["kind"] == "applies_pattern"
    assert _run(root, "link", "b.py", "flows_to", "nowhere").returncode == 3
    listed = json.loads(_run(root, "show", "--json").stdout)
    assert [node["signature"] for node in listed["noted"]] == ["no input"]
    assert "b.py applies_pattern decision:pure core  1.00" in _run(root, "show").stdout
    _run(root, "build", "--again")
    assert (
        "a.py" in json.loads(_run(root, "impact", "decision:pure core", "--json").stdout)["files"]
    )
    assert "Would delete 2" in _run(root, "unlink", "decision:pure core", "--dry-run").stdout
    assert "Deleted 2" in _run(root, "unlink", "decision:pure core", "--yes").stdout
    assert _run(root, "unlink", "decision:pure core", "--yes").returncode == 3
    assert _run(root, "unlink", "decision:pure core", "--dry-run").returncode == 3


@pytest.mark.feature("E4")
def test_the_module_map_is_shown_and_kept_on_the_command_line(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, {**FILES, "b.py": '"""Holds the one function."""\n\n\ndef f():\n    pass\n'})
    assert "There is no code graph" in _run(root, "map").stderr
    assert _run(root, "build").returncode == 0
    old = _run(root, "modules")
    assert "is now `wellkept graph map`" in old.stderr
    shown = old.stdout
    assert "b.py: Holds the one function." in shown
    found = json.loads(_run(root, "map", "--json").stdout)
    assert [m["folder"] for m in found["modules"]] == ["./", "tests/"]
    assert "Would store" in _run(root, "summarise", "--dry-run").stdout
    kept = json.loads(_run(root, "summarise", "--no-model", "--json").stdout)
    assert {note["outcome"] for note in kept["notes"]} == {"new"}
    assert "0 new, 0 changed" in _run(root, "summarise").stdout


@pytest.mark.feature("E4")
def test_init_builds_and_summarises_when_asked_to(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, {"shop.py": '"""Sells things by mail."""\n'})
    store = str(tmp_path / "memory.db")
    command = [
        sys.executable,
        "-m",
        "wellkept.cli",
        "--store",
        store,
        "init",
        "--graph",
        "--json",
    ]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["graph"]["seen"] == 1
    assert "Sells things by mail." in found["modules"]["notes"][0]["text"]


def test_related_files_are_listed_on_the_command_line(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, FILES)
    assert "No related files" in _run(root, "show", "b.py", "--related").stdout
    assert _run(root, "build").returncode == 0
    found = json.loads(_run(root, "show", "b.py", "--related", "--json").stdout)["related"]
    assert {file["path"] for file in found["files"]} == {"a.py", "tests/test_b.py"}
    assert "depends on it" in _run(root, "show", "b.py", "--related").stdout


@pytest.mark.feature("E5")
def test_a_search_prints_functions_with_their_lines(tmp_path: Path) -> None:
    root = tmp_path / "project"
    pool = 'def take(timeout_s):\n    """Wait until a connection is free."""\n'
    write(root, {"pool.py": pool, "ci/run.yml": "on: push\n", "other.py": "x = 1\n"})
    asked = ("search", "where", "do", "we", "wait", "for", "a", "free", "connection")
    told = _run(root, *asked).stdout
    assert "pool.py:1" in told
    assert "take  Wait until a connection is free." in told
    found = json.loads(_run(root, *asked, "--json").stdout)["files"][0]
    assert (found["path"], found["symbols"][0]["line"]) == ("pool.py", 1)
    ci = json.loads(_run(root, "search", "where is CI configured", "--json").stdout)["files"][0]
    assert ci["path"] == "ci/run.yml"
