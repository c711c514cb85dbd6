"""A git project, its memory, and agents with a scripted model that work in it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wellkept
from wellkept.testing.scripted_model import Script, ScriptedModel
from wellkept_agent import Agent, AgentSession, RunResult

MAKEFILE = """\
ship:
\t@test -n "$$SHIP_REGION" || { echo "SHIP_REGION is not set"; exit 3; }
\t@echo shipped to $$SHIP_REGION
"""


MakeAgent = Callable[..., tuple[Agent, ScriptedModel]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "Makefile").write_text(MAKEFILE, "utf-8")
    (folder / "orders.py").write_text("def total(order):\n    return sum(order)\n", "utf-8")
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        ("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first"),
    ):
        subprocess.run(("git", *words), cwd=folder, check=True)
    return folder


@pytest.fixture
def wk(project: Path) -> Iterator[wellkept.Wellkept]:
    with wellkept.open(cwd=project, embedder="none") as opened:
        yield opened


@pytest.fixture
def make_agent(wk: wellkept.Wellkept) -> MakeAgent:
    def made(script: Script, **options: Any) -> tuple[Agent, ScriptedModel]:
        model = options.pop("model", None) or ScriptedModel(script)
        options.setdefault("permission_mode", "bypass")
        return wk.agent(model, **options), model

    return made


async def run_session(agent: Agent, *prompts: str) -> tuple[AgentSession, list[RunResult]]:
    """One session with these prompts, closed at its end."""
    async with agent.session() as session:
        results = [await session.run(prompt) for prompt in prompts]
    return session, results
