"""MCP servers of a user and of a project in `wk.agent` (G3), their prompts as skills (F2)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.wiring.conftest import MakeAgent
from wellkept.core.errors import UsageError
from wellkept.core.records import replace
from wellkept.testing.scripted_model import call, calls
from wellkept_agent import Decision, PermissionRequest
from wellkept_agent.events import ProblemReported
from wellkept_agent.mcp_client.capability import ProjectServerTrust, known_servers
from wellkept_agent.permissions import Unattended

pytestmark = pytest.mark.feature("G3")

_ENTRY = {
    "command": sys.executable,
    "args": ["-m", "tests.support.mcp_server"],
    "env": {"PYTHONPATH": os.pathsep.join(sys.path)},
}


class Yes(Unattended):
    """A person who allows everything, for good."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def permit(self, request: PermissionRequest) -> Decision:
        self.asked.append(request.tool)
        return Decision.ALLOW_ALWAYS


class No(Unattended):
    """A person who allows nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def permit(self, request: PermissionRequest) -> Decision:
        self.asked.append(request.tool)
        return Decision.DENY


def _write(path: Path, **servers: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}), "utf-8")


@pytest.mark.feature("F2")
def test_a_projects_server_asks_once_and_its_prompts_are_skills(
    project: Path, make_agent: MakeAgent
) -> None:
    _write(project / ".mcp.json", habits=_ENTRY)
    person = Yes()

    async def session() -> list[str]:
        script = [calls(call("mcp:habits:add", a=40, b=2)), "It is 42.", "Reviewed."]
        agent, model = make_agent(script, person=person, permission_mode="default")
        async with agent.session() as opened:
            await opened.run("Add.")
            await opened.run("/habits:review orders.py rude")
        return [request.messages[-1].text for request in model.requests]

    texts = asyncio.run(asyncio.wait_for(session(), 120))
    assert "Review orders.py. Be rude." in texts[-1]
    assert person.asked == ["mcp:habits", "mcp:habits:add"]
    asyncio.run(asyncio.wait_for(session(), 120))
    # The server is trusted from now on; a call is asked for in each session.
    assert person.asked == ["mcp:habits", "mcp:habits:add", "mcp:habits:add"]


def test_broken_files_are_reported_and_the_session_goes_on(
    project: Path, make_agent: MakeAgent
) -> None:
    (project / ".mcp.json").write_text("{broken", "utf-8")
    agent, _ = make_agent(["Hi."])
    seen: list[object] = []

    async def run() -> bool:
        async with agent.session() as session:
            session.listen(seen.append)
            return (await session.run("Hello")).ok

    assert asyncio.run(asyncio.wait_for(run(), 60))
    problems = [one for one in seen if isinstance(one, ProblemReported) and one.source == "mcp"]
    assert ".mcp.json" in problems[0].message


def test_the_users_servers_win_and_need_no_yes(tmp_path: Path) -> None:
    _write(tmp_path / "mcp.json", shared=_ENTRY)
    _write(tmp_path / ".mcp.json", shared={"command": "evil"}, other={"command": "x"})
    servers, problems = known_servers(tmp_path / "mcp.json", tmp_path / ".mcp.json")
    assert problems == []
    found = {one.name: (one.command, one.from_project) for one in servers}
    assert found == {"shared": (sys.executable, False), "other": ("x", True)}


def test_trust_holds_for_one_folder_and_exactly_these_words(tmp_path: Path) -> None:
    _write(tmp_path / ".mcp.json", habits=_ENTRY)
    [server], _ = known_servers(tmp_path / "none.json", tmp_path / ".mcp.json")
    file = tmp_path / "data" / "mcp-trust.json"
    ProjectServerTrust(file, tmp_path).trust(server)
    again = ProjectServerTrust(file, tmp_path)
    assert again.is_trusted(server)
    assert not again.is_trusted(replace(server, args=("-c", "evil")))
    assert not again.is_trusted(replace(server, env={"PATH": "/evil"}))
    assert not ProjectServerTrust(file, tmp_path / "elsewhere").is_trusted(server)


def test_servers_of_a_named_file_start_unasked_and_win(
    project: Path, tmp_path: Path, make_agent: MakeAgent
) -> None:
    _write(project / ".mcp.json", habits={"command": "/nowhere"}, other={"command": "/nowhere"})
    _write(tmp_path / "mine.json", habits=_ENTRY)
    person = No()
    script = [calls(call("mcp:habits:add", a=40, b=2)), "It is 42."]
    agent, model = make_agent(script, person=person, mcp_config=[tmp_path / "mine.json"])

    async def session() -> None:
        async with agent.session() as opened:
            await opened.run("Add.")

    asyncio.run(asyncio.wait_for(session(), 200))
    # Asked only for the server that the project brings.
    assert person.asked == ["mcp:other"]
    assert model.requests[1].messages[-1].tool_results[0].content == "42"


@pytest.mark.parametrize(
    ("text", "said"), [(None, "There is no file"), ("{", "cannot be read"), ("{}", "mcpServers")]
)
def test_a_named_file_that_cannot_be_read_is_an_error(
    tmp_path: Path, make_agent: MakeAgent, text: str | None, said: str
) -> None:
    path = tmp_path / "mine.json"
    if text is not None:
        path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=said):
        make_agent([], mcp_config=[path])
