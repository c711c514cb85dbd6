"""I. Integrations: a repository on its first day, each adapter in its example with the real framework
and a scripted model on loopback, the wheel in an empty environment, the site."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import wellkept
from scripts import dist, try_wheel
from tests.journeys.product import Installation
from tests.support.chat_server import ChatServer
from wellkept.testing.scripted_model import call, calls

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
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


@pytest.mark.feature("I1")
def test_i1_a_repository_is_known_on_the_first_day(here: Installation) -> None:
    here.file(
        "README.md", "# Widget\n\nSells widgets to gardeners.\n\n## Tests\n\n    make check\n"
    )
    here.file("Makefile", "check:\n\tpytest tests\n")
    here.file("src/pay.py", "def pay(amount):\n    return amount\n")
    here.commit("Keep cents\n\nAmounts are kept in cents because floats lost a cent in March.")
    here.wellkept("init")
    assert "make check" in " ".join(here.found("how do I run the tests?"))
    assert "floats lost a cent" in " ".join(here.found("why are amounts kept in cents?"))
    assert "src/" in " ".join(here.found("where is the code?", "--min-score", "0"))
    count = len(here.listed())
    here.wellkept("init")
    assert len(here.listed()) == count


@pytest.mark.feature("I2")
def test_i2_anthropic_memory_tool(run: Run, project: Path) -> None:
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


@pytest.mark.feature("I2")
def test_i2_langgraph_memory(run: Run, project: Path) -> None:
    known(project)
    printed, (asked,) = run("langgraph_memory.py", ["To staging."])
    assert printed == "To staging."
    assert DEPLOY in asked["messages"][0]["content"]
    run("langgraph_memory.py", ["Still to staging."], "And now?")
    texts = kept(project)
    assert {"Where do we deploy?", "To staging.", "And now?", "Still to staging."} <= set(texts)
    assert "2" in texts


@pytest.mark.feature("I2")
def test_i2_openai_agents_session(run: Run, project: Path) -> None:
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


@pytest.mark.feature("I2")
def test_i2_pydantic_ai_tools(run: Run, project: Path) -> None:
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


@pytest.mark.feature("I2")
def test_i2_llama_index_block(run: Run, project: Path) -> None:
    known(project)
    printed, (asked,) = run("llama_index_block.py", ["To staging."])
    assert printed == "To staging."
    assert DEPLOY in str(asked["messages"][0])
    assert {"Where do we deploy?", "To staging."} <= set(kept(project))


@pytest.mark.feature("I2")
def test_i2_mem0_switch(run: Run, project: Path) -> None:
    printed, bodies = run("mem0_switch.py", [])
    assert printed == "I like pizza with mushrooms"
    assert bodies == []
    assert len(kept(project)) == 2


@pytest.mark.feature("I2")
def test_i2_every_adapter_has_an_example_and_a_section_of_the_guide() -> None:
    source = ROOT / "packages/wellkept-adapters/src/wellkept_adapters"
    shared = {"__init__", "frameworks", "items", "recalled", "value_filters"}
    guide = (ROOT / "docs" / "guides" / "integrations.md").read_text("utf-8")
    examples = "\n".join(path.read_text("utf-8") for path in EXAMPLES.glob("*.py"))
    adapters = {path.stem for path in source.glob("*.py")} - shared
    assert "langgraph" in adapters
    for name in adapters:
        assert f"wellkept_adapters.{name} import" in examples
        assert f"wellkept_adapters.{name} import" in guide


@pytest.mark.feature("I3")
def test_i3_a_newcomer_installs_the_wheel_alone_and_takes_the_tour(tmp_path: Path) -> None:
    sdist, wheel = dist.build(tmp_path / "dist")
    page = (dist.PAGE,) if (ROOT / "packages/wellkept/src" / dist.PAGE).exists() else ()
    needed = (*dist.DISTRIBUTIONS["wellkept"], *page)
    assert dist.problems(sdist, wheel, needed=needed) == []
    programs = try_wheel.environment(tmp_path / "venv")
    try_wheel.install([wheel], programs)
    printed = try_wheel.try_out(programs, tmp_path)
    assert dist.version() in printed["version"]
    assert "make test" in printed["tour"]
    assert "Fruit is weighed in grams" in printed["recall"]
    assert "grams" in printed["hook"]
    answers = [json.loads(line) for line in printed["mcp"].splitlines()]
    (listed,) = [one["result"]["tools"] for one in answers if one.get("id") == 2]
    assert "memory_recall" in {tool["name"] for tool in listed}
    agent, team = try_wheel.try_missing(programs)
    assert "pip install 'wellkept[agent]'" in agent
    assert "pip install 'wellkept[team]'" in team


@pytest.mark.feature("I4")
def test_i4_the_site_is_whole_and_the_readme_can_be_followed(here: Installation) -> None:
    out = here.repository.parent / "site"
    line = (sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out))
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = " ".join(str(page.relative_to(out)) for page in out.rglob("*.html"))
    for name in ("comparison", "faq", "troubleshooting", "reference/cli"):
        assert name in pages, name
    readme = (ROOT / "README.md").read_text("utf-8")
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", readme)
    assert len(pictures) >= 2
    assert all((ROOT / one).exists() for one in pictures)
    # "Five minutes", line by line, as it stands there.
    shown = re.findall(r"^\$ (wellkept (?!admin import|\w+ ID).+)$", readme, re.MULTILINE)
    told = [here.run("sh", "-c", f"{sys.executable} -m wellkept.cli {one[9:]}") for one in shown]
    assert len(told) >= 6
    assert {one.code for one in told} <= {0, 1}, list(zip(shown, told, strict=True))
    printed = "".join(one.out for one in told)
    assert "The API server listens on port 9090" in printed
    assert "Amounts are integer cents" in printed
