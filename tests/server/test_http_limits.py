"""What one client may take up: streams, connections, time, guesses; and a token that changes."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import pytest
import uvicorn

from tests.server.http_serving import Served, served_in
from wellkept.api.http.sse import MAX_SUBSCRIBERS, EventFeed, Subscription
from wellkept.api.server.auth import AccessPolicy, App, Message, Receive, Scope, Send, guarded
from wellkept.api.server.connection_timeouts import TimedProtocol
from wellkept.api.server.limits import ClientLimits
from wellkept.api.server.run import LOOPBACK, listening
from wellkept.api.server.threads import WorkerThreads
from wellkept.api.server.token_file import TokenFile, rotate_token, token_of
from wellkept.core.errors import StoreBusyError
from wellkept.core.session.activity import ActivityRange

pytestmark = pytest.mark.feature("C5")


# -- Streams --------------------------------------------------------------------------------------


class _SlowWorkers:
    """Answers only after everybody has asked."""

    async def run(self, *_: object, **__: object) -> ActivityRange:
        await anyio.sleep(0.01)
        return ActivityRange(oldest=0, newest=0)


def test_the_limit_of_subscribers_holds_when_many_come_at_once() -> None:
    feed = EventFeed(cast("WorkerThreads", _SlowWorkers()), stopping=threading.Event())
    taken: list[object] = []
    refused: list[StoreBusyError] = []

    async def subscribe() -> None:
        try:
            taken.append(await feed.subscribe(Subscription()))
        except StoreBusyError as error:
            refused.append(error)

    async def burst(count: int) -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(subscribe)

    anyio.run(burst, 300)
    assert (len(taken), len(refused)) == (MAX_SUBSCRIBERS, 300 - MAX_SUBSCRIBERS)
    # Those who went before their first line leave their place.
    taken.clear()
    anyio.run(burst, MAX_SUBSCRIBERS)
    assert len(taken) == MAX_SUBSCRIBERS


# -- Connections ----------------------------------------------------------------------------------


async def _hello(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


@contextmanager
def _serving(app: App) -> Generator[tuple[str, int]]:
    class Impatient(TimedProtocol):
        header_limit_s = 0.2

    listener = listening(LOOPBACK, 0)
    config = uvicorn.Config(
        cast("Any", app), log_config=None, http=Impatient, lifespan="off", timeout_keep_alive=30
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


_WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", _WHOLE + b"GET /again HTTP/1"],
    ids=["nothing", "part of a line", "part of a head", "part of a second head"],
)
def test_a_connection_that_asks_nothing_whole_is_closed(sent: bytes) -> None:
    with _serving(_hello) as address, closing(socket.create_connection(address, 20)) as client:
        client.sendall(sent)
        received = b""
        while chunk := client.recv(4096):
            received += chunk
    assert received.count(b"200 OK") == sent.count(_WHOLE)


def test_a_slow_answer_is_not_cut_by_the_limit_for_heads() -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await anyio.sleep(0.6)
        await _hello(scope, receive, send)

    with _serving(slow) as address, closing(socket.create_connection(address, 20)) as client:
        client.sendall(_WHOLE)
        assert b"200 OK" in client.recv(4096)


# -- Requests -------------------------------------------------------------------------------------


def _ask(
    app: App, receive: Receive, *, headers: dict[str, str] | None = None
) -> tuple[int, list[Message]]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "client": ("10.0.0.1", 1),
        "headers": [
            (name.encode(), value.encode())
            for name, value in {"host": "localhost", **(headers or {})}.items()
        ],
    }
    anyio.run(app, scope, receive, send)
    return sent[0]["status"], sent


async def _empty() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def test_a_body_that_never_ends_is_refused() -> None:
    parts = iter([{"type": "http.request", "body": b"{", "more_body": True}])

    async def receive() -> Message:
        for part in parts:
            return part
        await anyio.sleep_forever()
        raise AssertionError

    async def reads_all(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app = guarded(reads_all, AccessPolicy(token=None, body_limit_s=0.05))
    status, sent = _ask(app, receive)
    assert status == 408
    assert b"did not come in time" in sent[1]["body"]


def test_a_client_that_does_not_read_is_let_go() -> None:
    async def stuck(_: Message) -> None:
        await anyio.sleep_forever()

    app = guarded(_hello, AccessPolicy(token=None, send_limit_s=0.05))
    scope: Scope = {
        "type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")],
    }  # fmt: skip

    async def run() -> None:
        # The refusal cannot be sent either; what counts is that the call ends.
        with anyio.move_on_after(5) as limit:
            await app(scope, _empty, stuck)
        assert not limit.cancelled_caught

    anyio.run(run)


def test_one_client_cannot_have_every_request_under_way() -> None:
    limits = ClientLimits(max_requests=1)
    statuses: list[int] = []

    async def nested(scope: Scope, receive: Receive, send: Send) -> None:
        if not statuses:
            statuses.append(0)
            inner: list[Message] = []

            async def note(message: Message) -> None:
                inner.append(message)

            await app(scope, receive, note)
            statuses.append(inner[0]["status"])
        await _hello(scope, receive, send)

    app = guarded(nested, AccessPolicy(token=None), limits=limits)
    assert _ask(app, _empty)[0] == 200
    assert statuses[1:] == [429]
    assert _ask(app, _empty)[0] == 200


def test_guessing_the_token_is_slowed_down_and_the_right_one_still_works() -> None:
    app = guarded(_hello, AccessPolicy(token="right"), limits=ClientLimits(max_wrong_tokens=3))
    statuses = [_ask(app, _empty, headers={"authorization": f"Bearer {n}"})[0] for n in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    assert _ask(app, _empty, headers={"authorization": "Bearer right"})[0] == 200


# -- The token ------------------------------------------------------------------------------------


def test_a_new_token_counts_at_once_and_the_old_one_no_longer(tmp_path: Path) -> None:
    old = token_of(tmp_path)
    app = guarded(_hello, AccessPolicy(token=TokenFile(tmp_path)))
    asked: Callable[[str], int] = lambda token: _ask(  # noqa: E731
        app, _empty, headers={"authorization": f"Bearer {token}"}
    )[0]
    assert asked(old) == 200
    path = rotate_token(tmp_path)
    new = token_of(tmp_path)
    assert new != old
    assert path.stat().st_mode & 0o777 == 0o600
    assert (asked(old), asked(new)) == (401, 200)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


# -- The page -------------------------------------------------------------------------------------


@pytest.fixture
def web(tmp_path: Path) -> Generator[Served]:
    with served_in(tmp_path) as known:
        yield known


def test_the_api_is_shown_as_a_page_without_scripts(web: Served) -> None:
    page = httpx2.get(f"{web.address}/docs")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    document = httpx2.get(f"{web.address}/api/openapi.json").json()
    for path in document["paths"]:
        assert path in page.text
    assert "<script" not in page.text
    assert "http://" not in page.text
    assert "https://" not in page.text


def test_an_accepted_connection_sends_at_once() -> None:
    async def accepted() -> int:
        seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        class Protocol(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                connection: socket.socket = transport.get_extra_info("socket")
                seen.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
                transport.close()

        with listening(LOOPBACK, 0) as listener:
            server = await asyncio.get_running_loop().create_server(Protocol, sock=listener)
            _, writer = await asyncio.open_connection(*listener.getsockname())
            option = await seen
            writer.close()
            server.close()
        return option

    assert asyncio.run(accepted())
