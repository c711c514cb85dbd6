"""A language is added in three files: a row, a module and a query. Everybody then knows it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wellkept

ROW = """    SourceLanguage(
        "toy", ".toy", graph="toy", manifests="toy.build", tests=r"_check\\.toy$",
    ),
    # Of these the graph"""
MODULE = """
from wellkept.graph.languages import python
from wellkept.core.records import replace

LANGUAGES = (replace(python.LANGUAGES[0], name="toy", query="toy.scm"),)
"""
QUERY = "(function_definition) @function\n"
SEEN = """
import sys
from pathlib import Path
from wellkept.core.clock import system_clock
from wellkept.core.languages import MANIFESTS
from wellkept.graph.index.builder import Builder, Tree
from wellkept.graph.index.file_kind import file_kind
from wellkept.observe.session.edits import file_kind as kind_of_edit
from wellkept.skills.selection.detection import MANIFESTS as CALLED_FOR
from wellkept.store import open_graph

root = Path(sys.argv[1])
store = open_graph(root.parent / "graph.db")
Builder(store, Tree(root=root, name="t"), clock=system_clock, workers=1).build()
print(*(node.id for node in store.symbols("t", ["a.toy"])))
print(store.file("t", "a_check.toy").is_test, file_kind("a.toy").value)
print(kind_of_edit("a.toy"), kind_of_edit("a_check.toy"), "toy.build" in {*MANIFESTS, *CALLED_FOR})
"""


@pytest.mark.feature("E1")
def test_a_language_is_added_in_three_files(tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "wellkept"
    source = Path(wellkept.__file__).parent
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__", "page", "data"))
    for data in source.rglob("data"):  # tables that are read at import
        shutil.copytree(data, copy / data.relative_to(source), dirs_exist_ok=True)
    table = copy / "core/languages.py"
    row = "    # Of these the graph"
    table.write_text(table.read_text("utf-8").replace(row, ROW, 1), "utf-8")
    (copy / "graph/languages/toy.py").write_text(MODULE, "utf-8")
    (copy / "graph/parse/queries/toy.scm").write_text(QUERY, "utf-8")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.toy").write_text("def play():\n    pass\n", "utf-8")
    (tree / "a_check.toy").write_text("def check():\n    pass\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SEEN, str(tree)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(copy.parent)},
    )
    assert done.stdout.splitlines() == [
        "a.toy::play",
        "True code",
        "code test True",
    ], done.stderr
