"""Laptops of a team, each with its own database and clock, and the server that they share with."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import uvicorn

import wellkept
from wellkept.api.http.app import guarded_app, make_http_app
from wellkept.api.server.auth import LOOPBACK_HOSTS
from wellkept.api.server.connection_timeouts import TimedProtocol
from wellkept.api.server.open_projects import OpenProjects
from wellkept.api.server.run import LOOPBACK, address_of, listening
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Validity
from wellkept.core.records import record
from wellkept.core.settings.model import Settings
from wellkept.core.team.people import Principal, Role
from wellkept.testing.fakes import ManualClock
from wellkept_team.sync.run import SyncReport

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
        made = self.wk.edit(memory_id, content=content).memory
        return self.wk.edit(made.id, user_verified=True).memory

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


@record(kw_only=True)
class TeamServer:
    """A server that is up."""

    address: str


@contextmanager
def team_server(store: str | Path, folder: Path, clock: ManualClock) -> Generator[TeamServer]:
    """A server on either engine, over real HTTP, with people known by their tokens."""

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
    memories, stopping = OpenProjects(open_in, folder=folder), threading.Event()
    app = make_http_app(memories, mcp=None, stopping=stopping)
    guarded = guarded_app(app, token=None, hosts=LOOPBACK_HOSTS, people=principal_of)
    listener = listening(LOOPBACK, 0)
    server = uvicorn.Server(
        uvicorn.Config(
            guarded,  # type: ignore[arg-type]
            log_config=None,
            timeout_graceful_shutdown=2,
            http=TimedProtocol,
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield TeamServer(address=address_of(listener))
    finally:
        stopping.set()
        server.should_exit = True
        thread.join()
        listener.close()
        memories.close()
