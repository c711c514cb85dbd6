"""Twenty laptops, clocks days apart, lines that break, a week offline: all end up the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

import wellkept
from bench.bad_line import BadLine
from bench.laptop_work import Simulation, settle
from bench.laptops import PROJECT, Laptop, team_server
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Validity
from wellkept.core.team.records import SharedRecord, SharedState
from wellkept.testing.fakes import ManualClock
from wellkept_team.sharing.team_entry import entry_of

pytestmark = pytest.mark.feature("T3")

LAPTOPS, REVIEWERS, ROUNDS = 20, 4, 7
SEED = 20_261_117


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
