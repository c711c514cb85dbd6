"""A real HTTP server on loopback, in a thread of the test, and reading its events."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from tests.server.mcp_client import memories_in
from wellkept.api.http.app import guarded_app, make_http_app
from wellkept.api.http.sse import FeedIntervals
from wellkept.api.mcp.handlers import ServerLocation
from wellkept.api.mcp.server import make_server
from wellkept.api.server.auth import LOOPBACK_HOSTS
from wellkept.api.server.connection_timeouts import TimedProtocol
from wellkept.api.server.open_projects import OpenProjects
from wellkept.api.server.run import LOOPBACK, address_of, listening
from wellkept.api.telemetry.metrics import ServerMetrics
from wellkept.api.telemetry.traces import Traces
from wellkept.core.team.people import Principal

TOKEN = "a-token-that-only-the-tests-know-0123456789"
QUICK = FeedIntervals(look_every_s=0.01, heartbeat_every_s=0.05)


class Served:
    """A server that is up, as its owner sees it."""

    def __init__(self, address: str, memories: OpenProjects, stopping: threading.Event) -> None:
        self.address = address
        self.stopping = stopping
        self.memories = memories
        self.client = httpx2.Client(
            base_url=address, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30
        )

    def get(self, path: str, **query: Any) -> Any:
        """The answer to a request that works."""
        return _answer(self.client.get(f"/api/{path}", params=query))

    def post(self, path: str, **body: Any) -> Any:
        """The answer to a request that works."""
        return _answer(self.client.post(f"/api/{path}", json=body))

    def remember(self, content: str, **more: Any) -> str:
        """Keep something; returns its short id."""
        return self.post("remember", content=content, **more)["memory"]["short"]

    def shown(self, name: str) -> Any:
        """A memory, whole."""
        return self.get("show", ids=name)["items"][0]["memory"]

    @contextmanager
    def events(self, *, headers: dict[str, str] | None = None, **query: Any) -> Generator[Events]:
        """A subscription."""
        with self.client.stream("GET", "/api/events", params=query, headers=headers) as answer:
            assert answer.status_code == 200, answer.read()
            assert answer.headers["content-type"].startswith("text/event-stream")
            yield Events(answer.iter_lines())


class Events:
    """Server-sent events, one at a time. The greeting has been read."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        assert next(lines).startswith("retry:")
        assert next(lines) == ": wellkept"
        assert next(lines) == ""

    def next(self) -> tuple[str, str, Any]:
        """Kind, id and data of the next event; comments are passed over."""
        said: dict[str, str] = {}
        for line in self._lines:
            if line.startswith(":"):
                continue
            if not line and said:
                return said["event"], said.get("id", ""), json.loads(said["data"])
            name, _, value = line.partition(": ")
            if name:
                said[name] = value
        raise AssertionError("The events ended.")

    def next_comment(self) -> str:
        """The next heartbeat."""
        return next(line for line in self._lines if line.startswith(":"))


def _answer(answer: httpx2.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


@contextmanager
def served(
    memories: OpenProjects,
    *,
    mcp: ServerLocation | None = None,
    pace: FeedIntervals = QUICK,
    people: Callable[[str], Principal | None] | None = None,
    traces: Traces | None = None,
) -> Generator[Served]:
    """A server over these memories."""
    stopping = threading.Event()
    inner = None if mcp is None else lambda: make_server(memories, mcp)
    metrics = ServerMetrics()
    span = nullcontext if traces is None else traces.span
    app = make_http_app(
        memories, mcp=inner, stopping=stopping, pace=pace, metrics=metrics, span=span
    )
    listener = listening(LOOPBACK, 0)
    config = uvicorn.Config(
        guarded_app(
            app if traces is None else traces.around(app),
            token=TOKEN,
            hosts=LOOPBACK_HOSTS,
            people=people,
            on_finished=(metrics.request_finished,),
        ),  # type: ignore[arg-type]
        log_config=None,
        timeout_graceful_shutdown=2,
        http=TimedProtocol,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    known = Served(address_of(listener), memories, stopping)
    try:
        yield known
    finally:
        known.client.close()
        stopping.set()
        server.should_exit = True
        thread.join()
        listener.close()
        memories.close()


@contextmanager
def served_in(folder: Path, *, pace: FeedIntervals = QUICK) -> Generator[Served]:
    """A server over an own memory in `folder`."""
    with served(memories_in(folder), pace=pace) as known:
        yield known


@contextmanager
def served_team(folder: Path, people: Callable[[str], Principal | None]) -> Generator[Served]:
    """A server over an own memory in `folder` that knows people by their tokens."""
    location = ServerLocation(folder=folder)
    with served(memories_in(folder), mcp=location, people=people) as known:
        yield known
