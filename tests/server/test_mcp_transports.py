"""The command itself: over stdin and stdout, and over HTTP, as processes of their own."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.server.mcp_client import ERAS, Era, talking
from wellkept.api.server.token_file import TOKEN_NAME, token_of
from wellkept.core.errors import UsageError

pytestmark = pytest.mark.feature("C5")

_COMMAND = ("-m", "wellkept.cli", "mcp")


def _environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "WELLKEPT_HOME": str(home),
        "WELLKEPT_EMBEDDING_PROVIDER": "none",
        "WELLKEPT_MCP_STRUCTURED": "on",
    }


@contextmanager
def _serving(home: Path, *arguments: str) -> Generator[str]:
    """The address of a server that is up, until it is stopped."""
    command = [sys.executable, *_COMMAND, "--http", "--port", "0", *arguments]
    process = subprocess.Popen(
        command, cwd=home.parent, env=_environment(home), stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        yield next(line for line in process.stderr if "http://" in line).split()[-1]
    finally:
        process.terminate()
        process.wait(timeout=30)
        process.stderr.close()


@pytest.mark.parametrize("era", ERAS)
def test_a_client_starts_the_server_over_stdio_and_finds_what_it_stored(
    home: Path, tmp_path: Path, era: Era
) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=list(_COMMAND), env=_environment(home), cwd=tmp_path
    )
    with talking(server, era=era) as talk:
        assert "memory_recall" in talk.tools()
        talk.call("memory_store", content="Kept over a pipe")
    with talking(server, era=era) as talk:
        assert len(talk.call("search", query="pipe")["hits"]) == 1


def test_http_answers_those_who_have_the_token_and_no_one_else(home: Path) -> None:
    with _serving(home) as address:
        token = (home / TOKEN_NAME).read_text("ascii").strip()
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        allowed = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        assert httpx2.post(address, json=body).status_code == 401
        wrong = {"Authorization": f"Bearer {token[:-1]}"}
        assert httpx2.post(address, json=body, headers=wrong).status_code == 401
        for header in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            answer = httpx2.post(address, json=body, headers=allowed | header)
            assert answer.status_code in {403, 421}


@pytest.mark.parametrize("era", ERAS)
def test_http_serves_the_same_tools(home: Path, era: Era) -> None:
    with _serving(home, "--no-token") as address:
        from anyio.from_thread import start_blocking_portal
        from mcp import Client

        from tests.server.mcp_client import Talk

        client = Client(streamable_http_client(address), mode=era)
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
            talk = Talk(portal, client)
            talk.call("memory_store", content="Kept over HTTP")
            assert len(talk.call("search", query="HTTP")["hits"]) == 1
    assert not (home / TOKEN_NAME).exists()


def test_the_token_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    token = token_of(folder)
    assert token_of(folder) == token
    assert stat.S_IMODE((folder / TOKEN_NAME).stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == [TOKEN_NAME]


@pytest.mark.parametrize("content", ["", "short\n", "\xe9" * 40])
def test_a_token_file_without_a_token_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / TOKEN_NAME).write_text(content, "utf-8")
    with pytest.raises(UsageError, match="token"):
        token_of(tmp_path)


def test_a_port_that_is_taken_is_a_clear_error(home: Path) -> None:
    with _serving(home, "--no-token") as address:
        port = address.rsplit(":", 1)[1].split("/")[0]
        command = [sys.executable, *_COMMAND, "--http", "--no-token", "--port", port]
        done = subprocess.run(
            command, env=_environment(home), capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert "--port" in done.stderr
