"""Facts kept in memory say what the rows say, whoever changed them and however much."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.samples import START, Samples
from wellkept.core.changes import Change, Close, Delete, IndexEntry, Insert, Mark, Replace
from wellkept.core.errors import StoreCorruptError
from wellkept.core.memory import Memory
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter, SessionPosition
from wellkept.core.records import replace
from wellkept.core.types import Scope
from wellkept.store import open_store
from wellkept.store.sqlite.connection.database import install_functions
from wellkept.store.sqlite.search.candidates import CandidateReader
from wellkept.store.sqlite.search.fulltext import search_fulltext
from wellkept.store.sqlite.search.trigrams import search_substrings
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


def assert_alike(
    db: sqlite3.Connection, kept: CandidateReader, read: CandidateReader, ids: list[str]
) -> None:
    rows = range(500)
    places = [SessionPosition(session, seq) for session in "stu" for seq in (-1, 0, 5, 11, 30)]
    for where in FILTERS:
        assert kept.passing(db, rows, where) == read.passing(db, rows, where)
        for span in (0, 2):
            near = kept.session_neighbours(db, places, where, span=span)
            assert near == read.session_neighbours(db, places, where, span=span)
    assert kept.rows_of(db, ids) == read.rows_of(db, ids)


def test_kept_facts_follow_every_change_of_another_process(
    store: Store, db: sqlite3.Connection
) -> None:
    life = Life(store)
    kept, read = CandidateReader(min_rows=0, min_queries=0), CandidateReader(max_rows=0)
    for _ in range(120):
        life.step()
        assert_alike(db, kept, read, [*life.known, "unknown"])
    store.merge_projects("two", into="one")
    assert_alike(db, kept, read, list(life.known))


def test_more_changes_than_are_listed_make_it_read_all_again(
    store: Store, db: sqlite3.Connection
) -> None:
    life = Life(store)
    for _ in range(40):
        life.step()
    kept, read = CandidateReader(min_rows=0, min_queries=0), CandidateReader(max_rows=0)
    assert_alike(db, kept, read, list(life.known))
    for _ in range(10):
        life.step()
    db.execute(FORGET)
    assert_alike(db, kept, read, list(life.known))


def test_vectors_follow_every_change_of_another_process(
    store: Store, db: sqlite3.Connection
) -> None:
    life, search, candidates = Life(store), VectorSearch(), CandidateReader()
    query, everything = life.samples.vector(), Filter(project=None)
    for number in range(90):
        life.step()
        if number % 7 == 0:
            store.put_index_entries([(each, IndexEntry()) for each in list(life.known)[:2]])
        if number == 60:  # more than the list names
            db.execute(FORGET)
        said = [
            (
                one.nearest(
                    db, query, model_id="m", where=everything, limit=500, candidates=candidates
                ),
                one.similarities(
                    db, query, model_id="m", ids=list(life.known), candidates=candidates
                ),
            )
            for one in (search, VectorSearch())
        ]
        assert said[0] == said[1]
        standing = dict(store.vectors(model_id="m", where=Filter(project=None, archived=None)))
        assert set(said[0][1]) >= set(standing)


def test_a_small_store_and_a_first_question_read_rows(store: Store, db: sqlite3.Connection) -> None:
    store.apply([Samples().insert("alpha", project="one")])
    where = Filter(project="one")
    for candidates in (
        CandidateReader(),
        CandidateReader(min_rows=0),
        CandidateReader(min_queries=0),
    ):
        assert len(candidates.passing(db, [1], where)) == 1
        candidates.clear()


def test_a_span_wider_than_any_session_is_answered_like_any_other(
    store: Store, db: sqlite3.Connection
) -> None:
    samples = Samples(project="one")
    store.apply([samples.insert(f"n{i}", session_id="s", seq=i * 10**12) for i in range(9)])
    kept, read = CandidateReader(min_rows=0, min_queries=0), CandidateReader(max_rows=0)
    for span in (10**12, 2**62, 2**80):
        asked = [SessionPosition("s", 0), SessionPosition("s", 8 * 10**12)]
        near = kept.session_neighbours(db, asked, FILTERS[0], span=span)
        assert near == read.session_neighbours(db, asked, FILTERS[0], span=span)
        assert len(near) >= 4


def test_a_row_that_cannot_be_read_is_named_and_the_others_are_answered(
    store: Store, db: sqlite3.Connection
) -> None:
    samples = Samples(project="one")
    good, bad = samples.insert("good"), samples.insert("bad")
    store.apply([good, bad])
    kept = CandidateReader(min_rows=0, min_queries=0)
    assert len(kept.passing(db, [1, 2], FILTERS[0])) == 2
    db.execute("UPDATE memories SET type = 'nonsense' WHERE row = 2")
    for candidates in (kept, CandidateReader(min_rows=0, min_queries=0), CandidateReader()):
        assert [c.id for c in candidates.passing(db, [1], FILTERS[0]).values()] == [good.memory.id]
        with pytest.raises(StoreCorruptError, match=bad.memory.id):
            candidates.passing(db, [1, 2], FILTERS[0])
    db.execute("UPDATE memories SET type = 'fact' WHERE row = 2")
    assert len(kept.passing(db, [1, 2], FILTERS[0])) == 2


def test_what_another_thread_learned_meanwhile_does_not_disturb_a_search(
    store: Store, path: Path, db: sqlite3.Connection
) -> None:
    candidates, where = CandidateReader(min_rows=0, min_queries=0), FILTERS[0]
    samples = Samples(project="one")
    added = [samples.insert(f"alpha beta {i}") for i in range(3)]
    store.apply(added)
    with closing(sqlite3.connect(path, isolation_level=None)) as earlier:
        install_functions(earlier)
        earlier.execute("BEGIN")
        earlier.execute("SELECT count(*) FROM memories").fetchone()
        store.apply([Delete(added[0].memory.id), Close(added[1].memory.id, START)])
        assert len(candidates.passing(db, [1, 2, 3], where)) == 1
        for found in (
            search_substrings(earlier, ["lph"], where, limit=5, candidates=candidates),
            search_fulltext(earlier, ["beta"], where, limit=5, candidates=candidates),
        ):
            assert [hit.id for hit in found] == [added[2].memory.id]
