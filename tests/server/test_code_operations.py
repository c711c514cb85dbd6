"""A question for code over MCP and HTTP: files with their functions and lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codegraph.trees import write
from tests.server.http_serving import served_in
from tests.server.mcp_client import talking_in

pytestmark = pytest.mark.feature("E5")

FILES = {
    "src/pool.py": (
        "class Pool:\n    def take(self, timeout_s):\n"
        '        """Wait until a connection is free."""\n        return self.queue.get(timeout_s)\n'
    ),
    "src/urls.py": "def parse_url(text):\n    return text.split(':')\n",
    "tests/test_pool.py": "def test_wait_for_a_free_connection():\n    pass\n",
    ".github/workflows/checks.yml": "on: push\n",
    "CHANGELOG.md": "We wait until a connection is free.\n" * 5,
}
ASKED = "where do we wait for a free connection?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, FILES)
    return tmp_path


def test_an_agent_finds_the_function_with_its_lines(folder: Path) -> None:
    with talking_in(folder) as talk:
        file = talk.call("search_code", query=ASKED)["files"][0]
        assert file["path"] == "src/pool.py"
        symbol = next(one for one in file["symbols"] if one["kind"] == "function")
        assert (symbol["name"], symbol["line"], symbol["end_line"]) == ("Pool.take", 2, 4)
        assert symbol["signature"] == "def take(self, timeout_s)"
        assert symbol["summary"] == "Wait until a connection is free."
        text = talk.text("search_code", query=ASKED)
        assert "src/pool.py:2 Pool.take  Wait until a connection is free." in text
        ci = talk.call("search_code", query="where is CI configured?")["files"][0]
        assert ci["path"] == ".github/workflows/checks.yml"


def test_the_answer_over_http_is_the_same(folder: Path) -> None:
    with talking_in(folder) as talk:
        over_mcp = talk.call("search_code", query=ASKED)
    with served_in(folder) as served:
        given = served.post("search_code", query=ASKED)
    assert given == over_mcp
