"""`wellkept` without the agent, teams and adapters: everything else works, and these say what to
install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from scripts.dist import ROOT

pytestmark = pytest.mark.feature("I3")

WORKING = (
    ["remember", "Deploys go through the staging cluster first"],
    ["recall", "how do we deploy"],
    ["context"],
    ["ask", "which cluster do deploys go through first"],
    ["config", "show"],
    ["doctor"],
    ["skill", "list"],
    ["spool", "drain"],
    ["handoff", "main"],
)
MISSING = {
    "agent": (["agent", "fix it"], ["chat"], ["config", "set", "agent.model", "openai:gpt-5"]),
    "team": (
        ["team", "people"],
        ["share", "status"],
        ["remote", "status"],
        ["move", "postgresql://127.0.0.1:1/x"],
        ["serve", "--database", "postgresql://127.0.0.1:1/x"],
        ["--store", "postgresql://127.0.0.1:1/x", "stats"],
    ),
}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("alone")
    commands = [*WORKING, *MISSING["agent"], *MISSING["team"]]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "WELLKEPT_HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.packaging.alone", str(folder), json.dumps(commands)],
        cwd=ROOT,
        env={**environment, "WELLKEPT_EMBEDDING_PROVIDER": "none"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_module_imports_and_none_of_the_others(alone: dict[str, Any]) -> None:
    assert alone["modules"] == {}
    assert alone["loaded"] == []


def test_commands_of_memory_work(alone: dict[str, Any]) -> None:
    done = dict(zip(map(" ".join, WORKING), alone["commands"], strict=False))
    nothing_known = {"handoff main": 1}
    assert {name: code for name, (code, _) in done.items()} == dict.fromkeys(
        done, 0
    ) | nothing_known


@pytest.mark.parametrize("extra", ["agent", "team"])
def test_other_commands_say_in_a_line_what_to_install(alone: dict[str, Any], extra: str) -> None:
    said = alone["commands"][len(WORKING) :]
    said = said[: len(MISSING["agent"])] if extra == "agent" else said[len(MISSING["agent"]) :]
    assert len(said) == len(MISSING[extra])
    for code, told in said:
        assert code == 2
        assert f"This needs the package wellkept-{extra}." in told
        assert f"pip install 'wellkept[{extra}]'" in told


def test_library_calls_and_routes_say_it_too(alone: dict[str, Any]) -> None:
    for name, told in alone["library"].items():
        extra = "agent" if "agent" in name else "adapters" if "integrations" in name else "team"
        assert f"pip install 'wellkept[{extra}]'" in told, name
    assert all("pip install 'wellkept[team]'" in told for told in alone["routes"])
