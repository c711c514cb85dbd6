"""The examples of the adapters: the real framework, a scripted model on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import wellkept
from tests.support.chat_server import ChatServer
from wellkept.testing.scripted_model import call, calls

pytestmark = pytest.mark.feature("I2")

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
DEPLOY = "We deploy to the staging cluster first"
Run = Callable[..., tuple[str, list[Any]]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def run(project: Path, home: Path) -> Run:
    """Run an example against a script: what it printed, and what the model was asked."""

    def running(name: str, script: Iterable[Any], *arguments: str) -> tuple[str, list[Any]]:
        with ChatServer(list(script)) as server:
            done = subprocess.run(
                [sys.executable, str(EXAMPLES / name), *arguments],
                cwd=project,
                env={
                    **os.environ,
                    "WELLKEPT_HOME": str(home),
                    "ANTHROPIC_API_KEY": "a-key-for-tests",
                    "ANTHROPIC_BASE_URL": server.url,
                    "OPENAI_API_KEY": "a-key-for-tests",
                    "OPENAI_BASE_URL": server.openai_url,
                    "LANGSMITH_TRACING": "false",
                },
                capture_output=True,
                text=True,
                timeout=170,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout.strip(), server.bodies

    return running


def kept(project: Path) -> list[str]:
    with wellkept.open(cwd=project) as wk:
        return [memory.content for memory in wk.iterate()]


def known(project: Path) -> None:
    with wellkept.open(cwd=project) as wk:
        wk.remember(DEPLOY, type="decision")


def test_anthropic_memory_tool(run: Run, project: Path) -> None:
    file = "/memories/deploy.md"
    printed, bodies = run(
        "anthropic_memory_tool.py",
        [
            calls(call("memory", command="view", path="/memories")),
            calls(call("memory", command="create", path=file, file_text="Deploy on Fridays\n")),
            calls(call("memory", command="view", path="/memories/../etc/passwd")),
            "Noted.",
        ],
    )
    assert printed == "Noted."
    assert bodies[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert "up to 2 levels deep in /memories" in str(bodies[1]["messages"][-1])
    assert "File created successfully" in str(bodies[2]["messages"][-1])
    assert "would escape /memories" in str(bodies[3]["messages"][-1])
    assert kept(project) == ["Deploy on Fridays"]


def test_langgraph_memory(run: Run, project: Path) -> None:
    known(project)
    printed, (asked,) = run("langgraph_memory.py", ["To staging."])
    assert printed == "To staging."
    assert DEPLOY in asked["messages"][0]["content"]
    run("langgraph_memory.py", ["Still to staging."], "And now?")
    texts = kept(project)
    assert {"Where do we deploy?", "To staging.", "And now?", "Still to staging."} <= set(texts)
    assert "2" in texts


def test_openai_agents_session(run: Run, project: Path) -> None:
    known(project)
    printed, (asked,) = run("openai_agents_session.py", ["To staging."])
    assert printed == "To staging."
    assert DEPLOY in str(asked["messages"][0])
    _, (again,) = run("openai_agents_session.py", ["Yes."], "Really?")
    said = [str(one["content"]) for one in again["messages"][1:]]
    assert [
        next(text for text in ("Where do we deploy?", "To staging.", "Really?") if text in one)
        for one in said
    ] == ["Where do we deploy?", "To staging.", "Really?"]


def test_pydantic_ai_tools(run: Run, project: Path) -> None:
    printed, bodies = run(
        "pydantic_ai_tools.py", [calls(call("remember", statement=DEPLOY)), "Noted."]
    )
    assert printed == "Noted."
    assert {tool["function"]["name"] for tool in bodies[0]["tools"]} == {
        "recall_memory",
        "remember",
        "forget_memory",
    }
    assert "inserted" in str(bodies[1]["messages"][-1])
    assert kept(project) == [DEPLOY]
    _, (asked,) = run("pydantic_ai_tools.py", ["To staging."], "Where do we deploy?")
    assert DEPLOY in str(asked["messages"])


def test_llama_index_block(run: Run, project: Path) -> None:
    known(project)
    printed, (asked,) = run("llama_index_block.py", ["To staging."])
    assert printed == "To staging."
    assert DEPLOY in str(asked["messages"][0])
    assert {"Where do we deploy?", "To staging."} <= set(kept(project))


def test_mem0_switch(run: Run, project: Path) -> None:
    printed, bodies = run("mem0_switch.py", [])
    assert printed == "I like pizza with mushrooms"
    assert bodies == []
    assert len(kept(project)) == 2


def test_every_adapter_has_an_example_and_a_section_of_the_guide() -> None:
    source = EXAMPLES.parent / "packages/wellkept-adapters/src/wellkept_adapters"
    shared = {"__init__", "frameworks", "items", "recalled", "value_filters"}
    guide = (EXAMPLES.parent / "docs" / "guides" / "integrations.md").read_text("utf-8")
    examples = "\n".join(path.read_text("utf-8") for path in EXAMPLES.glob("*.py"))
    adapters = {path.stem for path in source.glob("*.py")} - shared
    assert "langgraph" in adapters
    for name in adapters:
        assert f"wellkept_adapters.{name} import" in examples
        assert f"wellkept_adapters.{name} import" in guide
