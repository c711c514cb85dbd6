"""Values followed from function to function."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.codegraph.trees import NAME, built, write
from wellkept.core.graph import Edge, EdgeKind, Node, NodeKind, Trace
from wellkept.graph.query.queries import GraphQueries

pytestmark = pytest.mark.feature("E3")


def asked(tmp_path: Path, files: Mapping[str, str]) -> GraphQueries:
    return GraphQueries(built(tmp_path, files), NAME, root=tmp_path / "tree")


def ways(found: Trace) -> list[str]:
    """Each way as one line, without the folder of names."""
    return [
        " ".join(f"{step.node.qualname or step.node.id} ({step.how})" for step in path)
        for path in found.paths
    ]


SHOP = {
    "web.py": (
        "from shop import order\n\n\n"
        "def handle(request, session):\n"
        "    name = request.get('name')\n"
        "    number = order(name, count=2)\n"
        "    log(session)\n"
        "    return number\n\n\n"
        "def log(what):\n    print(what)\n"
    ),
    "shop.py": (
        "from db import save\n\n\n"
        "def order(name, count):\n    row = clean(name)\n    return save(row, count)\n\n\n"
        "def clean(text):\n    return text.strip()\n\n\n"
        "def price(thing):\n    return clean(thing)\n"
    ),
    "db.py": "def save(row, count):\n    return insert(row)\n\n\ndef insert(row):\n    return 1\n",
}


def test_an_argument_is_followed_into_callees_and_back_out_of_them(tmp_path: Path) -> None:
    ask = asked(tmp_path, SHOP)
    found = ask.trace("web.py::handle", value="request", depth=6)
    assert ways(found) == [
        "order (passed as name) clean (passed as text)",
        "order (passed as name) save (passed as row) insert (passed as row)",
    ]
    lines = [(step.node.id, step.line) for step in found.paths[1]]
    assert lines == [("shop.py::order", 6), ("db.py::save", 6), ("db.py::insert", 2)]
    assert 0 < found.paths[0][0].confidence < 1  # what `request.get` gives is only assumed
    assert all(step.kind is EdgeKind.FLOWS_TO for path in found.paths for step in path)


def test_a_value_does_not_leave_by_another_caller(tmp_path: Path) -> None:
    found = asked(tmp_path, SHOP).trace("web.py::handle", value="request", depth=6)
    assert not any("price" in way for way in ways(found))


def test_a_result_goes_up_to_the_callers(tmp_path: Path) -> None:
    ask = asked(tmp_path, SHOP)
    assert ways(ask.trace("db.py::insert", to="web.py::handle", depth=6)) == [
        "save (returned) order (returned) handle (returned)"
    ]


def test_a_trace_can_be_limited_to_a_target(tmp_path: Path) -> None:
    ask = asked(tmp_path, SHOP)
    assert ways(ask.trace("web.py", to="db.py::insert", depth=6)) == [
        "order (passed as name) save (passed as row) insert (passed as row)"
    ]
    assert ask.trace("web.py::handle", to="db.py::insert", value="session", depth=6).paths == ()
    assert ask.trace("db.py::insert", to="web.py::log", value="row", depth=6).paths == ()


def test_a_field_carries_a_value_to_the_other_methods(tmp_path: Path) -> None:
    source = (
        "class Box:\n"
        "    def __init__(self, thing, colour):\n"
        "        self._thing = thing\n        self._colour = colour\n\n"
        "    def open(self):\n        return show(self._thing)\n\n"
        "    def paint(self):\n        return show(self._colour)\n\n\n"
        "def show(what):\n    print(what)\n\n\n"
        "def make(present):\n    return Box(present, 'red')\n"
    )
    found = asked(tmp_path, {"box.py": source}).trace("box.py::make", value="present")
    assert ways(found) == [
        "Box.__init__ (passed as thing) Box.open (stored in _thing) show (passed as what)"
    ]


def test_an_override_is_reached_with_lower_confidence(tmp_path: Path) -> None:
    files = {
        "base.py": "class Base:\n    def send(self, data):\n        raise NotImplementedError\n",
        "real.py": "from base import Base\n\n\nclass Real(Base):\n"
        "    def send(self, data):\n        write(data)\n\n\ndef write(data):\n    pass\n",
        "use.py": "from base import Base\n\n\ndef pick() -> Base:\n    ...\n\n\n"
        "def go(message):\n    line = pick()\n    line.send(message)\n",
    }
    ask = asked(tmp_path, files)
    found = ask.trace("use.py::go", value="message", to="real.py::write")
    assert ways(found) == ["Real.send (passed as data) write (passed as data)"]
    assert found.paths[0][0].confidence < 0.5
    assert ask.trace("use.py::go", to="base.py::Base.send").paths[0][0].confidence > 0.8


def test_a_variable_of_the_file_is_shared_by_its_functions(tmp_path: Path) -> None:
    source = "LIMIT = load()\n\n\ndef load():\n    return 1\n\n\ndef use():\n    take(LIMIT)\n\n\n"
    source += "def take(n):\n    pass\n"
    found = asked(tmp_path, {"a.py": source}).trace("a.py::load")
    assert "a.py (returned) use (stored in LIMIT) take (passed as n)" in ways(found)


def test_tests_are_excluded_unless_the_query_is_about_one(tmp_path: Path) -> None:
    files = {
        "a.py": "def f(x):\n    return x\n",
        "tests/test_a.py": "from a import f\n\n\ndef test_f():\n    y = f(1)\n    check(y)\n\n\n"
        "def check(y):\n    assert y\n",
    }
    ask = asked(tmp_path, files)
    assert ask.trace("a.py::f").paths == ()
    assert ways(ask.trace("a.py::f", to="tests/test_a.py::check")) == [
        "test_f (returned) check (passed as y)"
    ]


def test_call_paths_are_shown_if_no_value_can_be_followed(tmp_path: Path) -> None:
    files = {"a.py": "def f():\n    g()\n\n\ndef g():\n    pass\n"}
    found = asked(tmp_path, files).trace("a.py::f")
    assert [(s.kind, s.node.id) for path in found.paths for s in path] == [
        (EdgeKind.CALLS, "a.py::g")
    ]


def test_a_noted_flow_is_followed(tmp_path: Path) -> None:
    files = {
        "a.py": "def out(x):\n    pass\n",
        "b.py": "def read(y):\n    use(y)\n\n\ndef use(z):\n    pass\n",
    }
    store = built(tmp_path, files)
    queue = Node(id="dataflow:queue", kind=NodeKind.DATAFLOW, name="queue")
    ends = [("a.py::out", "dataflow:queue"), ("dataflow:queue", "b.py::read")]
    edges = [Edge(source=a, target=b, kind=EdgeKind.FLOWS_TO, auto=False) for a, b in ends]
    store.put_notes(NAME, nodes=[queue], edges=edges)
    found = GraphQueries(store, NAME, root=tmp_path / "tree").trace("a.py::out")
    assert ways(found) == ["dataflow:queue (noted) read (noted) use (passed as z)"]
    assert GraphQueries(store, NAME, root=tmp_path / "tree").trace("b.py::use").paths == ()


def test_a_changed_file_is_reported_as_stale_and_not_parsed(tmp_path: Path) -> None:
    ask = asked(tmp_path, SHOP)
    write(tmp_path / "tree", {"shop.py": "def order(:\n"})
    found = ask.trace("web.py::handle", value="request")
    assert found.stale_files == ("shop.py",)
    assert ways(found) == ["order (passed as 0)"]


def test_recursive_functions_do_not_loop_forever(tmp_path: Path) -> None:
    source = "def a(x):\n    return b(x)\n\n\ndef b(x):\n    if x:\n        return x\n"
    source += "    return c(a(x))\n\n\ndef c(x):\n    return x\n"
    found = asked(tmp_path, {"a.py": source}).trace("a.py::a", value="x", depth=6)
    assert ways(found) == ["b (passed as x) c (passed as x)"]


def test_a_deeply_nested_expression_costs_only_its_function(tmp_path: Path) -> None:
    deep = "(\n" * 3000 + "x" + ")" * 3000
    source = f"def a(x):\n    b({deep})\n\n\ndef b(y):\n    c(y)\n\n\ndef c(z):\n    pass\n"
    ask = asked(tmp_path, {"a.py": source})
    assert ways(ask.trace("a.py::b")) == ["c (passed as z)"]
    assert ask.trace("a.py::a", value="x").paths == ()


def test_a_trace_stops_at_its_limit(tmp_path: Path) -> None:
    chain = [
        f"def f{n}(x):\n" + "".join(f"    f{m}(x)\n" for m in range(n + 1, n + 25))
        for n in range(400)
    ]
    found = asked(tmp_path, {"a.py": "\n\n".join(chain)}).trace("a.py", to="a.py::f399")
    assert not found.is_whole
