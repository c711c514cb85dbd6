"""The questions to the code graph over MCP and HTTP: the same answers as the library's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codegraph.trees import write
from tests.server.http_serving import served_in
from tests.server.mcp_client import memories_in, talking_in

pytestmark = pytest.mark.feature("E3")

FILES = {
    "web.py": "from shop import order\n\n\ndef handle(request):\n    return order(request)\n",
    "shop.py": "def order(name):\n    return name\n",
    "tests/test_shop.py": "from shop import order\n\n\ndef test_order():\n    order('x')\n",
}
ASKED = {
    "analyze_impact": {"name": "shop.py::order"},
    "get_dependencies": {"name": "web.py", "max_depth": 1},
    "trace_data_flow": {"name": "web.py::handle", "value": "request"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, FILES)
    memories = memories_in(tmp_path)
    with memories.of("") as wk:
        wk.graph.build(workers=1)
        wk.remember("Names of orders are never empty.", type="gotcha", files=["shop.py"])
    memories.close()
    return tmp_path


def test_an_agent_asks_what_a_change_touches(folder: Path) -> None:
    with talking_in(folder) as talk:
        impact = talk.call("analyze_impact", name="shop.py::order")
        assert impact["files"] == ["tests/test_shop.py", "web.py"]
        assert impact["tests"] == ["tests/test_shop.py"]
        assert impact["reached_count"] >= 4
        assert [m["type"] for m in impact["memories"]] == ["gotcha"]
        text = talk.text("analyze_impact", name="shop.py::order")
        assert "test: tests/test_shop.py" in text
        assert "Names of orders are never empty." in text


def test_an_agent_learns_which_calls_were_left_unresolved(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "pool.py": "class Pool:\n    def take(self):\n        pass\n",
            "box.py": "import pool\n\n\nclass Box:\n    def take(self):\n        pass\n",
            "use.py": "import pool, box\n\n\ndef use(some):\n    return some.take()\n",
        },
    )
    memories = memories_in(tmp_path)
    with memories.of("") as wk:
        wk.graph.build(workers=1)
    memories.close()
    with talking_in(tmp_path) as talk:
        found = talk.call("analyze_impact", name="pool.py::Pool.take")
        text = talk.text("analyze_impact", name="pool.py::Pool.take")
    assert [(one["path"], one["line"]) for one in found["unresolved"]] == [("use.py", 5)]
    assert "Unresolved, may be calls of it (1):\n  use.py:5 some.take" in text


def test_an_agent_follows_a_value(folder: Path) -> None:
    with talking_in(folder) as talk:
        found = talk.call("trace_data_flow", name="web.py::handle", value="request")
        ((step,),) = found["paths"]
        assert (step["node"]["id"], step["how"]) == ("shop.py::order", "passed as name")
        text = talk.text("trace_data_flow", name="web.py::handle", value="request")
        assert text == "1.00 web.py::handle -> shop.py::order (passed as name, line 5)"
        assert "no way was found" in talk.text("trace_data_flow", name="web.py", value="nothing")
        assert "shop.py" in talk.text("get_dependencies", name="web.py")


def test_a_name_that_is_unknown_or_a_graph_that_is_missing_says_what_to_do(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with talking_in(folder) as talk:
        assert "nothing called 'nope.py'" in talk.error("analyze_impact", name="nope.py")
    empty = tmp_path_factory.mktemp("empty")
    with talking_in(empty) as talk:
        assert "wellkept graph build" in talk.error("trace_data_flow", name="web.py")


def test_http_gives_what_mcp_gives(folder: Path) -> None:
    with talking_in(folder) as talk:
        said = {tool: talk.call(tool, **asked) for tool, asked in ASKED.items()}
    with served_in(folder) as web:
        for tool, asked in ASKED.items():
            given = web.post(tool, **asked)
            assert given == web.get(tool, **asked)
            assert said[tool] == given


@pytest.mark.feature("E1")
def test_an_agent_draws_an_edge_that_impact_follows(folder: Path) -> None:
    with talking_in(folder) as talk:
        talk.call("graph_note", kind="invariant", name="cents", text="Amounts are cents.")
        talk.call("graph_link", source="shop.py", kind="applies_pattern", target="invariant:cents")
        assert "web.py" in talk.call("analyze_impact", name="invariant:cents")["files"]
        assert "Amounts are cents." in talk.text("graph_show")
        assert "kind: 'likes' is none of" in talk.error(
            "graph_link", source="shop.py", kind="likes", target="web.py"
        )


@pytest.mark.feature("E2")
def test_a_changed_file_is_stale_before_the_next_build(folder: Path) -> None:
    write(folder, {"shop.py": "def order(name):\n    return name.strip()\n"})
    with served_in(folder) as web:
        assert web.get("graph/show")["status"]["stale"] == ["shop.py"]
