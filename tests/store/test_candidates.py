"""Candidates and vectors say what the rows say, whoever changed them and however much."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.samples import START, Samples
from wellkept.core.changes import Change, Close, Delete, IndexEntry, Insert, Mark, Replace
from wellkept.core.errors import StoreCorruptError
from wellkept.core.memory import Memory
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept.core.types import Scope
from wellkept.store import open_store
from wellkept.store.sqlite.search.candidates import passing
from wellkept.store.sqlite.search.vectors import VectorSearch

pytestmark = pytest.mark.feature("B1", "B5")

FORGET = "DELETE FROM changed_rows WHERE number < (SELECT max(number) FROM changed_rows)"
FILTERS = (
    Filter(project="one"),
    Filter(project="two"),
    Filter(project=None),
    Filter(project="nowhere"),
    Filter(project="one", archived=None),
    Filter(project="one", authors=("robin",)),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = open_store(path)
    yield opened
    opened.close()


@pytest.fixture
def db(path: Path, store: Store) -> Iterator[sqlite3.Connection]:
    assert store
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


class Life:
    """Makes memories and changes them in every way that a candidate can notice."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._chance = random.Random(3)
        self.samples = Samples()
        self.known: dict[str, Memory] = {}

    def memory(self) -> Memory:
        chance = self._chance
        return self.samples.memory(
            f"text {chance.random()}",
            project=chance.choice(("one", "two")),
            scope=chance.choice((Scope.GLOBAL, Scope.GLOBAL, Scope.USER)),
            session_id=chance.choice((None, "s", "t")),
            seq=chance.choice((None, *range(12))),
            author=chance.choice((None, "robin", "sam")),
            importance=chance.random(),
        )

    def step(self) -> None:
        """One change of some kind."""
        if not self.known or self._chance.random() < 0.4:
            new = self.memory()
            self.known[new.id] = new
            self._store.apply([Insert(new, IndexEntry("", "m", self.samples.vector()))])
            return
        old = self._chance.choice(list(self.known.values()))
        self._store.apply([self._change(old)])
        self._store.record_access([old.id], at=START + timedelta(days=1))
        self._store.flush()

    def _change(self, old: Memory) -> Change:
        match self._chance.randrange(5):
            case 0:
                del self.known[old.id]
                return Delete(old.id)
            case 1:
                return Mark(old.id, "archived", START)
            case 2:
                return Close(old.id, START + timedelta(days=2))
            case 3:
                return Replace(replace(self.memory(), id=old.id), IndexEntry())
            case _:
                return Replace(replace(self.memory(), id=old.id))


def test_vectors_follow_every_change_of_another_process(
    store: Store, db: sqlite3.Connection
) -> None:
    life, search = Life(store), VectorSearch()
    query, everything = life.samples.vector(), Filter(project=None)
    for number in range(90):
        life.step()
        if number % 7 == 0:
            store.put_index_entries([(each, IndexEntry()) for each in list(life.known)[:2]])
        if number == 60:  # more than the list names
            db.execute(FORGET)
        said = [
            (
                one.nearest(db, query, model_id="m", where=everything, limit=500),
                one.similarities(db, query, model_id="m", ids=list(life.known)),
            )
            for one in (search, VectorSearch())
        ]
        assert said[0] == said[1]
        standing = dict(store.vectors(model_id="m", where=Filter(project=None, archived=None)))
        assert set(said[0][1]) >= set(standing)


def test_a_row_that_cannot_be_read_is_named_and_the_others_are_answered(
    store: Store, db: sqlite3.Connection
) -> None:
    samples = Samples(project="one")
    good, bad = samples.insert("good"), samples.insert("bad")
    store.apply([good, bad])
    here = Filter(project="one")
    db.execute("UPDATE memories SET type = 'nonsense' WHERE row = 2")
    assert [c.id for c in passing(db, [1], here).values()] == [good.memory.id]
    with pytest.raises(StoreCorruptError, match=bad.memory.id):
        passing(db, [1, 2], here)


def test_inside_one_read_everything_is_of_one_state(store: Store) -> None:
    samples, here = Samples(project="one"), Filter(project="one")
    store.apply([samples.insert("alpha")])
    with store.one_read():
        assert store.stats(here).total == 1
        store.apply([samples.insert("beta")])
        assert store.stats(here).total == 1
        assert [hit.id for hit in store.search_fulltext(["beta"], here, limit=5)] == []
        with store.one_read():
            assert len(list(store.iterate(here))) == 1
    assert store.stats(here).total == 2
