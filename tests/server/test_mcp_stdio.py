"""Our stdio server against the SDK's: the same lines in, the same answers out."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.server.lowlevel import Server
from mcp.shared._context_streams import create_context_streams
from mcp.shared.message import SessionMessage

import wellkept
from tests.server.mcp_client import AS_DATA, memories_in
from wellkept.api.mcp import protocol
from wellkept.api.mcp.handlers import Handlers, ServerLocation
from wellkept.api.mcp.server import make_server
from wellkept.api.mcp.stdio import StdioServer
from wellkept.api.server.open_projects import OpenProjects

pytestmark = pytest.mark.feature("C5")

Message = dict[str, Any]
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def _request(number: int | str, method: str, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _modern(number: int | str, method: str, **params: Any) -> Message:
    return _request(number, method, **params, _meta=_META)


def _hello(version: str = "2025-06-18") -> Message:
    about = {"name": "x", "version": "1"}
    return _request(0, "initialize", protocolVersion=version, capabilities={}, clientInfo=about)


READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
_ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools/list", {}),
    ("tools/list", {"cursor": "page-2"}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "memory-remember", "arguments": {"what": "tabs"}}),
    ("prompts/get", {"name": "memory-remember", "arguments": {}}),
    ("prompts/get", {"name": "no-such-prompt"}),
    ("tools/call", {"name": "stats", "arguments": {}}),
    ("tools/call", {"name": "memory_search", "arguments": {"limit": 0}}),
    ("tools/call", {"name": "no_such_tool", "arguments": {}}),
    ("tools/call", {}),
    ("tools/call", {"name": "stats", "arguments": [1]}),
    ("resources/read", {"uri": "wellkept://stats"}),
    ("resources/read", {"uri": "wellkept://memory/nosuch"}),
    ("resources/read", {"uri": "other://x"}),
    ("ping", {}),
    ("logging/setLevel", {"level": "info"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {}}),
    ("resources/subscribe", {"uri": "wellkept://stats"}),
    ("no/such/method", {}),
    ("server/discover", {}),
)


def _session(make: Any) -> list[Message]:
    return [make(number, method, **params) for number, (method, params) in enumerate(_ASKED, 1)]


CONVERSATIONS: dict[str, list[Message]] = {
    **{v: [_hello(v), READY, *_session(_request)] for v in ("2025-06-18", "2025-11-25")},
    "an unknown version": [_hello("1999-01-01"), READY, _request(1, "ping")],
    "2026-07-28": _session(_modern),
    "before the handshake": [
        _request(1, "tools/list"),
        _request(2, "ping"),
        _request(3, "nosuch"),
        _request(4, "initialize"),
        _hello(),
        _request("five", "ping"),
    ],
    "both eras": [_hello(), READY, _modern(1, "resources/list")],
    "a handshake too late": [_modern(1, "resources/list"), _hello()],
    "half an envelope": [
        _request(1, "tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"}),
        _request(2, "tools/list"),
    ],
    "a version to come": [
        _modern(1, "resources/list"),
        _request(
            2,
            "resources/list",
            _meta={**_META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"},
        ),
    ],
}
# The SDK's models check the shape of arguments before our handlers see them.
_SHAPES = {"completion/complete"}


def _through_ours(handlers: Handlers, messages: Sequence[Message | bytes]) -> dict[Any, Message]:
    lines = [m if isinstance(m, bytes) else json.dumps(m).encode() for m in messages]
    outgoing = io.BytesIO()
    StdioServer(handlers, outgoing).run(io.BytesIO(b"\n".join(lines) + b"\n"))
    answers = [json.loads(line) for line in outgoing.getvalue().splitlines()]
    return {answer["id"]: answer for answer in answers}


def _through_sdk(server: Server[dict[str, Any]], messages: Sequence[Message]) -> dict[Any, Message]:
    found: dict[Any, Message] = {}

    async def talk() -> None:
        to_server, incoming = create_context_streams[SessionMessage | Exception](64)
        outgoing, from_server = create_context_streams[SessionMessage](64)
        asked = [m for m in messages if "id" in m]
        async with anyio.create_task_group() as tasks:
            options = server.create_initialization_options()
            tasks.start_soon(server.run, incoming, outgoing, options)
            for message in messages:
                read = types.jsonrpc_message_adapter.validate_python(message, by_name=False)
                await to_server.send(SessionMessage(read))
                if "id" not in message:
                    continue
                # One after the other: which answer comes first is up to the threads.
                sent = await from_server.receive()
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                answer = json.loads(text)
                found[answer["id"]] = answer
            assert len(found) == len({m["id"] for m in asked})
            tasks.cancel_scope.cancel()

    anyio.run(talk)
    return found


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_every_answer_is_the_sdks(tmp_path: Path, name: str) -> None:
    messages = CONVERSATIONS[name]
    place = ServerLocation(folder=tmp_path)
    memories = memories_in(tmp_path)
    try:
        ours = _through_ours(Handlers(memories, place, AS_DATA), messages)
        theirs = _through_sdk(make_server(memories, place, AS_DATA), messages)
    finally:
        memories.close()
    methods = {message["id"]: message["method"] for message in messages if "id" in message}
    assert ours.keys() == theirs.keys()
    for number, answer in ours.items():
        if methods[number] not in _SHAPES:
            assert answer == theirs[number], methods[number]
        assert ("error" in answer) is ("error" in theirs[number])


def test_the_versions_are_those_of_the_sdk() -> None:
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

    assert protocol.HANDSHAKE_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert protocol.MODERN_VERSIONS == MODERN_PROTOCOL_VERSIONS


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"",
        b"   ",
        b"[1, 2]",
        b"null",
        b'"text"',
        b'{"jsonrpc": "2.0"}',
        b'{"jsonrpc": "2.0", "id": null, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": true, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 9, "method": 7}',
        b'{"jsonrpc": "2.0", "id": "roots-1", "result": {"roots": 5}}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled"}',
        b"\xff\xfe\x00bad",
        b"[" * 100_000,
    ],
)
def test_a_line_that_makes_no_sense_is_skipped(tmp_path: Path, line: bytes) -> None:
    handlers = Handlers(memories_in(tmp_path), ServerLocation(folder=tmp_path), AS_DATA)
    answers = _through_ours(handlers, [line, _hello(), line, _request(2, "ping")])
    assert set(answers) == {0, 2}
    assert answers[2]["result"] == {}


def test_parameters_that_are_no_object_are_read_as_none(tmp_path: Path) -> None:
    handlers = Handlers(memories_in(tmp_path), ServerLocation(folder=tmp_path), AS_DATA)
    odd = {"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": [1]}
    answers = _through_ours(handlers, [_hello(), odd])
    assert answers[3]["result"]["tools"]


class _Gate:
    """A memory that opens when it is told to."""

    def __init__(self, folder: Path) -> None:
        self.opened, self.entered = threading.Event(), threading.Event()
        self._inner = memories_in(folder)

    def open(self, folder: Path, project: str | None) -> wellkept.Wellkept:
        self.entered.set()
        assert self.opened.wait(60)
        return self._inner._open_in(folder, project)  # pyright: ignore[reportPrivateUsage]


def test_a_cancelled_call_is_finished_but_not_answered(tmp_path: Path) -> None:
    gate = _Gate(tmp_path)
    memories = OpenProjects(gate.open, folder=tmp_path)
    handlers = Handlers(memories, ServerLocation(folder=tmp_path), AS_DATA)
    told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    stored = {"name": "memory_store", "arguments": {"content": "Kept all the same"}}

    class Lines(io.BytesIO):
        """Opens the memory once the cancellation was read."""

        def __iter__(self) -> Any:
            yield from self.getvalue().splitlines()
            gate.opened.set()

    lines = [_hello(), READY, _request(1, "tools/call", **stored), told, _request(2, "ping")]
    outgoing = io.BytesIO()
    StdioServer(handlers, outgoing).run(Lines(b"\n".join(json.dumps(m).encode() for m in lines)))
    answered = [json.loads(line)["id"] for line in outgoing.getvalue().splitlines()]
    assert answered == [0, 2]
    with memories.of("") as wk:
        assert [memory.content for memory in wk.list()] == ["Kept all the same"]
    memories.close()


def test_the_last_calls_are_answered_after_the_client_closed_its_end(tmp_path: Path) -> None:
    handlers = Handlers(memories_in(tmp_path), ServerLocation(folder=tmp_path), AS_DATA)
    calls = [_request(n, "tools/call", name="stats", arguments={}) for n in range(1, 8)]
    answers = _through_ours(handlers, [_hello(), READY, *calls])
    assert set(answers) == set(range(8))


def test_a_client_that_goes_away_does_no_harm(tmp_path: Path) -> None:
    handlers = Handlers(memories_in(tmp_path), ServerLocation(folder=tmp_path), AS_DATA)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb", buffering=0) as outgoing:
        lines = b"\n".join(json.dumps(m).encode() for m in [_hello(), _request(1, "ping")])
        StdioServer(handlers, outgoing).run(io.BytesIO(lines))


def test_the_server_starts_without_the_sdk_and_without_pydantic(tmp_path: Path, home: Path) -> None:
    script = (
        "import sys\n"
        "from wellkept.api.cli import main\n"
        "sys.argv = ['wellkept', 'mcp']\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'mcp', 'mcp_types', 'pydantic', 'anyio', 'asyncio', 'numpy', 'sqlite3'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    lines = "".join(json.dumps(m) + "\n" for m in [_hello(), READY, _request(1, "tools/list")])
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=lines,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "WELLKEPT_HOME": str(home)},
        check=False,
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [0, 1]
    assert done.stderr.splitlines()[-1] == "[]"


def test_stray_output_does_not_reach_the_client(tmp_path: Path, home: Path) -> None:
    script = (
        "import os, sys\n"
        "from wellkept.api.mcp import stdio\n"
        "class Loud:\n"
        "    def list_tools(self, params):\n"
        "        print('stray'); os.write(1, b'stray'); os.system('echo stray')\n"
        "        return {'tools': [], 'stdin': sys.stdin.read()}\n"
        "    def __getattr__(self, name): return None\n"
        "stdio.serve_stdio(Loud())\n"
    )
    lines = "".join(json.dumps(m) + "\n" for m in [_hello(), READY, _request(1, "tools/list")])
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=lines,
        capture_output=True,
        text=True,
        env={**os.environ, "WELLKEPT_HOME": str(home)},
        check=True,
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [0, 1]
    assert "stray" in done.stderr
