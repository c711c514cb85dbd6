"""MCP servers as tools (G3) and their prompts as skills (F2), with real servers."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import MakeSession
from wellkept.core.errors import ConflictError, NotFoundError, ProviderError, UsageError
from wellkept.core.ports.skills import PromptArgument, PromptDefinition, PromptSource
from wellkept.core.records import replace
from wellkept.testing.scripted_model import ScriptedModel, call, calls
from wellkept_agent import AgentSession, Decision, PermissionRequest, ToolContext, ToolOutput
from wellkept_agent.events import ProblemReported, ToolFinished
from wellkept_agent.mcp_client.capability import McpServers, prompt_arguments, prompt_of
from wellkept_agent.mcp_client.config import McpServer, parse_servers, read_servers
from wellkept_agent.mcp_client.connection import ServerState
from wellkept_agent.mcp_client.toolset import McpTool, McpToolset
from wellkept_agent.permissions import Unattended
from wellkept_agent.settings import McpSettings
from wellkept_agent.tools.base import ToolRegistry

pytestmark = pytest.mark.feature("G3")

HABITS = McpServer(
    name="habits",
    transport="stdio",
    command=sys.executable,
    args=("-m", "tests.support.mcp_server"),
    env={"PYTHONPATH": os.pathsep.join(sys.path)},
)
# No test waits for the limit, so that a machine under load changes nothing.
QUICK = McpSettings(first_wait_s=0.01, restarts=2, connect_time_limit_s=300)
LIMIT_S = 200


class Bench:
    """A toolset without a session."""

    def __init__(self, root: Path, settings: McpSettings = QUICK) -> None:
        self.registry = ToolRegistry()
        self.problems: list[str] = []
        self.toolset = McpToolset(
            self.registry,
            root=root,
            settings=settings,
            environment={"TOKEN": "t-1", "HOME": "/nowhere"},
            report=lambda source, problem: self.problems.append(f"{source}: {problem}"),
        )

    async def run(self, tool: str, **arguments: object) -> ToolOutput:
        """Call a tool by its own name."""
        found = self.registry.get(f"mcp:habits:{tool}")
        assert found is not None
        context: ToolContext = None  # pyright: ignore[reportAssignmentType]
        return await found.execute(context, arguments)


def _with(
    root: Path, work: Callable[[Bench], Awaitable[None]], settings: McpSettings = QUICK
) -> Bench:
    """Do something with the server connected; everything is closed afterwards."""
    bench = Bench(root, settings)

    async def done() -> None:
        try:
            await work(bench)
        finally:
            await bench.toolset.close()

    asyncio.run(asyncio.wait_for(done(), LIMIT_S))
    return bench


class SharedServer:
    """One server for the tests that do it no harm, on an event loop in a thread of its own."""

    def __init__(self, root: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        env = {**HABITS.env, "GIVEN": "x-${TOKEN}", "OTHER": "${MISSING:-fallback}"}
        self.bench = Bench(root, replace(QUICK, max_result_chars=2_000))
        self.do(self.bench.toolset.connect(replace(HABITS, env=env)))

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run something on the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(LIMIT_S)

    def run(self, tool: str, **arguments: object) -> ToolOutput:
        """Call a tool by its own name."""
        return self.do(self.bench.run(tool, **arguments))

    def close(self) -> None:
        self.do(self.bench.toolset.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    os.environ["SECRET_OF_PARENT"] = "s"
    server = SharedServer(tmp_path_factory.mktemp("root"))
    yield server
    server.close()
    del os.environ["SECRET_OF_PARENT"]


# -- Tools -----------------------------------------------------------------------------------------


def test_connect_gives_the_tools_and_disconnect_takes_them_away(tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        tools = await bench.toolset.connect(HABITS)
        assert [tool.name for tool in tools] == bench.registry.names()
        assert "mcp:habits:add" in bench.registry.names()
        with pytest.raises(ConflictError):
            await bench.toolset.connect(HABITS)
        assert bench.toolset.states() == {"habits": ServerState.CONNECTED}
        await bench.toolset.disconnect("habits")
        assert bench.registry.names() == []
        with pytest.raises(NotFoundError):
            await bench.toolset.disconnect("habits")
        assert len(await bench.toolset.connect(HABITS)) == len(tools)

    assert _with(tmp_path, work).problems == []


def test_tools_answer_with_text_pictures_and_errors(shared: SharedServer) -> None:
    assert shared.run("add", a=1, b=2).content == "3"
    assert [image.media_type for image in shared.run("draw").images] == ["image/png"]
    assert shared.run("fail").is_error
    assert shared.run("add", a="many").is_error


def test_schemas_are_plain_and_harmlessness_is_only_a_hint(shared: SharedServer) -> None:
    registry = shared.bench.registry
    definitions = {one.name: one for one in registry.definitions()}
    move = json.dumps(definitions["mcp:habits:move"].parameters)
    assert "$ref" not in move
    assert "$defs" not in move
    assert '"x": {"type": "integer"}' in move
    assert definitions["mcp:habits:add"].parameters["required"] == ["a"]
    add, move_tool = (registry.get(f"mcp:habits:{name}") for name in ("add", "move"))
    assert isinstance(add, McpTool)
    assert isinstance(move_tool, McpTool)
    assert (add.read_only, move_tool.read_only) == (True, False)
    context: ToolContext = None  # pyright: ignore[reportAssignmentType]
    assert add.wants(context, {"a": 1}) is not None


def test_output_without_measure_is_bounded(shared: SharedServer) -> None:
    output = shared.run("shout", characters=3_000_000)
    assert len(output.content) < 2_200
    assert "characters left out" in output.content
    assert "\0" not in output.content


def test_only_what_the_entry_names_is_in_a_servers_environment(shared: SharedServer) -> None:
    names = ("GIVEN", "OTHER", "SECRET_OF_PARENT")
    seen = [shared.run("environment", name=name).content for name in names]
    assert seen == ["x-t-1", "fallback", "[unset]"]


def test_tools_follow_what_the_server_says_of_changes(shared: SharedServer) -> None:
    names = shared.bench.registry.names
    assert "mcp:habits:learned" not in names()
    shared.run("learn")
    shared.do(_until(lambda: "mcp:habits:learned" in names()))
    assert shared.run("learned").content == "new"


def test_a_slow_tool_ends_at_its_limit_and_the_server_goes_on(tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        await bench.toolset.connect(replace(HABITS, time_limit_s=0.3))
        with pytest.raises(ProviderError, match=r"within 0\.3 s"):
            await bench.run("wait", seconds=1.0)
        assert bench.toolset.states() == {"habits": ServerState.CONNECTED}

    _with(tmp_path, work)


def test_more_tools_than_allowed_are_left_out_and_told(tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        assert len(await bench.toolset.connect(HABITS)) == 2

    bench = _with(tmp_path, work, replace(QUICK, max_tools=2))
    assert "left out" in bench.problems[0]


# -- Servers that fail -----------------------------------------------------------------------------


def test_a_server_that_dies_is_reported_and_started_again(tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        await bench.toolset.connect(HABITS)
        with pytest.raises(ProviderError, match="habits"):
            await bench.run("die")
        # The next call waits until the server is there again.
        await _until(lambda: bool(bench.problems))
        assert (await bench.run("add", a=2)).content == "3"

    [problem] = _with(tmp_path, work).problems
    assert "ended" in problem
    assert "asked to die" in problem
    assert "started again" in problem


def test_a_call_during_the_end_of_a_server_waits_for_the_next_one(tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        await bench.toolset.connect(HABITS)
        assert (await bench.run("hang_up")).content == "bye"
        await _until(lambda: bench.toolset.states()["habits"] is ServerState.RESTARTING)
        # The process of the old connection is still being ended.
        assert bench.problems == []
        assert (await bench.run("add", a=2)).content == "3"

    [problem] = _with(tmp_path, work).problems
    assert "started again" in problem


def test_a_server_that_keeps_dying_is_given_up_and_its_tools_go(tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        await bench.toolset.connect(HABITS)
        for lives in range(3):
            await _until(lambda: bench.toolset.states()["habits"] is ServerState.CONNECTED)
            with pytest.raises(ProviderError):
                await bench.run("die")
            await _until(lambda lives=lives: len(bench.problems) > lives)
        await _until(lambda: not bench.registry.names())
        assert bench.toolset.states() == {"habits": ServerState.GIVEN_UP}

    bench = _with(tmp_path, work)
    assert len(bench.problems) == 3
    assert "given up" in bench.problems[-1]


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        (replace(HABITS, args=(*HABITS.args, "--die")), "no configuration"),
        (replace(HABITS, args=(*HABITS.args, "--silent")), "did not answer within 1 s"),
        (replace(HABITS, command="/nowhere/at/all"), "habits"),
        (replace(HABITS, command=sys.executable, args=("-c", "print('hello')")), "habits"),
        (replace(HABITS, args=("${NOT_SET}",)), "NOT_SET"),
        (McpServer(name="habits", transport="http", url="http://127.0.0.1:9/mcp"), "habits"),
        (McpServer(name="habits", transport="sse", url="http://127.0.0.1:9/sse"), "habits"),
    ],
)
def test_a_server_that_does_not_start_is_an_error_with_its_words(
    server: McpServer, problem: str, tmp_path: Path
) -> None:
    async def work(bench: Bench) -> None:
        with pytest.raises(ProviderError, match=problem):
            await bench.toolset.connect(server)
        assert bench.registry.names() == []
        assert bench.toolset.states() == {}

    limit_s = 1.0 if "--silent" in server.args else LIMIT_S
    _with(tmp_path, work, replace(QUICK, connect_time_limit_s=limit_s))


# -- HTTP ------------------------------------------------------------------------------------------


@pytest.fixture(params=["http", "sse"])
def remote(request: pytest.FixtureRequest) -> Iterator[McpServer]:
    """The server over HTTP in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.mcp_server", request.param, str(port)],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for_port(port, process)
        path = "/mcp" if request.param == "http" else "/sse"
        yield McpServer(
            name="habits",
            transport=request.param,
            url=f"http://127.0.0.1:{port}{path}",
            headers={"X-Token": "${TOKEN}"},
        )
    finally:
        process.kill()
        process.wait()


