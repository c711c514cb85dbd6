"""An updated graph equals one built from nothing, whatever happened in between."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.codegraph.trees import NAME, builder, built, edges, everything, rebuilt, write
from wellkept.core.clock import system_clock
from wellkept.core.graph import BuildProgress, BuildStage
from wellkept.core.ports.graph import AnalyzedFile
from wellkept.core.records import replace
from wellkept.graph.index.builder import Builder, Tree
from wellkept.graph.index.parse_file import ParsedFile, parse_file, parse_source
from wellkept.store import open_graph

pytestmark = pytest.mark.feature("E2")

PATHS = [
    "a.py",
    "p/__init__.py",
    "p/a.py",
    "p/q/b.py",
    "src/p/c.py",
    "tests/test_a.py",
    "m.ts",
    "w/index.ts",
]
PYTHON_LINES = [
    "import a", "import p.a", "from p import a", "from p.a import f as g", "from . import a", "from .q import b",
    "from p import *", "from a import C", "def f():\n    g()", "def g():\n    a.f()", "class C:\n    def m(self):\n        self.n()",
    "class D(C):\n    def n(self):\n        f()", "x = C()\nx.m()", "__all__ = ['f']", "def broken(:", "p.a.f()",
]  # fmt: skip
SCRIPT_LINES = [
    "export * from './w';", "import { f } from './w';", "export function f() { g(); }", "function g() {}",
    "import * as m from '../m'; m.f();", "export default class K { run() { this.run(); } }",
]  # fmt: skip


def _content(path: str) -> st.SearchStrategy[str]:
    lines = SCRIPT_LINES if path.endswith(".ts") else PYTHON_LINES
    return st.lists(st.sampled_from(lines), max_size=5).map(lambda chosen: "\n".join(chosen) + "\n")


_EDITS = st.lists(
    st.sampled_from(PATHS).flatmap(lambda p: st.tuples(st.just(p), st.none() | _content(p))),
    max_size=4,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rounds=st.lists(_EDITS, min_size=2, max_size=4))
def test_updates_give_the_same_graph_as_a_fresh_build(
    rounds: Sequence[Sequence[tuple[str, str | None]]],
) -> None:
    folder = Path(tempfile.mkdtemp())
    root = folder / "tree"
    root.mkdir()
    store = open_graph(folder / "updated.db")
    try:
        for number, edits in enumerate(rounds):
            for path, content in edits:
                if content is None:
                    (root / path).unlink(missing_ok=True)
                else:
                    write(root, {path: content})
            if number % 2:
                builder(store, root).update([path for path, _ in edits])
            else:
                rebuilt(store, root)
        fresh = open_graph(folder / "fresh.db")
        rebuilt(fresh, root)
        assert everything(store) == everything(fresh)
        fresh.close()
    finally:
        store.close()
        shutil.rmtree(folder)


TREE = {
    "a.py": "from b import f\n\n\ndef go():\n    f()\n",
    "b.py": "def f():\n    return 1\n",
    "c.py": "X = 1\n",
}


def test_a_changed_body_relinks_only_that_file(tmp_path: Path) -> None:
    store = built(tmp_path, TREE)
    write(tmp_path / "tree", {"b.py": "def f():\n    return 2 + 2\n"})
    report = rebuilt(store, tmp_path / "tree")
    assert (report.reanalysed, report.relinked, report.unchanged) == (1, 1, 2)


def test_a_changed_name_relinks_only_its_users(tmp_path: Path) -> None:
    store = built(tmp_path, TREE)
    write(tmp_path / "tree", {"b.py": "def h():\n    return 1\n"})
    report = rebuilt(store, tmp_path / "tree")
    assert (report.reanalysed, report.relinked) == (1, 2)
    assert "a.py::go calls b.py::f" not in edges(store)


def test_a_touched_file_with_the_same_content_is_not_parsed(tmp_path: Path) -> None:
    store = built(tmp_path, TREE)
    (tmp_path / "tree/b.py").touch()
    report = rebuilt(store, tmp_path / "tree")
    assert (report.reanalysed, report.unchanged) == (0, 3)


@pytest.mark.parametrize(
    "before",
    [
        ParsedFile("a.py", "", "skipped", "the grammar tree_sitter_python is not installed"),
        ParsedFile("a.py", "", "failed", "the parser crashed"),
    ],
    ids=["a grammar that was missing", "a crash"],
)
def test_an_unchanged_file_is_parsed_again_if_the_result_may_differ(
    tmp_path: Path, before: ParsedFile
) -> None:
    root = tmp_path / "tree"
    write(root, {"a.py": "def f():\n    pass\n"})
    store = open_graph(tmp_path / "graph.db")
    tree = Tree(root=root, name=NAME)
    Builder(store, tree, clock=system_clock, parse=lambda _: [before]).build()
    assert (rebuilt(store, root).reanalysed, rebuilt(store, root).reanalysed) == (1, 0)
    assert [n.id for n in store.symbols(NAME, ["a.py"])] == ["a.py::f"]


def test_a_file_that_another_release_read_is_read_again(tmp_path: Path) -> None:
    store, root = built(tmp_path, {"a.py": "def f():\n    pass\n"}), tmp_path / "tree"
    (file,) = store.files(NAME)
    other = replace(file, content_hash=f"0badc0de-{file.content_hash.partition('-')[2]}")
    store.put_files(NAME, [AnalyzedFile(file=other)])
    assert store.symbols(NAME, ["a.py"]) == []
    assert (rebuilt(store, root).reanalysed, rebuilt(store, root).reanalysed) == (1, 0)
    assert [n.id for n in store.symbols(NAME, ["a.py"])] == ["a.py::f"]


def test_catching_up_leaves_a_file_that_failed_to_the_next_build(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    write(root, {"a.py": "def f():\n    pass\n", "b.py": "x = 1\n"})
    store, asked = open_graph(tmp_path / "graph.db"), list[str]()

    def parse(paths: Sequence[str]) -> list[ParsedFile]:
        asked.extend(paths)
        failed = ParsedFile("a.py", "", "failed", "parsing took longer than 20 s")
        return [failed if path == "a.py" else parse_file(str(root), path) for path in paths]

    made = Builder(store, Tree(root=root, name=NAME), clock=system_clock, parse=parse)
    made.build()
    write(root, {"b.py": "x = 22\n"})
    assert made.catch_up(max_files=5) == []
    assert made.catch_up(max_files=5) == []
    assert asked == ["a.py", "b.py", "b.py"]
    assert made.mark_changed() == []
    write(root, {"a.py": "def g():\n    pass # changed\n"})
    assert made.catch_up(max_files=5) == []
    made.build()
    assert asked[3:] == ["a.py", "a.py"]


def test_changed_files_are_marked_as_stale_until_they_are_read_again(tmp_path: Path) -> None:
    store, root = built(tmp_path, TREE), tmp_path / "tree"
    write(root, {"b.py": "def f():\n    return 12345\n"})
    assert builder(store, root).mark_changed() == ["b.py"]
    assert store.status(NAME).stale == ("b.py",)
    assert store.nodes(NAME, ["b.py::f"])["b.py::f"].stale_at is not None
    rebuilt(store, root)
    assert store.status(NAME).stale == ()


class _StoppedError(Exception):
    """Somebody pulled the plug."""


def test_an_interrupted_build_continues(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    files = {f"m{n}.py": f"from m{n + 1} import f\n\n\ndef f():\n    pass\n" for n in range(250)}
    write(root, files)
    store = open_graph(tmp_path / "stopped.db")
    parsed: list[str] = []

    def parse(paths: Sequence[str]) -> Iterator[ParsedFile]:
        for path in paths:
            parsed.append(path)
            if len(parsed) == 150:
                raise _StoppedError
            yield parse_file(str(root), path)

    tree = Tree(root=root, name=NAME)
    with pytest.raises(_StoppedError):
        Builder(store, tree, clock=system_clock, parse=parse).build()
    kept = len(store.files(NAME))
    assert 0 < kept < 250

    def stop_while_drawing(at: BuildProgress) -> None:
        if at.stage is BuildStage.LINK:
            raise _StoppedError

    with pytest.raises(_StoppedError):
        Builder(store, tree, clock=system_clock, parse=parse, progress=stop_while_drawing).build()
    assert len(parsed) == 150 + 250 - kept
    assert store.status(NAME).unresolved > 0
    rebuilt(store, root)
    fresh = open_graph(tmp_path / "fresh.db")
    rebuilt(fresh, root)
    assert everything(store) == everything(fresh)


def test_progress_names_the_modules(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"src/app/core/a.py": "x = 1\n"})
    seen: list[BuildProgress] = []
    tree = Tree(root=tmp_path / "tree", name=NAME)
    store = open_graph(tmp_path / "graph.db")
    Builder(store, tree, clock=system_clock, progress=seen.append, workers=1).build()
    assert [(p.stage, p.done, p.total, p.module) for p in seen] == [
        (BuildStage.PARSE, 1, 1, "app.core"),
        (BuildStage.LINK, 1, 1, "app.core"),
    ]


def test_the_same_text_gives_the_same_facts_every_time() -> None:
    bases = ", ".join(f"B{n}" for n in range(12))
    fields = "\n".join(f"        self.f{n} = B{n}()" for n in range(12))
    source = f"class C({bases}):\n    def __init__(self):\n{fields}\n".encode()
    first = parse_source("a.py", source)
    assert all(parse_source("a.py", source) == first for _ in range(20))


def _at(path: Path, seconds: float) -> None:
    os.utime(path, (seconds, seconds))


def test_content_is_compared_once_and_not_with_every_query(tmp_path: Path) -> None:
    store, root = built(tmp_path, TREE), tmp_path / "tree"
    now = system_clock().timestamp()
    for name in TREE:
        _at(root / name, now - 100)  # another time of change than was kept, the same content
    made = builder(store, root)
    assert made.catch_up(max_files=5) == []
    before = store.version(NAME)
    write(root, {"b.py": "def h():\n    return 1\n"})  # which only a look at the content tells
    _at(root / "b.py", now - 100)
    assert made.catch_up(max_files=5) == []
    assert store.version(NAME) == before


def test_a_file_with_a_future_time_is_compared_by_content(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    write(root, TREE)
    ahead = system_clock().timestamp() + 86_400
    _at(root / "b.py", ahead)
    store = open_graph(tmp_path / "graph.db")
    rebuilt(store, root)
    assert rebuilt(store, root).reanalysed == 0
    write(root, {"b.py": "def h():\n    return 1\n"})  # as long as before, at the same time
    _at(root / "b.py", ahead)
    assert rebuilt(store, root).reanalysed == 1
    assert "a.py::go calls b.py::f" not in edges(store)


def test_a_file_with_an_older_time_is_parsed_again(tmp_path: Path) -> None:
    store, root = built(tmp_path, TREE), tmp_path / "tree"
    write(root, {"b.py": "def h():\n    return 1\n"})
    _at(root / "b.py", 1_000_000_000)
    assert rebuilt(store, root).reanalysed == 1


def test_rewritten_history_does_not_affect_the_graph(tmp_path: Path) -> None:
    store, root = built(tmp_path, TREE), tmp_path / "tree"
    for command in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"),
        ("checkout", "-q", "--orphan", "other"),
        ("rm", "-qf", "c.py"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "another beginning"),
        ("branch", "-qD", "master"),
    ):
        subprocess.run(("git", "-c", "init.defaultBranch=master", "-C", str(root), *command),
                       check=True, capture_output=True)  # fmt: skip
    report = rebuilt(store, root)
    assert (report.reanalysed, report.removed, report.unchanged) == (0, 1, 2)
    assert "a.py::go calls b.py::f" in edges(store)
