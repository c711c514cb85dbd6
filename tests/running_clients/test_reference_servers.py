"""The agent's MCP client against the protocol's reference servers from npm (G3, F2)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from tests.running_clients.starting import ROOT
from wellkept.core.records import replace
from wellkept_agent import ToolContext, ToolOutput
from wellkept_agent.mcp_client.config import McpServer
from wellkept_agent.mcp_client.toolset import McpToolset
from wellkept_agent.settings import McpSettings
from wellkept_agent.tools.base import ToolRegistry

_BIN = ROOT / "mcp-servers/node_modules/.bin"
EVERYTHING = McpServer(
    name="everything", transport="stdio", command=str(_BIN / "mcp-server-everything")
)
FILES = McpServer(name="files", transport="stdio", command=str(_BIN / "mcp-server-filesystem"))

pytestmark = [
    pytest.mark.feature("G3"),
    pytest.mark.skipif(
        not (_BIN / "mcp-server-everything").exists(),
        reason="the reference servers are not below $WELLKEPT_CLIENTS; see `make test-clients`",
    ),
]


class Connected:
    """Servers in a registry, and what they reported."""

    def __init__(self, root: Path) -> None:
        self.registry = ToolRegistry()
        self.problems: list[str] = []
        self.toolset = McpToolset(
            self.registry,
            root=root,
            settings=McpSettings(first_wait_s=0.01),
            environment={"TOKEN": "t-1"},
            report=lambda _source, problem: self.problems.append(problem),
        )

    async def run(self, name: str, **arguments: object) -> ToolOutput:
        tool = self.registry.get(f"mcp:{name}")
        assert tool is not None
        context: ToolContext = None  # pyright: ignore[reportAssignmentType]
        return await tool.execute(context, arguments)


def _with(root: Path, work: Callable[[Connected], Awaitable[None]]) -> Connected:
    connected = Connected(root)

    async def done() -> None:
        try:
            await work(connected)
        finally:
            await connected.toolset.close()

    asyncio.run(asyncio.wait_for(done(), 180))
    return connected


def test_every_kind_of_result_is_understood(tmp_path: Path) -> None:
    async def work(connected: Connected) -> None:
        tools = await connected.toolset.connect(EVERYTHING)
        assert len(tools) >= 10
        for tool in tools:
            text = json.dumps(tool.parameters)
            assert "$ref" not in text
            assert tool.description
        run = connected.run
        assert (await run("everything:echo", message="größer")).content == "Echo: größer"
        assert "5" in (await run("everything:get-sum", a=2, b=3)).content
        assert (await run("everything:get-tiny-image")).images
        structured = await run("everything:get-structured-content", location="New York")
        assert "temperature" in structured.content
        links = await run("everything:get-resource-links", count=2)
        assert "demo://resource" in links.content
        reference = await run("everything:get-resource-reference", resourceType="Text")
        assert "demo://" in reference.content
        assert str(tmp_path.resolve()) in (await run("everything:get-roots-list")).content
        assert "WELLKEPT_HOME" not in (await run("everything:get-env")).content
        wrong = await run("everything:get-sum", a="x")
        assert wrong.is_error

    _with(tmp_path, work)


@pytest.mark.feature("F2")
def test_its_prompts_are_listed_and_fetched(tmp_path: Path) -> None:
    async def work(connected: Connected) -> None:
        await connected.toolset.connect(EVERYTHING)
        prompts = {one.name: one for one in connected.toolset.prompts()}
        assert [a.name for a in prompts["args-prompt"].arguments if a.required] == ["city"]
        text = await connected.toolset.prompt("everything", "args-prompt", {"city": "Bern"})
        assert "Bern" in text

    _with(tmp_path, work)


def test_files_inside_the_project_only(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("inside", "utf-8")

    async def work(connected: Connected) -> None:
        await connected.toolset.connect(replace(FILES, args=(str(tmp_path),)))
        inside = await connected.run("files:read_text_file", path=str(tmp_path / "a.txt"))
        assert inside.content == "inside"
        outside = await connected.run("files:read_text_file", path="/etc/hostname")
        assert outside.is_error
        await connected.run("files:write_file", path=str(tmp_path / "b.txt"), content="new")
        assert (tmp_path / "b.txt").read_text("utf-8") == "new"

    _with(tmp_path, work)


def test_one_that_is_killed_comes_back(tmp_path: Path) -> None:
    script = tmp_path / "start"
    script.write_text(f'#!/bin/sh\necho $$ > pid\nexec "{EVERYTHING.command}"\n', "utf-8")
    script.chmod(0o755)

    async def work(connected: Connected) -> None:
        await connected.toolset.connect(replace(EVERYTHING, command=str(script)))
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        while not connected.problems:
            await asyncio.sleep(0.01)
        assert (await connected.run("everything:echo", message="again")).content == "Echo: again"

    assert "started again" in _with(tmp_path, work).problems[0]


@pytest.fixture(params=["http", "sse"])
def remote(request: pytest.FixtureRequest) -> Iterator[McpServer]:
    """The server over HTTP, in either form."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mode, path = ("streamableHttp", "/mcp") if request.param == "http" else ("sse", "/sse")
    process = subprocess.Popen(
        [EVERYTHING.command, mode],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield McpServer(
            name="everything",
            transport=request.param,
            url=f"http://127.0.0.1:{port}{path}",
            headers={"Authorization": "Bearer ${TOKEN}"},
        )
    finally:
        process.kill()
        process.wait()


def test_it_is_reached_over_http_and_sse(remote: McpServer, tmp_path: Path) -> None:
    async def work(connected: Connected) -> None:
        await connected.toolset.connect(remote)
        assert (await connected.run("everything:echo", message="hi")).content == "Echo: hi"

    assert _with(tmp_path, work).problems == []
