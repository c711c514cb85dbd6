"""The examples run as they stand, each in a process of its own, against a server on loopback."""

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

pytestmark = pytest.mark.feature("G1", "G2")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Run = Callable[..., tuple[str, list[Any]]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "orders.py").write_text("def total(order):\n    return sum(order)\n", "utf-8")
    (folder / "Makefile").write_text("test:\n\t@echo 1 passed\n", "utf-8")
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    return folder


@pytest.fixture
def run(project: Path, home: Path) -> Run:
    """Run an example with a server that follows a script: what it printed, and what was asked."""

    def running(
        name: str, script: Iterable[Any], *arguments: str, **environment: str
    ) -> tuple[str, list[Any]]:
        with ChatServer(list(script)) as server:
            done = subprocess.run(
                [sys.executable, str(EXAMPLES / name), *arguments],
                cwd=project,
                env={
                    **os.environ,
                    "WELLKEPT_HOME": str(home),
                    "WELLKEPT_EMBEDDING_PROVIDER": "none",
                    "WELLKEPT_AGENT_BASE_URL": server.url,
                    "ANTHROPIC_API_KEY": "a-key-for-tests",
                    "OPENAI_API_KEY": "a-key-for-tests",
                    "OPENAI_BASE_URL": server.openai_url,
                    **environment,
                },
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout.strip(), server.bodies

    return running


@pytest.mark.parametrize(
    "name", ["agent_with_memory.py", "own_tool.py", "typed_result.py", "own_hook.py"]
)
def test_it_takes_about_ten_lines(name: str) -> None:
    lines = [one for one in (EXAMPLES / name).read_text("utf-8").splitlines() if one.strip()]
    assert len([one for one in lines if not one.startswith(("import ", "from ", '"""'))]) <= 10


def test_an_agent_with_memory(run: Run) -> None:
    printed, _ = run("agent_with_memory.py", ["Noted."], "Always write amounts in cents.")
    assert printed == "Noted."
    _, (first, *_) = run("agent_with_memory.py", ["Done."], "Add a discount to orders.py")
    assert "amounts in cents" in str(first["messages"])


def test_a_tool_of_ones_own(run: Run) -> None:
    printed, bodies = run(
        "own_tool.py",
        [calls(call("count_lines", file_path="orders.py", skip=None)), "It has 2 lines."],
    )
    assert printed == "It has 2 lines."
    (told,) = bodies[0]["tools"]
    assert told["description"].startswith("Count the lines of a file of this project")
    assert told["input_schema"]["properties"]["skip"] == {"type": ["string", "null"]}
    assert "'text': '2'" in str(bodies[1]["messages"][-1])


def test_a_result_of_a_type(run: Run) -> None:
    printed, bodies = run(
        "typed_result.py",
        [
            "It divides by zero.",
            calls(call("final_result", verdict="wrong", problems="it divides by zero")),
            calls(call("final_result", verdict="wrong", problems=["it divides by zero"])),
        ],
    )
    assert printed == "wrong: 1 problem"
    assert "final_result" in str(bodies[1]["messages"][-1])
    assert "problems: Input should be a valid list" in str(bodies[2]["messages"][-1])


def test_a_hook_of_ones_own(run: Run, project: Path) -> None:
    (project / ".env").write_text("TOKEN=1\n", "utf-8")
    printed, bodies = run(
        "own_hook.py", [calls(call("Read", file_path=".env")), "I may not read it."]
    )
    assert printed == "I may not read it."
    told = str(bodies[1]["messages"][-1])
    assert "Not this file." in told
    assert "TOKEN" not in told


def test_a_capability_of_ones_own(run: Run) -> None:
    printed, bodies = run(
        "own_capability.py",
        ["I am done.", calls(call("Bash", command="make test")), "Now it is tested."],
    )
    assert printed == "Now it is tested."
    assert "make test" in str(bodies[0]["system"])
    assert "see it pass before you finish" in str(bodies[1]["messages"][-1])


def test_a_methodology_of_ones_own(run: Run, tmp_path: Path) -> None:
    installed = tmp_path / "site" / "kanban_board-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Name: kanban-board\nVersion: 1.0\n", "utf-8")
    (installed / "entry_points.txt").write_text("[wellkept]\nboard = kanban_board\n", "utf-8")
    printed, bodies = run(
        "own_methodology/work_on_card.py",
        ["Done."],
        PYTHONPATH=os.pathsep.join([str(tmp_path / "site"), str(EXAMPLES / "own_methodology")]),
        WELLKEPT_METHODOLOGY="board",
    )
    assert printed == "Done."
    assert "valid in upper and lower case" in str(bodies[0]["messages"])


def test_only_the_memory_with_another_framework(run: Run, project: Path) -> None:
    with wellkept.open(cwd=project, embedder="none") as wk:
        wk.remember("We write amounts in cents", type="convention")
    printed, (asked,) = run("memory_only.py", ["In cents."])
    assert printed == "In cents."
    assert "We write amounts in cents" in asked["messages"][0]["content"]
    with wellkept.open(cwd=project, embedder="none") as wk:
        assert any("In cents." in memory.content for memory in wk.iterate())


def test_every_example_is_run_here_and_listed() -> None:
    adapters = (EXAMPLES.parent / "packages/wellkept-adapters/tests").rglob("test_*.py")
    generic = EXAMPLES.parent / "tests/clients/test_generic.py"
    journeys = EXAMPLES.parent / "tests/journeys/test_i_integrations.py"
    tests = [Path(__file__), generic, journeys, *adapters]
    own = "".join(path.read_text("utf-8") for path in tests)
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f'"{path.name}"' in own
        assert f"`{path.name}`" in listed
