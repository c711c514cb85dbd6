"""Laptops of a team, each with its own database and clock, and a line to the server that breaks."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import wellkept
from tests.server.http_serving import Served, served
from wellkept.app.remotes.sync import SyncReport
from wellkept.app.settings.model import Settings
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Validity
from wellkept.core.team.people import Principal, Role
from wellkept.server.open_projects import OpenProjects
from wellkept.testing.fakes import ManualClock

PROJECT = "shop"


def principal_of(token: str) -> Principal | None:
    """Tokens of the tests say who brings them: `reviewer:ann`."""
    role, _, name = token.partition(":")
    if not name or role not in {one.value for one in Role}:
        return None
    return Principal(tenant="main", user=name, role=Role(role), token_id=token, credential=token)


class Laptop:
    """One person's machine."""

    def __init__(
        self, folder: Path, name: str, *, role: str = "writer", skew: timedelta = timedelta(0)
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.token = f"{role}:{name}"
        self.may_review = role in ("reviewer", "admin")
        self.clock = ManualClock()
        self.clock.advance(seconds=skew.total_seconds())
        self.home = {"WELLKEPT_HOME": str(folder)}
        self.wk = wellkept.open(
            folder / "memory.db",
            project=PROJECT,
            cwd=folder,
            embedder="none",
            settings=Settings(),
            clock=self.clock,
            environment=self.home,
        )

    def join(self, address: str) -> SyncReport:
        return self.wk.remote.add(address, token=self.token).report

    def sync(self) -> SyncReport:
        self.clock.advance(seconds=1)
        return self.wk.remote.sync()

    def teach(self, content: str, **given: object) -> Memory:
        """Something that this person said."""
        self.clock.advance(seconds=1)
        fields = {"source": "user_taught", "type": "convention", **given}
        return self.wk.remember(content, merge_similar=False, **fields).memory  # type: ignore[arg-type]

    def correct(self, memory_id: str, content: str) -> Memory:
        self.clock.advance(seconds=1)
        made = self.wk.edit(memory_id, content=content)
        return self.wk.edit(made.id, user_verified=True)

    def says(self) -> dict[str, str]:
        """What holds here, by id."""
        return {memory.id: memory.content for memory in self.open()}

    def open(self) -> Iterator[Memory]:
        where = Filter(project=self.wk.project, validity=Validity.OPEN, include_user=False)
        yield from self.wk.engine.store.iterate(where)

    def view(self) -> set[tuple[object, ...]]:
        """What has to be equal everywhere."""
        return {
            (one.id, one.type, one.content, one.scope, *map(frozenset, labels(one)), rivals(one))
            for one in self.open()
        }


def labels(memory: Memory) -> tuple[tuple[str, ...], ...]:
    return memory.tags, memory.files, memory.modules


def rivals(memory: Memory) -> frozenset[str]:
    return frozenset(
        one.target_id
        for one in memory.relations
        if one.type.value == "conflicts_with" and one.target_id
    )


@contextmanager
def team_server(store: str | Path, folder: Path, clock: ManualClock) -> Generator[Served]:
    """A server on either engine, with people known by their tokens."""

    def open_in(cwd: Path, project: str | None) -> wellkept.Wellkept:
        return wellkept.open(
            store,
            project=project,
            cwd=cwd,
            embedder="none",
            settings=Settings(),
            clock=clock,
            environment={"WELLKEPT_HOME": str(folder)},
        )

    folder.mkdir(parents=True, exist_ok=True)
    with served(OpenProjects(open_in, folder=folder), people=principal_of) as known:
        yield known


class BadLine:
    """A proxy on loopback that cuts, delays nothing, and sends some requests twice."""

    def __init__(self, target: str, *, seed: int, bad: float) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or "", parts.port or 0)
        self._random = random.Random(seed)
        self.bad = bad
        self.cuts = 0
        self.doubled = 0
        self.sent = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> BadLine:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            how = self._random.choice(("before", "request", "answer", "half", "twice"))
            is_bad = self._random.random() < self.bad
            threading.Thread(
                target=self._carry, args=(caller, how if is_bad else "well"), daemon=True
            ).start()

    def _carry(self, caller: socket.socket, how: str) -> None:
        with caller, suppress(OSError, ValueError):
            caller.settimeout(60)
            if how == "before":
                self.cuts += 1
                return
            request = _whole_request(caller)
            if how == "request":
                self.cuts += 1
                self._send(request[: len(request) // 2], wait=False)
                return
            answer = self._send(request)
            if how == "twice":
                self.doubled += 1
                answer = self._send(request)
            if how == "answer":
                self.cuts += 1
                return
            if how == "half":
                self.cuts += 1
                answer = answer[: len(answer) // 2]
            caller.sendall(answer)

    def _send(self, request: bytes, *, wait: bool = True) -> bytes:
        with socket.create_connection(self._target, timeout=60) as server:
            server.sendall(request)
            self.sent += len(request)
            return _all_of(server) if wait else b""


def _whole_request(caller: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(caller)
    head, _, body = data.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    size = int(fields.get(b"content-length", b"0"))
    while len(body) < size:
        body += _some(caller)
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body


def _some(caller: socket.socket) -> bytes:
    got = caller.recv(1 << 16)
    if not got:
        raise ValueError("The caller left.")
    return got


def _all_of(server: socket.socket) -> bytes:
    data = b""
    while got := server.recv(1 << 16):
        data += got
    return data
