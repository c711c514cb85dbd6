"""Calls that take long say so, and lists keep to the protocol's rules for pages."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import anyio
import pytest

import wellkept
from tests.conformance.fixtures import TOOLS, mount
from tests.server.mcp_client import (
    AS_DATA,
    TRANSPORTS,
    Era,
    Talk,
    Transport,
    made,
    memories_in,
    talking,
)
from wellkept.api.mcp.handlers import ServerLocation
from wellkept.api.mcp.server import make_server
from wellkept.api.server.auth import AccessPolicy, Receive, Scope, Send, guarded
from wellkept.api.server.open_projects import OpenProjects

pytestmark = pytest.mark.feature("C5")
WAIT_S = 60


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_a_call_that_takes_long_is_told_to_go_on(
    tmp_path: Path, era: Era, transport: Transport
) -> None:
    heard = Event()
    inner = memories_in(tmp_path)

    def open_slowly(folder: Path, project: str | None) -> wellkept.Wellkept:
        # As long as it takes until the client has heard of it.
        assert heard.wait(WAIT_S)
        return inner._open_in(folder, project)  # pyright: ignore[reportPrivateUsage]

    said: list[tuple[float, float | None, str | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        said.append((progress, total, message))
        heard.set()

    memories = OpenProjects(open_slowly, folder=tmp_path)
    try:
        with talking(made(memories, ServerLocation(folder=tmp_path), transport), era=era) as talk:
            result = talk.portal.call(talk.client.call_tool, "stats", None, None, listen)
    finally:
        memories.close()
    assert not result.is_error
    assert said[0] == (1, None, "Stats: still running")


def test_a_quick_call_says_nothing_before_its_answer(talk: Talk) -> None:
    said: list[float] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        said.append(progress)

    talk.call("memory_store", content="Releases are cut on Mondays")
    talk.portal.call(talk.client.call_tool, "stats", None, None, listen)
    assert said == sorted(said)


@pytest.mark.parametrize(
    "method", ["list_tools", "list_resources", "list_resource_templates", "list_prompts"]
)
def test_a_cursor_that_was_never_given_out_is_refused(talk: Talk, method: str) -> None:
    async def listed() -> object:
        return await getattr(talk.client, method)(cursor="page-2")

    with pytest.raises(Exception, match="List again without one"):
        talk.portal.call(listed)


def test_every_resource_says_what_it_is(talk: Talk) -> None:
    listed = talk.portal.call(talk.client.list_resources).resources
    assert all(resource.description and resource.mime_type for resource in listed)


def test_white_space_around_a_header_is_no_part_of_it() -> None:
    seen: list[object] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["headers"])

    async def receive() -> dict[str, object]:
        return {}

    async def send(_: object) -> None:
        return

    headers = [(b"host", b"127.0.0.1 "), (b"mcp-name", b" search\t"), (b"a", b"b c")]
    scope = {"type": "http", "method": "GET", "path": "/mcp", "headers": headers}
    anyio.run(guarded(app, AccessPolicy(token=None)), scope, receive, send)
    assert seen == [[(b"host", b"127.0.0.1"), (b"mcp-name", b"search"), (b"a", b"b c")]]


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_the_suites_fixtures_stand_beside_our_own_tools(tmp_path: Path, era: Era) -> None:
    memories = memories_in(tmp_path)
    try:
        with talking(
            mount(make_server(memories, ServerLocation(folder=tmp_path), AS_DATA)), era=era
        ) as talk:
            assert {"memory_recall", *TOOLS} <= set(talk.tools())
            assert "simple text" in talk.text("test_simple_text")
            assert talk.error("test_error_handling")
            assert talk.call("stats")["total"] == 0
            assert "static text" in talk.read("test://static-text")
            assert "hello" in talk.prompt("test_prompt_with_arguments", arg1="hello", arg2="b")
    finally:
        memories.close()
