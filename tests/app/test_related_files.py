"""Files that belong together, by history, structure and use, with what there is of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.opening import open_in
from tests.app.test_code_search import git
from tests.codegraph.trees import write
from wellkept.api import Wellkept
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.query import FileLink
from wellkept.graph.related_files import fuse

pytestmark = pytest.mark.feature("E3")

FILES = {
    "a.py": "from b import f\n\nf()\n",
    "b.py": "def f():\n    pass\n",
    "c.py": "x = 1\n",
    "d.md": "words\n",
    ".gitignore": "data/\n",
}


@pytest.fixture
def wk(tmp_path: Path) -> Iterator[Wellkept]:
    write(tmp_path, FILES)
    with open_in(tmp_path) as opened:
        yield opened


def commit(root: Path, *names: str) -> None:
    for name in names:
        with (root / name).open("a", encoding="utf-8") as file:
            file.write("# more\n")
    git(root, "add", ".")
    git(root, "commit", "-m", "more")


def test_history_graph_and_sessions_are_combined_with_reasons(wk: Wellkept, tmp_path: Path) -> None:
    git(tmp_path, "init")
    commit(tmp_path, "b.py")
    for _ in range(4):
        commit(tmp_path, "b.py", "c.py")
    wk.graph.build(workers=1)
    wk.engine.store.put_file_links(wk.project, [FileLink("b.py", "d.md", 0.9, 3)])
    found = wk.code_graph.related("b.py")
    reasons = {file.path: file.reasons for file in found.files}
    assert found.files[0].path in ("a.py", "c.py")
    assert "changed together 5 times" in reasons["c.py"]
    assert "depends on it" in reasons["a.py"]
    assert "used together 3 times" in reasons["d.md"]
    assert found.has_graph
    assert found.has_history
    assert (
        "it depends on this"
        in {f.path: f.reasons for f in wk.code_graph.related("a.py").files}["b.py"]
    )


def test_without_git_and_without_a_graph_it_answers_with_what_there_is(wk: Wellkept) -> None:
    wk.engine.store.put_file_links(wk.project, [FileLink("b.py", "c.py", 0.9, 3)])
    found = wk.code_graph.related("b.py")
    assert [file.path for file in found.files] == ["c.py"]
    assert not found.has_graph
    assert not found.has_history
    assert wk.code_graph.related("a.py").files == ()


def test_predictions_are_cached_until_history_moves_on(wk: Wellkept, tmp_path: Path) -> None:
    git(tmp_path, "init")
    commit(tmp_path, *[name for name in FILES if name != ".gitignore"])
    reported: list[tuple[int, int]] = []
    wk.code_graph.related("b.py", progress=lambda done, total: reported.append((done, total)))
    assert reported == [(1, 1)]
    kept = wk.engine.store.get_value("co_change", wk.code_graph.tree)
    commit(tmp_path, "a.py", "c.py")
    wk.code_graph.related("b.py")
    assert wk.engine.store.get_value("co_change", wk.code_graph.tree) == kept
    for _ in range(21):
        commit(tmp_path, "a.py", "c.py")
    wk.code_graph.related("b.py")
    assert wk.engine.store.get_value("co_change", wk.code_graph.tree) != kept
    git(tmp_path, "reset", "--soft", "HEAD~5")
    assert wk.code_graph.related("b.py").has_history


def test_deleted_files_are_not_named(wk: Wellkept, tmp_path: Path) -> None:
    wk.engine.store.put_file_links(wk.project, [FileLink("b.py", "c.py", 0.9, 3)])
    (tmp_path / "c.py").unlink()
    assert wk.code_graph.related("b.py").files == ()
    with pytest.raises(NotFoundError, match="no file"):
        wk.code_graph.related("nothing.py")
    with pytest.raises(UsageError, match="limit"):
        wk.code_graph.related("b.py", limit=0)


def test_a_file_that_several_sources_name_comes_first() -> None:
    rankings = [
        (1.0, {"x": ["p"], "y": ["q"]}),
        (0.5, {"y": ["r", "q"], "gone": []}),
    ]
    found = fuse(rankings, exists=lambda path: path != "gone", limit=5)
    assert [(file.path, file.reasons) for file in found] == [("y", ("q", "r")), ("x", ("p",))]
    assert 0 < found[1].score < found[0].score <= 1


def test_generated_files_come_last() -> None:
    ranking = {"package-lock.json": ("changes with it",), "src/app.ts": ("changes with it",)}
    found = fuse([(1.0, ranking)], exists=lambda _: True, limit=5)
    assert [item.path for item in found] == ["src/app.ts", "package-lock.json"]


def test_a_missing_file_that_similar_files_have_is_reported(wk: Wellkept, tmp_path: Path) -> None:
    git(tmp_path, "init")
    commit(tmp_path, "c.py")
    for name in ("pool", "url", "auth"):
        write(tmp_path, {f"src/{name}.py": "", f"tests/test_{name}.py": ""})
        commit(tmp_path, f"src/{name}.py", f"tests/test_{name}.py")
    write(tmp_path, {"src/cookies.py": ""})
    found = wk.code_graph.related("src/cookies.py")
    assert found.expected == ("tests/test_cookies.py",)
    assert "tests/test_cookies.py" not in [file.path for file in found.files]
    write(tmp_path, {"tests/test_cookies.py": ""})
    assert wk.code_graph.related("src/cookies.py").expected == ()
