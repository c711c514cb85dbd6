"""Who is let in, what is refused, and what a refusal says."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

import wellkept
from tests.server.http_serving import TOKEN, Served, served, served_in
from wellkept.api.server.auth import MAX_BODY_BYTES, AccessPolicy, Message, Scope, guarded
from wellkept.api.server.http_errors import STATUS, problem_of
from wellkept.api.server.open_projects import OpenProjects
from wellkept.core import errors
from wellkept.core.errors import StoreBusyError, WellkeptError

pytestmark = pytest.mark.feature("C5")


@pytest.fixture
def web(tmp_path: Path) -> Generator[Served]:
    with served_in(tmp_path) as known:
        yield known


def _kinds(kind: type[WellkeptError]) -> Iterator[type[WellkeptError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)


def test_every_error_has_a_status_and_its_message_and_hint_are_told() -> None:
    ours = [k for k in _kinds(WellkeptError) if k.__module__ == errors.__name__]
    assert set(STATUS) == set(ours)
    told = problem_of(StoreBusyError("Someone writes.", hint="Wait."), request_id="7")
    assert (told.title, told.status, told.detail, told.hint, told.request_id) == (
        "StoreBusy", 503, "Someone writes.", "Wait.", "7",
    )  # fmt: skip


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN],
)
def test_without_the_token_nothing_is_told(web: Served, header: str) -> None:
    headers = {"Authorization": header} if header else {}
    for path in ("/api/stats", "/api/list", "/api/events", "/mcp", "/api/nothing", "/docs/x"):
        answer = httpx2.get(f"{web.address}{path}", headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["content-type"] == "application/problem+json"
        assert "token" in answer.json()["hint"]


def test_what_holds_nothing_of_anyones_memory_needs_no_token(web: Served) -> None:
    for path in ("/", "/api/health", "/api/openapi.json"):
        assert httpx2.get(f"{web.address}{path}", timeout=60).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "localhost.", "0.0.0.0", "", "[::2]:80"),
        *("localhost,evil.example", "localhost:80,evil.example", "localhost:port", "localhost:"),
    ],
)
def test_a_foreign_name_that_leads_here_is_refused_also_with_the_token(
    web: Served, host: str
) -> None:
    for path in ("/api/stats", "/", "/mcp"):
        assert web.client.get(path, headers={"Host": host}).status_code in {400, 421}


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:7437"])
def test_every_name_of_loopback_is_this_servers(web: Served, host: str) -> None:
    assert web.client.get("/api/stats", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "http://"]
)
def test_other_web_pages_are_refused_and_never_invited(web: Served, origin: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        answer = web.client.request(method, "/api/stats", headers={"Origin": origin})
        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control")]
    own = web.client.get("/api/stats", headers={"Origin": web.address})
    assert own.status_code == 200
    assert not [name for name in own.headers if name.startswith("access-control")]


def test_a_body_that_says_it_is_too_large_is_not_read(web: Served) -> None:
    port = int(web.address.rsplit(":", 1)[1])
    head = (
        f"POST /api/recall HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {MAX_BODY_BYTES + 1}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        line.sendall(head.encode())
        assert line.recv(64).startswith(b"HTTP/1.1 413")


def test_a_body_that_grows_too_large_is_cut_off(web: Served) -> None:
    def parts() -> Iterator[bytes]:
        yield b'{"query": "'
        for _ in range(MAX_BODY_BYTES // (1 << 20) + 1):
            yield b"x" * (1 << 20)
        yield b'"}'

    answer = web.client.post("/api/recall", content=parts())
    assert answer.status_code == 413
    assert web.get("stats")["total"] == 0


def test_the_guard_cuts_off_whatever_the_app_behind_it_makes_of_it() -> None:
    sent: list[Message] = []

    async def app(scope: Scope, receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"as if nothing had happened"})

    async def receive() -> Message:
        return {"type": "http.request", "body": b"xxxx", "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"localhost")],
    }  # fmt: skip
    anyio.run(guarded(app, AccessPolicy(token=None, max_body_bytes=10)), scope, receive, send)
    assert [message.get("status") for message in sent] == [413, None]
    assert b"as if" not in sent[-1]["body"]


@pytest.mark.parametrize(
    "body",
    [b"{", b"null", b"[]", b'"text"', b"\xff\xfe", b'{"query": {}}', b'{"unknown": 1}',
     b'{"limit": 1e999}', b"[" * 100_000],
)  # fmt: skip
def test_a_body_that_makes_no_sense_is_a_clear_problem(web: Served, body: bytes) -> None:
    answer = web.client.post(
        "/api/recall", content=body, headers={"Content-Type": "application/json"}
    )
    assert 400 <= answer.status_code < 500
    told = answer.json()
    assert told["detail"]
    assert told["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    "path",
    ["/api/memories/../../etc/passwd", "/api/memories/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
     "/..%2f..%2fetc/passwd", "/api/memories/%00", "/api/sessions/..%2f..%2fx", "/static/../x",
     "/api/memories/" + "a" * 5000, "/api//stats", "/API/stats", "/api/recall?limit=-1",
     "/api/recall?types=nonsense", "/api/list?cursor=%F0%9F%98%80", "/api/stats?project=%00"],
)  # fmt: skip
def test_no_path_leads_anywhere_else(web: Served, path: str) -> None:
    answer = web.client.get(path)
    assert 400 <= answer.status_code < 500
    assert "root:" not in answer.text


@pytest.mark.parametrize("method", ["PUT", "TRACE", "POST"])
def test_a_method_that_is_not_there_is_a_problem(web: Served, method: str) -> None:
    answer = web.client.request(method, "/api/projects")
    assert answer.status_code == 405
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_request_keeps_its_id_when_it_brings_a_plain_one(web: Served) -> None:
    given = web.client.get("/api/stats", headers={"X-Request-ID": "page-17"})
    assert given.headers["x-request-id"] == "page-17"
    odd = web.client.get("/api/stats", headers={"X-Request-ID": "a b;c"})
    assert re.fullmatch(r"[0-9a-f]{16}", odd.headers["x-request-id"])


def test_the_log_names_requests_and_never_what_they_say(
    web: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        web.remember("Confidential plans", key="hush/hush")
        web.get("search", query="confidential")
        web.get("show", ids="hush/hush")
        web.client.get("/api/show?ids=confidential")
        web.client.post("/api/recall", content=b'{"confidential": 1}')
    ours = "\n".join(r.getMessage() for r in caplog.records if r.name.startswith("wellkept"))
    assert "GET /show 200" in ours
    assert "hush" not in ours
    assert "onfidential" not in ours
    assert TOKEN not in ours


def test_a_mistake_of_ours_tells_its_kind_and_not_its_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    words = "hush"[::-1]  # a traceback shows lines of code, but not what stood in them

    def broken(folder: Path, project: str | None) -> wellkept.Wellkept:
        raise ZeroDivisionError(words)

    with served(OpenProjects(broken, folder=tmp_path)) as web, caplog.at_level(logging.INFO):
        answer = web.client.get("/api/stats")
    assert answer.status_code == 500
    assert "ZeroDivisionError" in answer.json()["detail"]
    assert answer.json()["request_id"] in caplog.text
    assert words not in caplog.text + answer.text


def test_a_store_that_cannot_be_opened_is_a_problem_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "memory.db").write_bytes(b"no database at all" * 100)
    with served_in(tmp_path) as web:
        answer = web.client.get("/api/stats")
        assert answer.status_code == 500
        assert answer.json()["title"] == "StoreCorrupt"
        assert answer.json()["hint"]
