"""A process that lives long answers as one that has just started, whatever others did meanwhile.

One store keeps facts of all rows in memory; it is changed through itself, through a second
connection and by a second process. After each act its answers, ids and scores alike, are those of
a store that was opened for the question.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.store.acts import ACTS, EMBEDDERS, WORDS, perform, perform_beside
from tests.store.test_faults import said_lines, start_writer
from tests.support.conformance.fixtures import EVERYTHING
from tests.support.samples import START, Samples
from wellkept.core.changes import IndexEntry, Insert
from wellkept.core.ports.reports import MemoryGroup
from wellkept.core.ports.store import Store
from wellkept.core.query import Candidate, Filter, RetrieverHit, SessionPosition, Validity
from wellkept.core.records import replace
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Engine
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import RecallRequest, SearchMode
from wellkept.store import open_store
from wellkept.store.memory_rows import COLUMNS, to_row
from wellkept.store.queries import SearchEffort
from wellkept.store.sqlite.database import Database
from wellkept.store.sqlite.migrations import STEPS, migrate
from wellkept.store.sqlite.reports import FacetCounts
from wellkept.store.sqlite.search.fulltext import search_fulltext
from wellkept.store.sqlite.search.term_cache import TermCache
from wellkept.store.sqlite.store import SqliteStore
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("B1", "B4", "B5", "H2")

FILTERS = (Filter(project="one"), Filter(project="two"), Filter(project=None))
COUNTED = (
    *FILTERS,
    Filter(project="one", include_user=False, validity=Validity.ANY, archived=None),
    Filter(project="one", types=(MemoryType.GOTCHA,), stale=False),
    Filter(project="two", tags=("red",)),
)
QUESTIONS = (
    ("alpha kilo", SearchMode.HYBRID),
    ("where did robin run the x_y tango", SearchMode.HYBRID),
    ("日本語 café zulu delta", SearchMode.VECTORS),
)
NEVER_SMALL = SearchEffort(small_project_rows=0, scored_rows=0)
CLOCK = ManualClock(START + timedelta(days=30))


class OtherProcess:
    """A real process that acts when it is told."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.store.acts"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def perform(self, name: str, number: int, *, path: Path) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(path), name, number]) + "\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"

    def end(self) -> None:
        self._process.communicate(timeout=30)


@pytest.fixture(scope="module", autouse=True)
def other_process() -> Iterator[OtherProcess]:
    started = OtherProcess()
    LongLived.process = started
    yield started
    started.end()


def open_keeping(path: Path, *, read_only: bool = False) -> Store:
    """A store that keeps counts of all rows from the first question on."""
    return SqliteStore.open(
        path,
        busy_timeout_ms=5_000,
        read_only=read_only,
        clock=CLOCK,
        facet_counts=FacetCounts(min_rows=0, min_counts=0),
    )


def answers(store: Store) -> list[object]:
    """What a store says to many questions: ids, scores, and what it tells of each."""
    told: list[object] = []
    ids = [memory.id for memory in store.iterate(EVERYTHING)]
    places = [SessionPosition(session, seq) for session in "stu" for seq in (0, 3, 7)]
    for where in FILTERS:
        told.append(store.search_fulltext(WORDS[:4], where, limit=50))
        told.append(store.search_substrings(["lph", "k", "本語"], where, limit=50))
        told.append(store.session_neighbours(places, where, span=1))
        for embedder in EMBEDDERS:
            vector = embedder.embed_query("alpha tango delta")
            if embedder.model_id in {share.model_id for share in store.vector_models()}:
                told.append(
                    store.search_vectors(vector, model_id=embedder.model_id, where=where, limit=9)
                )
                told.append(store.similarities(vector, model_id=embedder.model_id, ids=ids))
    for where in COUNTED:
        told.append(summed(store.memory_groups(where)))
        told += [store.label_counts(where, kind, limit=3) for kind in ("tag", "file", "module")]
    told.append(store.contents(ids))
    told += [recalled(store, question, mode) for question, mode in QUESTIONS]
    return told


def summed(groups: Iterable[MemoryGroup]) -> Counter[MemoryGroup]:
    """Groups by what they have in common; a store may name one twice."""
    counts: Counter[MemoryGroup] = Counter()
    for one in groups:
        counts[replace(one, count=0)] += one.count
    return counts


def recalled(store: Store, question: str, mode: SearchMode) -> list[object]:
    embedder = EMBEDDERS[len(question) % 2]
    engine = Engine(store=store, embedder=lambda: embedder, clock=CLOCK)
    request = RecallRequest(
        query=question, where=FILTERS[0], mode=mode, neighbours=1, count_access=False
    )
    return [(hit.memory, hit.score, hit.retrievers) for hit in recall(engine, request)]


def assert_as_fresh(path: Path, *kept: Store) -> None:
    with closing(open_store(path, clock=CLOCK)) as fresh:
        expected = answers(fresh)
    for store in kept:
        assert answers(store) == expected