def test_servers_over_http_get_their_headers(remote: McpServer, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        tools = await bench.toolset.connect(remote)
        assert len(tools) > 5
        assert (await bench.run("add", a=5)).content == "6"
        assert (await bench.run("header", name="x-token")).content == "t-1"

    _with(tmp_path, work)


# -- Configuration ---------------------------------------------------------------------------------


def test_files_of_other_clients_are_read(tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text(
        json.dumps(
            {
                "mcpServers": {
                    "files": {"command": "npx", "args": ["-y", "x"], "env": {"KEY": "secret"}},
                    "docs": {"type": "http", "url": "https://x.example/mcp?k=1", "timeout": 9000},
                    "old": {"type": "sse", "url": "https://x.example/sse"},
                    "plain": {"url": "https://x.example/mcp", "headers": {"A": "secret"}},
                    "off": {"command": "x", "disabled": True},
                }
            }
        )
    )
    found = {server.name: server for server in read_servers(path, from_project=True)}
    assert {name: one.transport for name, one in found.items()} == {
        "files": "stdio",
        "docs": "http",
        "old": "sse",
        "plain": "http",
    }
    assert found["docs"].time_limit_s == 9
    assert found["files"].shown == "npx -y x"
    assert found["docs"].shown == "https://x.example/mcp"
    assert all(server.from_project for server in found.values())
    assert "secret" not in repr(found)
    assert read_servers(tmp_path / "none.json") == []


def test_a_fingerprint_changes_with_everything_that_is_started() -> None:
    others = [
        replace(HABITS, command="x"),
        replace(HABITS, args=()),
        replace(HABITS, env={}),
        replace(HABITS, cwd="/"),
        replace(HABITS, headers={"A": "b"}),
        replace(HABITS, url="https://x"),
    ]
    assert len({one.fingerprint for one in [HABITS, *others]}) == 7
    assert HABITS.fingerprint == replace(HABITS, source="elsewhere").fingerprint


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], "JSON object"),
        ({}, "no table mcpServers"),
        ({"mcpServers": {"a": 1}}, "must be an object"),
        ({"mcpServers": {"a": {"command": ""}}}, "needs 'command'"),
        ({"mcpServers": {"a": {"command": "x\0y"}}}, "needs 'command'"),
        ({"mcpServers": {"a": {"command": "x", "args": "y"}}}, "list of texts"),
        ({"mcpServers": {"a": {"command": "x", "env": {"A": []}}}}, "object of texts"),
        ({"mcpServers": {"a": {"type": "carrier pigeon"}}}, "carrier pigeon"),
        ({"mcpServers": {"a": {"url": "file:///etc/passwd"}}}, "http"),
        ({"mcpServers": {"a:b": {"command": "x"}}}, "usable name"),
        ({"mcpServers": {"": {"command": "x"}}}, "usable name"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(given: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as raised:
        parse_servers(given, source="here.json")
    assert "here.json" in str(raised.value)


def test_a_broken_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    path.write_bytes(b"{\xff")
    with pytest.raises(UsageError, match=r"\.mcp\.json"):
        read_servers(path)


# -- In a session ----------------------------------------------------------------------------------


class Answers(Unattended):
    """A person with one answer to everything."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.asked: list[PermissionRequest] = []

    async def permit(self, request: PermissionRequest) -> Decision:
        self.asked.append(request)
        return self.decision


class Trust:
    """Trust in memory."""

    def __init__(self) -> None:
        self.fingerprints: set[str] = set()

    def is_trusted(self, server: McpServer) -> bool:
        return server.fingerprint in self.fingerprints

    def trust(self, server: McpServer) -> None:
        self.fingerprints.add(server.fingerprint)


def _run(session: AgentSession) -> list[object]:
    seen: list[object] = []
    session.listen(seen.append)

    async def turn() -> None:
        async with session:
            await session.run("Add.")

    asyncio.run(asyncio.wait_for(turn(), LIMIT_S))
    return seen


def test_a_model_uses_a_servers_tool(make_session: MakeSession) -> None:
    model = ScriptedModel([calls(call("mcp:habits:add", a=20, b=22)), "It is 42."])
    person = Answers(Decision.ALLOW)
    servers = McpServers([HABITS, replace(HABITS, name="bad", command="/nowhere")], settings=QUICK)
    session = make_session((), model=model, capabilities=[servers], person=person)
    seen = _run(session)
    [finished] = [event for event in seen if isinstance(event, ToolFinished)]
    assert (finished.content, finished.is_error) == ("42", False)
    offered = [tool.name for tool in model.requests[0].tools]
    assert "mcp:habits:add" in offered
    assert [request.tool for request in person.asked] == ["mcp:habits:add"]
    problems = [event for event in seen if isinstance(event, ProblemReported)]
    assert [problem.source for problem in problems] == ["mcp:bad"]
    # The session is over: nothing is left.
    assert session.tools.names() == []
    assert servers.toolset.states() == {}


def test_a_death_in_the_middle_of_a_call_is_told_to_the_model(make_session: MakeSession) -> None:
    script = [calls(call("mcp:habits:die")), calls(call("mcp:habits:add", a=1)), "Done."]
    servers = McpServers([HABITS], settings=QUICK)
    person = Answers(Decision.ALLOW)
    session = make_session(script, capabilities=[servers], person=person)
    finished = [event for event in _run(session) if isinstance(event, ToolFinished)]
    assert [event.is_error for event in finished] == [True, False]
    assert finished[1].content == "2"


@pytest.mark.parametrize(
    ("decision", "runs", "is_kept"),
    [
        (Decision.DENY, False, False),
        (Decision.ALLOW, True, False),
        (Decision.ALLOW_ALWAYS, True, True),
    ],
)
def test_a_projects_server_starts_only_after_a_yes(
    make_session: MakeSession, decision: Decision, runs: bool, is_kept: bool
) -> None:
    trust, person = Trust(), Answers(decision)
    server = replace(HABITS, from_project=True)
    servers = McpServers([server], settings=QUICK, trust=trust)
    model = ScriptedModel(["Hi."])
    session = make_session((), model=model, capabilities=[servers], person=person)
    _run(session)
    assert bool(model.requests[0].tools) is runs
    assert trust.is_trusted(server) is is_kept
    assert "tests.support.mcp_server" in person.asked[0].preview
    changed = replace(server, args=("-c", "something else"))
    assert not trust.is_trusted(changed)


def test_a_trusted_server_starts_unasked_and_a_forbidden_one_never(
    make_session: MakeSession,
) -> None:
    trust, person = Trust(), Answers(Decision.DENY)
    server = replace(HABITS, from_project=True)
    trust.trust(server)
    for settings, expected in ((QUICK, True), (replace(QUICK, project_servers=False), False)):
        model = ScriptedModel(["Hi."])
        servers = McpServers([server], settings=settings, trust=trust)
        _run(make_session((), model=model, capabilities=[servers], person=person))
        assert bool(model.requests[0].tools) is expected
    assert person.asked == []


def test_a_subagent_uses_the_servers_that_are_connected(make_session: MakeSession) -> None:
    model = ScriptedModel(
        ["Hi.", calls(call("mcp:habits:add", a=1)), "Two.", "Bye."],
    )
    servers = McpServers([HABITS], settings=QUICK)
    session = make_session((), model=model, capabilities=[servers], person=Answers(Decision.ALLOW))

    async def turns() -> str:
        async with session:
            await session.run("Hello")
            return (await session.delegate("Add", agent_type="helper")).text

    assert asyncio.run(asyncio.wait_for(turns(), LIMIT_S)) == "Two."
    assert "mcp:habits:add" in [tool.name for tool in model.requests[1].tools]


@pytest.mark.feature("F2")
def test_prompts_of_servers_are_known_and_fetched_when_run(make_session: MakeSession) -> None:
    given: list[PromptSource] = []
    servers = McpServers([HABITS], settings=QUICK, on_prompts=given.append)
    session = make_session(["Hi."], capabilities=[servers])

    async def turn() -> str:
        async with session:
            await session.run("Hello")
            [prompt] = given[0].prompts()
            assert (prompt.server, prompt.name) == ("habits", "review")
            assert [(a.name, a.required) for a in prompt.arguments] == [
                ("path", True),
                ("tone", False),
            ]
            assert await servers.served_prompt("nothing", "") is None
            with pytest.raises(UsageError, match="needs path"):
                await servers.served_prompt("habits:review", "")
            text = await servers.served_prompt("habits:review", "a.py")
            return str(text)

    assert asyncio.run(asyncio.wait_for(turn(), LIMIT_S)) == "Review a.py. Be kind."
    assert list(given[0].prompts()) == []


_PROMPT = PromptDefinition(
    server="s",
    name="review",
    arguments=(PromptArgument(name="path", required=True), PromptArgument(name="tone")),
)


@pytest.mark.feature("F2")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("a.py", {"path": "a.py"}),
        ("a.py kind and brief", {"path": "a.py", "tone": "kind and brief"}),
        ("tone=rude a.py", {"path": "a.py", "tone": "rude"}),
        ('"my file.py" tone="very kind"', {"path": "my file.py", "tone": "very kind"}),
        ("it's here", {"path": "it's", "tone": "here"}),
        ("x=1", {"path": "x=1"}),
    ],
)
def test_what_is_typed_after_a_prompt_becomes_its_arguments(
    typed: str, expected: dict[str, str]
) -> None:
    assert prompt_arguments(_PROMPT, typed) == expected


@pytest.mark.feature("F2")
def test_a_prompt_is_found_by_the_name_of_its_skill() -> None:
    assert prompt_of("s:review", [_PROMPT]) is _PROMPT
    assert prompt_of("s:other", [_PROMPT]) is None


async def _until(is_so: Callable[[], bool]) -> None:
    """Wait for something that happens by itself; the test's own limit ends a wait in vain."""
    while not is_so():
        await asyncio.sleep(0.01)


def _wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server did not come up")
