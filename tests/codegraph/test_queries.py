"""Impact, dependencies, traces and coverage on a small tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codegraph.trees import NAME, built
from tests.support.conformance.graph import analysed
from tests.support.model_store.graph import ModelGraph
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.graph import EDGE_WEIGHTS, MAX_DEPTH, Edge, EdgeKind, LinkedMemory
from wellkept.core.ports.graph import FileEdges, GraphStore
from wellkept.graph.query.queries import GraphQueries

pytestmark = pytest.mark.feature("E3")

FILES = {
    "core.py": "def base():\n    pass\n\n\ndef unused():\n    pass\n",
    "mid.py": "from core import base\n\n\nclass Mid:\n    def run(self):\n        base()\n",
    "top.py": "from mid import Mid\n\n\ndef start():\n    m = Mid()\n    m.run()\n",
    "far.py": "import top\n\n\ndef go():\n    top.start()\n",
    "tests/test_mid.py": "from mid import Mid\n\n\ndef test_run():\n    m = Mid()\n    m.run()\n",
}


@pytest.fixture
def store(tmp_path: Path) -> GraphStore:
    return built(tmp_path, FILES)


@pytest.fixture
def ask(store: GraphStore) -> GraphQueries:
    return GraphQueries(store, NAME)


def test_the_impact_of_a_function_is_ordered_by_depth_and_weighted_by_edges(
    ask: GraphQueries,
) -> None:
    found = ask.impact("core.py::base")
    reached = {r.node.id: (r.depth, r.score, r.kind) for r in (*found.direct, *found.transitive)}
    assert reached["mid.py::Mid.run"] == (1, 0.8, EdgeKind.CALLS)
    assert reached["mid.py"] == (1, 0.9, EdgeKind.IMPORTS)
    assert reached["top.py::start"][0] == 2
    assert reached["top.py::start"][1] == pytest.approx(0.8 * 0.8 * 0.9, abs=0.001)
    assert reached["far.py::go"][0] == 3
    assert found.files[0] == "mid.py"
    assert found.tests == ("tests/test_mid.py",)
    assert 0 < found.score < 1
    assert ask.impact("far.py").score == 0.0


def test_tests_do_not_crowd_out_the_code_that_a_change_touches(tmp_path: Path) -> None:
    files = {"core.py": "def base():\n    pass\n", "z.py": "from core import base\nbase()\n"}
    files |= {
        f"tests/test_{n}.py": "from core import base\n\n\ndef test_b():\n    base()\n"
        for n in range(9)
    }
    found = GraphQueries(built(tmp_path, files), NAME).impact("core.py::base", limit=3)
    assert {r.node.path for r in found.direct} == {"z.py", "core.py", "tests/test_0.py"}


def test_a_file_includes_everything_in_it(ask: GraphQueries) -> None:
    assert set(ask.impact("core.py").files) == {"mid.py", "top.py", "far.py", "tests/test_mid.py"}
    assert set(ask.impact("./").files) == set()
    assert ask.dependencies("top.py").files[:1] == ("mid.py",)
    assert "far.py" in ask.dependents("mid.py::Mid").files


def test_the_depth_is_limited(ask: GraphQueries) -> None:
    assert not ask.impact("core.py::base", depth=1).transitive
    with pytest.raises(UsageError, match="from 1 to 3"):
        ask.impact("core.py::base", depth=4)


def test_a_trace_follows_calls_to_their_end(ask: GraphQueries) -> None:
    paths = [[s.node.id for s in path] for path in ask.trace("far.py::go").paths]
    assert ["top.py::start", "mid.py::Mid.run", "core.py::base"] in paths
    there = ask.trace("far.py::go", to="core.py::base")
    assert [s.node.id for s in there.paths[0]][-1] == "core.py::base"
    assert ask.trace("core.py::base", to="far.py::go").paths == ()


def test_coverage_names_tests_and_what_none_reaches(ask: GraphQueries) -> None:
    found = ask.coverage("core.py")
    assert found.test_files == ("tests/test_mid.py",)
    assert found.uncovered == ("core.py::unused",)
    assert found.symbol_count == 2


OVERRIDDEN = {
    "base.py": "from abc import ABC\n\n\nclass Line(ABC):\n    def send(self, data):\n        ...\n",
    "real.py": "from base import Line\n\n\nclass Wire(Line):\n    def send(self, data):\n        pass\n",
    "use.py": "from base import Line\n\n\ndef talk(line: Line):\n    line.send('hello')\n",
    "tests/test_use.py": "from use import talk\nfrom base import Line\n\n\n"
    "class Fake(Line):\n    def send(self, data):\n        pass\n\n\n"
    "def test_talk():\n    talk(Fake())\n",
}


def test_a_changed_override_affects_callers_of_the_base_method(tmp_path: Path) -> None:
    ask = GraphQueries(built(tmp_path, OVERRIDDEN), NAME)
    contract = ask.impact("base.py::Line.send")
    felt = {r.node.id: r.score for r in contract.direct}
    assert felt["real.py::Wire.send"] == 0.7
    assert "tests/test_use.py::Fake.send" in felt
    change = {r.node.id: r.score for r in ask.impact("real.py::Wire.send").direct}
    assert change == {"base.py::Line.send": 0.32}
    assert "use.py" in ask.impact("real.py::Wire.send").files
    assert "use.py" not in ask.impact("tests/test_use.py::Fake.send").files
    assert ask.coverage("real.py").uncovered == ()


def test_memories_and_end_to_end_facts_come_with_the_impact(store: GraphStore) -> None:
    asked: list[Sequence[str]] = []

    def linked(files: Sequence[str]) -> list[LinkedMemory]:
        asked.append(files)
        return [
            LinkedMemory(id="1", type="gotcha", text="mind the gap"),
            LinkedMemory(id="2", type="e2e_observation", text="the page is blank"),
        ]

    found = GraphQueries(store, NAME, linked_memories=linked).impact("core.py")
    assert [m.id for m in found.memories] == ["1"]
    assert [m.id for m in found.e2e_observations] == ["2"]
    assert asked[0][0] == "core.py"


def test_an_unknown_or_ambiguous_name_says_what_to_do(ask: GraphQueries) -> None:
    with pytest.raises(NotFoundError, match="nothing called 'nope'"):
        ask.node("nope")
    assert ask.node("run").id == "mid.py::Mid.run"


def test_a_name_that_fits_several_lists_them(tmp_path: Path) -> None:
    store = built(tmp_path, {"a.py": "def f():\n    pass\n", "b.py": "def f():\n    pass\n"})
    with pytest.raises(ConflictError, match=r"a\.py::f, b\.py::f"):
        GraphQueries(store, NAME).node("f")


def test_a_change_is_seen_by_the_next_question(store: GraphStore, ask: GraphQueries) -> None:
    before = ask.impact("core.py").reached_count
    store.drop_files(NAME, ["far.py"])
    assert ask.impact("core.py").reached_count < before


@given(
    pairs=st.sets(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=50),
    start=st.integers(0, 14),
)
def test_the_traversal_agrees_with_a_plain_one(pairs: set[tuple[int, int]], start: int) -> None:
    store = ModelGraph()
    store.put_files(NAME, [analysed(f"{n}.py") for n in range(15)])
    edges = tuple(
        Edge(source=f"{s}.py", target=f"{t}.py", kind=EdgeKind.IMPORTS) for s, t in pairs if s != t
    )
    store.put_edges(NAME, [FileEdges(path="0.py", edges=edges, lookups=frozenset())])
    depths, frontier = {start: 0}, [start]
    for depth in range(1, MAX_DEPTH + 1):
        frontier = sorted({s for s, t in pairs if t in frontier and s not in depths})
        depths.update(dict.fromkeys(frontier, depth))
    found = GraphQueries(store, NAME).impact(f"{start}.py")
    weight = EDGE_WEIGHTS[EdgeKind.IMPORTS]
    assert {(r.node.id, r.depth, r.score) for r in (*found.direct, *found.transitive)} == {
        (f"{n}.py", depth, round(weight**depth, 4)) for n, depth in depths.items() if depth
    }


BOUND = {
    "text.py": "class Text:\n    def append(self, part):\n        pass\n",
    "local.py": (
        "from text import Text\n\n\ndef render(lines):\n    text = Text()\n"
        "    append = text.append\n    for line in lines:\n        append(line)\n"
    ),
    "typed.py": (
        "from text import Text\n\n\ndef typed(text: Text):\n    add = text.append\n    add(1)\n"
    ),
    "rebound.py": (
        "from text import Text\n\n\ndef rebound(text: Text, other):\n"
        "    add = text.append\n    add = other()\n    add(1)\n"
    ),
}


def test_the_impact_follows_bound_methods(tmp_path: Path) -> None:
    found = GraphQueries(built(tmp_path, BOUND), NAME).impact("text.py::Text.append")
    direct = {reached.node.id for reached in found.direct}
    assert {"local.py::render", "typed.py::typed", "rebound.py::rebound"} <= direct


HANDED = {
    "python": {
        "text.py": (
            "class Text:\n    def append(self, part):\n        pass\n\n\ndef clean(part):\n    pass\n"
        ),
        "hand.py": (
            "from text import Text, clean\n\n\n"
            "def mapped(text: Text, parts):\n    return list(map(text.append, map(clean, parts)))\n\n\n"
            "def table():\n    return {'append': Text().append, 'clean': clean}\n\n\n"
            "class Box:\n    def __init__(self):\n        self.text = Text()\n"
            "        self.write = self.text.append\n        self.clean = clean\n\n\n"
            "def named(parts, clean):\n    return sorted(parts, key=clean)\n\n\n"
            "def plain(text: Text):\n    return print(text.other)\n"
        ),
    },
    "typescript": {
        "text.ts": (
            "export class Text {\n  append(part: string) {}\n}\nexport function clean(part) {}\n"
        ),
        "hand.ts": (
            "import { Text, clean } from './text'\n"
            "function mapped(text: Text, parts) {\n"
            "  parts.map(clean).forEach(text.append)\n}\n"
            "function table(text: Text) {\n  return { append: text.append, clean: clean }\n}\n"
        ),
    },
    "go": {
        "go.mod": "module example.com/hand\n",
        "text.go": (
            "package hand\n\ntype Text struct{}\n\nfunc (t *Text) Append(part string) {}\n\n"
            "func clean(part string) string { return part }\n"
        ),
        "hand.go": (
            "package hand\n\n"
            "func mapped(t *Text, parts []string) {\n\teach(parts, t.Append)\n\tmake_(clean)\n}\n\n"
            "func table(t *Text) Table {\n"
            "\treturn Table{append: t.Append, clean: clean}\n}\n"
        ),
    },
}


@pytest.mark.parametrize(
    ("files", "method", "function", "callers"),
    [
        (HANDED["python"], "text.py::Text.append", "text.py::clean",
         {"hand.py::mapped", "hand.py::table", "hand.py::Box.__init__"}),
        (HANDED["typescript"], "text.ts::Text.append", "text.ts::clean",
         {"hand.ts::mapped", "hand.ts::table"}),
        (HANDED["go"], "text.go::Text.Append", "text.go::clean",
         {"hand.go::mapped", "hand.go::table"}),
    ],
    ids=list(HANDED),
)  # fmt: skip
def test_the_impact_follows_functions_that_are_handed_on(
    tmp_path: Path, files: dict[str, str], method: str, function: str, callers: set[str]
) -> None:
    queries = GraphQueries(built(tmp_path, files), NAME)
    for target in (method, function):
        found = queries.impact(target).direct
        assert {r.node.id for r in found if r.kind is EdgeKind.CALLS} == callers


def test_calls_that_may_be_of_a_method_are_told_as_unresolved(tmp_path: Path) -> None:
    files = BOUND | {
        "guess.py": "import text\n\n\ndef guess(some):\n    some.append(1)\n",
        "other.py": (
            "import text\nimport shelf\n\n\ndef other(pile: shelf.Pile):\n"
            "    pile.append(1)\n    shelf.append(2)\n"
        ),
        "shelf.py": "class Pile:\n    def append(self, part):\n        pass\n",
        "stranger.py": "def stranger(some):\n    some.append(1)\n",
    }
    queries = GraphQueries(built(tmp_path, files), NAME)
    found = {
        (call.caller, call.line, call.callee)
        for call in queries.impact("text.py::Text.append").unresolved
    }
    assert found == {("guess.py::guess", 5, "some.append")}
    assert queries.impact("text.py").unresolved == ()
    assert queries.impact("guess.py::guess").unresolved == ()


def test_a_method_got_from_a_call_is_told_as_unresolved(tmp_path: Path) -> None:
    files = BOUND | {
        "got.py": "import text\n\n\ndef got(find):\n    add = find().append\n    add(1)\n"
    }
    found = GraphQueries(built(tmp_path, files), NAME).impact("text.py::Text.append")
    assert "got.py::got" in {call.caller for call in found.unresolved}


def test_a_bound_method_is_followed_in_typescript(tmp_path: Path) -> None:
    files = {
        "text.ts": "export class Text {\n  append(part: string) {}\n}\n",
        "use.ts": (
            "import { Text } from './text'\nexport function render(text: Text) {\n"
            "  const append = text.append\n  append('x')\n}\n"
        ),
    }
    found = GraphQueries(built(tmp_path, files), NAME).impact("text.ts::Text.append")
    assert "use.ts::render" in {reached.node.id for reached in found.direct}


def test_generated_files_come_after_the_others(tmp_path: Path) -> None:
    caller = "from core import base\n\n\ndef call():\n    base()\n"
    files = {
        "core.py": "def base():\n    pass\n",
        "a/generated/client.py": caller,
        "b/hand.py": caller,
    }
    found = GraphQueries(built(tmp_path, files), NAME).impact("core.py::base")
    assert found.files == ("b/hand.py", "a/generated/client.py")
    assert found.direct[0].node.path == "b/hand.py"
    assert found.direct[-1].node.path == "a/generated/client.py"
