"""Twenty laptops, clocks days apart, lines that break, a week offline: all end up the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

import wellkept
from tests.server.laptops import PROJECT, BadLine, Laptop, team_server
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Validity
from wellkept.core.team.shared_records import SharedRecord, SharedState
from wellkept.memory.sharing.team_entry import entry_of
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("T3")

LAPTOPS, REVIEWERS, ROUNDS = 20, 4, 7
SEED = 20_261_117


class Simulation:
    """Random work on laptops, with what was said and ended on purpose written down."""

    def __init__(self, laptops: list[Laptop], *, seed: int) -> None:
        self.laptops = laptops
        self.random = random.Random(seed)
        self.said: dict[str, str] = {}
        self.ended: set[str] = set()
        self._number = 0

    def round(self) -> None:
        """Everybody works; half of them are online. Some stay away for a week."""
        for laptop in self.laptops:
            laptop.clock.advance(hours=self.random.uniform(1, 30))
            for _ in range(self.random.randrange(3)):
                self.act(laptop)
        online = [one for one in self.laptops if self.random.random() < 0.5]
        self.random.shuffle(online)
        together = online[: len(online) // 3]
        with ThreadPoolExecutor(4) as pool:  # several at the same moment
            list(pool.map(Laptop.sync, together))
        for laptop in online[len(together) :]:
            laptop.sync()

    def act(self, laptop: Laptop) -> None:
        """One thing that a person does."""
        known = sorted(laptop.open(), key=lambda one: one.id)
        what = self.random.choice(("new", "new", "common", "correct", "end", "erase", "label"))
        if what == "new" or not known:
            self._number += 1
            made = laptop.teach(f"Rule {self._number} of {laptop.name} holds here.")
        elif what == "common":
            made = laptop.teach(f"Everybody says sentence {self.random.randrange(6)} of ours.")
        else:
            one = self.random.choice(known)
            self._change(laptop, one.id, what)
            return
        self.said[made.id] = made.content

    def _change(self, laptop: Laptop, memory_id: str, what: str) -> None:
        if what == "correct":
            self._number += 1
            made = laptop.correct(memory_id, f"Correction {self._number} by {laptop.name}.")
            self.said[made.id] = made.content
            self.ended.add(memory_id)
        elif what == "end":
            laptop.wk.forget(memory_id, keep_history=True)
            self.ended.add(memory_id)
        elif what == "erase":
            laptop.wk.forget(memory_id)
            self.ended.add(memory_id)
        else:
            tags = (f"t{self.random.randrange(5)}", laptop.name)
            laptop.wk.edit(memory_id, tags=tags)


def settle(laptops: list[Laptop], reviewer: Laptop) -> None:
    """Everybody is online again, and a reviewer says yes to all that waits."""
    for _ in range(12):
        moved = False
        for laptop in laptops:
            report = laptop.sync()
            what = (report.problem, report.pushed, report.new, report.changed, report.closed)
            moved |= any(what)
        waiting = [one.id for one in reviewer.wk.remote.waiting()]
        if waiting:
            reviewer.wk.remote.decide(waiting, holds=True)
        elif not moved:
            return
    told = [(one.name, one.wk.remote.state()) for one in laptops]
    raise AssertionError(f"The laptops never came to rest: {told}")


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_twenty_laptops_end_up_the_same(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store: str | Path = tmp_path / "server.db"
    if engine == "postgres":
        store = str(request.getfixturevalue("empty_postgres_url"))
    chance = random.Random(SEED)
    clock = ManualClock()
    with ExitStack() as stack:
        served = stack.enter_context(team_server(store, tmp_path / "server", clock))
        line = stack.enter_context(BadLine(served.address, seed=SEED, bad=0.0))
        laptops = [
            Laptop(
                tmp_path / f"l{n}",
                f"p{n:02}",
                role="reviewer" if n < REVIEWERS else "writer",
                skew=timedelta(days=chance.uniform(-9, 9)),
            )
            for n in range(LAPTOPS)
        ]
        for laptop in laptops:
            stack.callback(laptop.wk.close)
            assert laptop.join(line.address).problem is None
        work = Simulation(laptops, seed=SEED)
        line.bad = 0.3
        for _ in range(ROUNDS):
            clock.advance(days=1)
            work.round()
        assert line.cuts > 10
        assert line.doubled > 3
        line.bad = 0.0
        settle(laptops, laptops[0])
        _check(work, laptops)
        server = stack.enter_context(
            wellkept.open(
                store,
                project=PROJECT,
                cwd=tmp_path,
                embedder="none",
                clock=clock,
                environment={"WELLKEPT_HOME": str(tmp_path / "server")},
            )
        )
        _check_server(work, laptops, server)


def _check(work: Simulation, laptops: list[Laptop]) -> None:
    first = laptops[0].view()
    assert first
    for laptop in laptops[1:]:
        assert laptop.view() == first, f"{laptop.name} differs"
    texts = [text for _, text in laptops[0].says().items()]
    assert len(texts) == len(set(map(str.casefold, texts))), "the same is said twice"
    lost = {
        text
        for memory_id, text in work.said.items()
        if memory_id not in work.ended and text not in texts
    }
    ended = {work.said[one] for one in work.ended if one in work.said}
    assert lost <= ended, "nobody ended these, and they are gone"


def _check_server(work: Simulation, laptops: list[Laptop], server: wellkept.Wellkept) -> None:
    """The server's own memory says the same, and its records tell of everything ever said."""
    store, project = server.engine.store, server.project
    where = Filter(project=project, validity=Validity.OPEN, include_user=False)
    there = {one.id: one.content for one in store.iterate(where)}
    assert there == laptops[0].says()
    records: list[SharedRecord] = store.shared_changes(
        project, after=0, limit=100_000, seen_by=None
    )
    texts = {entry.shared.content.casefold() for one in records if (entry := entry_of(one)).shared}
    erased = {one.id for one in records if one.state is SharedState.ERASED}
    known_here = {memory.id for one in laptops for memory in _ever(one)}
    for memory_id, text in work.said.items():
        is_known = text.casefold() in texts or memory_id in erased
        # What was ended before it was ever pushed stays with its owner.
        assert is_known or (memory_id in work.ended) or memory_id in known_here, text


def _ever(laptop: Laptop) -> Iterator[Memory]:
    where = Filter(project=laptop.wk.project, validity=Validity.ANY, include_user=False)
    return laptop.wk.engine.store.iterate(where)