class KeptWords:
    """Word search as in a large store, where what each term adds to a score is kept."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._frequent = TermCache(min_rows=1)

    def assert_as_fresh(self, path: Path) -> None:
        with closing(open_store(path, clock=CLOCK)) as fresh:
            for where in FILTERS:
                expected = fresh.search_fulltext(WORDS, where, limit=50)
                assert _rounded(self._found(where)) == _rounded(expected)

    def _found(self, where: Filter) -> list[RetrieverHit]:
        self._db.execute("BEGIN")
        try:
            return search_fulltext(
                self._db,
                WORDS,
                where,
                limit=50,
                term_cache=lambda: self._frequent,
                effort=NEVER_SMALL,
            )
        finally:
            self._db.execute("ROLLBACK")

    def close(self) -> None:
        self._db.close()


def _rounded(hits: list[RetrieverHit]) -> list[tuple[float, Candidate]]:
    """Sums of the same numbers in another order may differ in their last digit."""
    return sorted((round(score, 9), candidate) for candidate, score in hits)


def make_older_file(path: Path, *, steps: int) -> None:
    """A file as an earlier Wellkept left it; its triggers filled the text indexes."""
    samples, database = Samples(project="one"), Database(
        path, busy_timeout_ms=1_000
    )  # fmt: skip
    with closing(database):
        migrate(database, clock=CLOCK, steps=STEPS[:steps])
        with database.writing() as db:
            for number in range(12):
                memory = samples.memory(f"{WORDS[number % 5]} {WORDS[number % 3]}")
                db.execute(
                    f"INSERT INTO memories ({', '.join(COLUMNS)})"
                    f" VALUES ({', '.join('?' * len(COLUMNS))})",
                    to_row(memory),
                )


class LongLived(RuleBasedStateMachine):
    """Two stores that keep, one of them for reading only, beside everyone who changes the file."""

    process: OtherProcess

    @initialize(older=st.sampled_from((0, 1, 6, 9)))
    def open(self, older: int) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="wellkept-")
        self.path = Path(self.folder.name) / "store.db"
        self.number = 0
        if older:
            make_older_file(self.path, steps=older)
        self.kept = open_keeping(self.path)
        self.reader = open_keeping(self.path, read_only=True)
        self.words = KeptWords(self.path)
        for _ in range(3):
            self.act("insert", "beside")

    @rule(
        name=st.sampled_from(sorted(ACTS)),
        by=st.sampled_from(("itself", "beside", "process")),
    )
    def act(self, name: str, by: str) -> None:
        self.number += 1
        if by == "itself":
            perform(name, self.number, path=self.path, store=self.kept)
        elif by == "beside":
            perform_beside(name, self.number, path=self.path)
        else:
            self.process.perform(name, self.number, path=self.path)

    @invariant()
    def answers_as_fresh(self) -> None:
        if hasattr(self, "words"):
            assert_as_fresh(self.path, self.kept, self.reader)
            self.words.assert_as_fresh(self.path)

    def teardown(self) -> None:
        if hasattr(self, "words"):
            self.words.close()
            self.kept.close()
            self.reader.close()
            self.folder.cleanup()


TestLongLived = LongLived.TestCase
TestLongLived.settings = settings(max_examples=8, stateful_step_count=25, deadline=None)


@pytest.mark.parametrize("name", sorted(ACTS))
def test_each_act_of_another_process_is_noticed(
    name: str, tmp_path: Path, other_process: OtherProcess
) -> None:
    path = tmp_path / "store.db"
    for number in range(4):
        perform_beside("insert", number, path=path)
    perform_beside("back_up", 5, path=path)
    perform_beside("export", 6, path=path)
    perform_beside("forget", 7, path=path)
    with closing(open_keeping(path)) as kept, closing(KeptWords(path)) as words:
        assert_as_fresh(path, kept)
        words.assert_as_fresh(path)
        for number in range(10, 13):
            other_process.perform(name, number, path=path)
            assert_as_fresh(path, kept)
            words.assert_as_fresh(path)


def test_a_backup_put_in_place_twice_is_noticed_twice(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    perform_beside("insert", 1, path=path)
    perform_beside("back_up", 2, path=path)
    with closing(open_keeping(path)) as kept:
        for number in (10, 20, 30):
            for name in ("edit", "forget", "insert", "edit"):
                perform_beside(name, number, path=path)
            assert_as_fresh(path, kept)
            perform_beside("restore", number, path=path)
            for name in ("edit", "edit", "insert", "forget"):  # as many numbers as before
                perform_beside(name, number + 5, path=path)
            assert_as_fresh(path, kept)


def test_threads_that_ask_while_others_write_are_answered_and_end_up_as_fresh(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    for number in range(4):
        perform_beside("insert", number, path=path)
    failures: list[BaseException] = []
    written = threading.Event()

    with closing(open_keeping(path)) as kept:

        def ask() -> None:
            try:
                while not written.is_set():
                    answers(kept)
            except BaseException as error:
                failures.append(error)
                raise

        asking = [threading.Thread(target=ask) for _ in range(3)]
        for thread in asking:
            thread.start()
        try:
            for number in range(10, 50):
                names = ("insert", "edit", "forget", "supersede", "mark", "recall", "reindex")
                perform_beside(names[number % len(names)], number, path=path)
        finally:
            written.set()
            for thread in asking:
                thread.join()
        assert failures == []
        assert_as_fresh(path, kept)


def test_a_writer_that_is_killed_leaves_what_it_committed_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(open_keeping(path)) as kept:
        for lines in (3, 11, 6):
            writer = start_writer(path, "one", 0)
            said_lines(writer, lines)
            writer.kill()
            writer.communicate()
            assert_as_fresh(path, kept)
            kept.apply([Insert(Samples(seed=lines).memory("alpha", project="one"), IndexEntry())])
            assert_as_fresh(path, kept)
