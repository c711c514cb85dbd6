"""Many clients of mixed kind at once on one memory: hooks, commands, MCP and HTTP.

Each client is a thread that has one process at a time (or holds one server), so as many processes
work on the memory at once as there are clients. Knows nothing of killing.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from bench.crash_ledger import CLIENTS, HookEvent, Ledger, words_of
from bench.crash_scene import HttpServer, Keeper, McpServer, Scene, end_server, finished
from wellkept.core.codec import Json


@dataclass(slots=True)
class Crowd:
    """What the clients did."""

    did: Counter[str] = field(default_factory=Counter[str])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, what: str) -> None:
        """One more of these is done."""
        with self.lock:
            self.did[what] += 1

    def as_json(self) -> dict[str, Json]:
        """The counts."""
        return {"did": dict(self.did)}


def run_hook(scene: Scene, ledger: Ledger, event: HookEvent) -> None:
    """Let a hook run to its end; exit 0 without a word means that its event is kept."""
    done = finished(scene.start_hook(event.client, event.event, event.payload))
    if done.code or done.errors or done.out:
        ledger.complain(f"hook {event.client} {event.event}: {done}")
    ledger.note(event.sent, sure=not done.code and not done.errors)


def work_at_once(scene: Scene, ledger: Ledger, *, clients: int, rounds: int, seed: int) -> Crowd:
    """Let everybody begin at the same moment and work for some rounds."""
    crowd, ready = Crowd(), threading.Barrier(clients)
    server = HttpServer(scene)
    ways: tuple[Callable[[_Client], None], ...] = (
        _Client.hooks, _Client.remember, _Client.hooks, _Client.recall,
        _Client.hooks, _Client.over_http, _Client.hooks, _Client.over_mcp,
    )  # fmt: skip
    threads = [
        threading.Thread(
            target=_Client(scene, ledger, crowd, ready, server, number, rounds, seed).work,
            args=(ways[number % len(ways)],),
            daemon=True,
        )
        for number in range(clients)
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        end_server(server, kill=False)
    return crowd


@dataclass(slots=True)
class _Client:
    scene: Scene
    ledger: Ledger
    crowd: Crowd
    ready: threading.Barrier
    server: HttpServer
    number: int
    rounds: int
    seed: int

    def work(self, way: Callable[[_Client], None]) -> None:
        """Do one kind of work; whatever breaks it is a complaint."""
        try:
            way(self)
        except (OSError, RuntimeError, ValueError) as error:
            self.ledger.complain(f"client {self.number} {way.__name__}: {error!r}")

    def hooks(self) -> None:
        """A coding client: several events a round."""
        chance, client = Random(f"{self.seed}-{self.number}"), CLIENTS[self.number // 2 % 4]
        self.ready.wait()
        for _ in range(self.rounds * 4):
            run_hook(
                self.scene, self.ledger, self.ledger.hook_event(self.scene, chance, client=client)
            )
            self.crowd.count(f"hook {client}")

    def remember(self) -> None:
        """A person who tells something on the command line."""
        self.ready.wait()
        for _ in range(self.rounds):
            statement = self.ledger.statement()
            done = self.scene.cli("remember", words_of(statement))
            self.ledger.note(statement, sure=done.code == 0)
            self._heard(done.code, done.errors)
            self.crowd.count("remember")

    def recall(self) -> None:
        """A person who asks on the command line; finding nothing yet is an answer."""
        self.ready.wait()
        for _ in range(self.rounds):
            done = self.scene.cli("recall", "service of the shop", "--json")
            self._heard(done.code if done.code > 1 else 0, done.errors)
            self.crowd.count("recall")

    def over_http(self) -> None:
        """A page or a program."""
        self.ready.wait()
        self._keep_and_find(self.server)

    def over_mcp(self) -> None:
        """A coding client's memory tools, each client with a server of its own."""
        self.ready.wait()
        server = McpServer(self.scene)
        try:
            self._keep_and_find(server)
        finally:
            end_server(server, kill=False)

    def _keep_and_find(self, server: Keeper) -> None:
        for _ in range(self.rounds):
            statement = self.ledger.statement()
            sure = server.keep(words_of(statement))
            self.ledger.note(statement, sure=sure)
            found = server.find("service of the shop")
            self._heard(0 if sure and found else 9, server.complaint)
            self.crowd.count(type(server).__name__)

    def _heard(self, code: int, words: str) -> None:
        if code or words.strip():
            self.ledger.complain(f"client {self.number}, exit {code}: {words}")
