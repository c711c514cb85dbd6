"""Warnings before a command runs that failed here before: an option, as in other clients (D11)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import wellkept
from tests.wiring.conftest import MakeAgent, run_session
from wellkept.core.chat.messages import ToolResultPart
from wellkept.testing.scripted_model import ScriptedModel, call, calls
from wellkept_agent import Agent

pytestmark = [pytest.mark.anyio, pytest.mark.feature("G1", "D11")]

SHIPS = "SHIP_REGION=eu-west make ship"


@pytest.fixture
async def learned(make_agent: MakeAgent) -> None:
    """Two sessions in which the plain form failed."""
    for task in ("Ship it to production", "Ship the fix, please"):
        agent, _ = make_agent(
            [
                calls(call("Bash", command="make ship")),
                calls(call("Bash", command=SHIPS)),
                "Shipped.",
            ]
        )
        await run_session(agent, task)


def agent_of(project: Path, **environment: str) -> tuple[wellkept.Wellkept, Agent, ScriptedModel]:
    """The same memory with other settings; the plain form is called twice."""
    wk = wellkept.open(cwd=project, embedder="none", environment={**os.environ, **environment})
    plain: Any = calls(call("Bash", command="make ship"))
    model = ScriptedModel([plain, calls(call("Bash", command="make ship")), "Done."])
    return wk, wk.agent(model, permission_mode="bypass"), model


async def results(agent: Agent, model: ScriptedModel) -> list[ToolResultPart]:
    await run_session(agent, "Bring it out")
    return [one for message in model.requests[-1].messages for one in message.tool_results]


async def test_a_command_that_failed_in_two_sessions_is_held_once(
    learned: None, project: Path
) -> None:
    wk, agent, model = agent_of(project, WELLKEPT_CAPTURE_BEFORE_TOOLS="on")
    with wk:
        held, ran = await results(agent, model)
        assert held.is_error
        assert held.content.startswith("Not run: ")
        assert f"`{SHIPS}`" in held.content
        assert "<wellkept-memory" in held.content
        # Asked for once more, it runs; and only the run is a failure to learn from.
        assert "SHIP_REGION is not set" in ran.content
        moments = [one.moment for one in wk.injected.list().items]
        assert "command" in moments


async def test_it_is_off_by_default(learned: None, project: Path) -> None:
    wk, agent, model = agent_of(project)
    with wk:
        first, second = await results(agent, model)
    assert "Not run" not in first.content + second.content
    assert "SHIP_REGION is not set" in first.content


async def test_a_failure_of_one_session_holds_nothing(make_agent: MakeAgent, project: Path) -> None:
    agent, _ = make_agent(
        [calls(call("Bash", command="make ship")), calls(call("Bash", command=SHIPS)), "Shipped."]
    )
    await run_session(agent, "Ship it to production")
    wk, agent, model = agent_of(project, WELLKEPT_CAPTURE_BEFORE_TOOLS="on")
    with wk:
        first, _ = await results(agent, model)
    assert "Not run" not in first.content
