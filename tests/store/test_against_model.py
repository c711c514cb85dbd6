"""Whatever is done to it, the SQLite engine gives the same answers as the plain model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.conformance.fixtures import EVERYTHING
from tests.support.model_store.store import ModelStore
from tests.support.samples import START, Samples, make_vector
from wellkept.core.changes import Change, Close, Delete, IndexEntry, Insert, Mark, Replace, Rescore
from wellkept.core.errors import WellkeptError
from wellkept.core.memory import Memory
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter, Order, SessionPosition, Validity
from wellkept.core.types import MemoryType, Scope
from wellkept.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.feature("A1", "A3", "B1")

WORDS = ("alpha", "kilo", "tango", "zulu", "Café", "日本語", "x_y", "O'Neil")
PROJECTS = ("one", "two", "three")
NOW = START + timedelta(days=400)

texts = st.lists(st.sampled_from(WORDS), min_size=0, max_size=5).map(" ".join)
vectors = st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(any).map(make_vector)
cards = st.builds(IndexEntry, texts) | st.builds(
    IndexEntry, texts, st.sampled_from(("m", "n")), vectors
)
moments = st.integers(0, 20).map(lambda hours: START + timedelta(hours=hours))
subsets = st.lists(st.sampled_from(("a", "b", "c")), unique=True, max_size=2).map(tuple)
fields = st.fixed_dictionaries(
    {
        "content": texts,
        "project": st.sampled_from(PROJECTS),
        "key": st.none() | st.sampled_from(("k1", "k2")),
        "type": st.sampled_from((MemoryType.FACT, MemoryType.GOTCHA)),
        "scope": st.sampled_from((Scope.GLOBAL, Scope.USER)),
        "tags": subsets,
        "files": subsets,
        "modules": subsets,
        "importance": st.sampled_from((0.0, 0.5, 1.0)),
        "session_id": st.none() | st.sampled_from(("s", "t")),
        "seq": st.none() | st.integers(0, 6),
        "valid_from": moments,
        "valid_to": st.none() | moments,
        "pinned": st.booleans(),
    }
)
filters = st.builds(
    Filter,
    project=st.none() | st.sampled_from(PROJECTS),
    include_user=st.booleans(),
    types=st.sampled_from(((), (MemoryType.FACT,), (MemoryType.FACT, MemoryType.GOTCHA))),
    scopes=st.sampled_from(((), (Scope.USER,))),
    tags=subsets,
    files=subsets,
    modules=subsets,
    sessions=st.sampled_from(((), ("s",), ("s", "t"))),
    min_importance=st.sampled_from((0.0, 0.5)),
    since=st.none() | moments,
    until=st.none() | moments,
    as_of=st.none() | moments,
    validity=st.sampled_from(Validity),
    archived=st.none() | st.booleans(),
    stale=st.none() | st.booleans(),
    pinned=st.none() | st.booleans(),
)


class StoreMachine(RuleBasedStateMachine):
    """Does the same to both stores and compares what they say."""

    @initialize()
    def open_both(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="wellkept-")
        self.samples = Samples()
        self.model: Store = ModelStore(clock=lambda: NOW)
        self.sqlite: Store = SqliteStore.open(
            Path(self.folder.name) / "store.db",
            busy_timeout_ms=5_000,
            read_only=False,
            clock=lambda: NOW,
        )
        self.ids: list[str] = []

    def both(self, do: Callable[[Store], object]) -> None:
        """Do it to both: the same result or the same kind of refusal."""
        outcomes: list[object] = []
        for store in (self.model, self.sqlite):
            try:
                outcomes.append(do(store))
            except WellkeptError as error:
                outcomes.append(type(error))
        assert outcomes[0] == outcomes[1]

    def change(self, *changes: Change) -> None:
        self.both(lambda store: store.apply(changes))

    def known(self, number: int) -> str:
        return self.ids[number % len(self.ids)] if self.ids else self.samples.memory().id

    def stored(self, number: int) -> Memory | None:
        return next(iter(self.model.get([self.known(number)])), None)

    @rule(values=fields, card=cards)
    def insert(self, values: dict[str, object], card: IndexEntry) -> None:
        memory = replace(self.samples.memory(), **values)  # pyright: ignore[reportArgumentType]
        self.ids.append(memory.id)
        self.change(Insert(memory, card))

    @rule(number=st.integers(0, 99), values=fields, card=st.none() | cards)
    def replace(self, number: int, values: dict[str, object], card: IndexEntry | None) -> None:
        memory = self.stored(number)
        if memory is not None:
            changed = replace(memory, **values)  # pyright: ignore[reportArgumentType]
            self.change(Replace(changed, card, memory.updated_at))

    @rule(number=st.integers(0, 99), successor=st.none() | st.integers(0, 99), at=moments)
    def close(self, number: int, successor: int | None, at: object) -> None:
        named = None if successor is None else self.known(successor)
        self.change(Close(self.known(number), at, named))  # pyright: ignore[reportArgumentType]

    @rule(number=st.integers(0, 99), what=st.sampled_from(("stale", "archived")))
    def mark(self, number: int, what: str) -> None:
        self.change(Mark(self.known(number), what, START))  # pyright: ignore[reportArgumentType]

    @rule(number=st.integers(0, 99), value=st.sampled_from((0.0, 0.25, 1.0)))
    def rescore(self, number: int, value: float) -> None:
        self.change(Rescore(self.known(number), importance=value))

    @rule(numbers=st.lists(st.integers(0, 99), min_size=1, max_size=3))
    def delete(self, numbers: list[int]) -> None:
        self.change(*(Delete(self.known(number)) for number in numbers))

    @rule(numbers=st.lists(st.integers(0, 99), max_size=4, unique=True), at=moments)
    def touch(self, numbers: list[int], at: object) -> None:
        touched = list(dict.fromkeys(self.known(number) for number in numbers))
        for store in (self.model, self.sqlite):
            store.record_access(touched, at=at)  # pyright: ignore[reportArgumentType]
            store.flush()

    @rule(number=st.integers(0, 99), card=cards)
    def put_card(self, number: int, card: IndexEntry) -> None:
        self.both(lambda store: store.put_index_entries([(self.known(number), card)]))

    @rule(model_id=st.sampled_from(("m", "n")))
    def drop_vectors(self, model_id: str) -> None:
        self.both(lambda store: store.drop_vectors(model_id=model_id))

    @rule(alias=st.sampled_from(PROJECTS), into=st.sampled_from(PROJECTS))
    def merge(self, alias: str, into: str) -> None:
        self.both(lambda store: store.merge_projects(alias, into=into))

    @rule(where=filters, order=st.sampled_from(Order), limit=st.integers(1, 4))
    def same_pages(self, where: Filter, order: Order, limit: int) -> None:
        cursors: list[str | None] = [None, None]
        for _ in range(30):
            pages = [
                store.list(where, order=order, limit=limit, cursor=cursor)
                for store, cursor in zip((self.model, self.sqlite), cursors, strict=True)
            ]
            assert (pages[0].items, pages[0].total) == (pages[1].items, pages[1].total)
            cursors = [page.next_cursor for page in pages]
            if cursors[1] is None:
                assert cursors[0] is None
                return

    @rule(where=filters, terms=st.lists(texts, max_size=3), vector=vectors)
    def same_hits(self, where: Filter, terms: list[str], vector: bytes) -> None:
        def found(store: Store) -> list[set[str]]:
            return [
                {h.id for h in store.search_fulltext(terms, where, limit=500)},
                {h.id for h in store.search_substrings(terms, where, limit=500)},
                {h.id for h in store.search_substrings(["a", "本", "o "], where, limit=500)},
                {h.id for h in store.search_vectors(vector, model_id="m", where=where, limit=500)},
                {i for i, _ in store.vectors(model_id="n", where=where)},
                {m.id for m in store.iterate(where)},
            ]

        assert found(self.model) == found(self.sqlite)
        self.both(
            lambda store: {
                h: round(score, 1)
                for h, score in store.search_links(
                    files=["a", "b"], modules=["c"], where=where, limit=500
                )
            }
        )
        self.both(lambda store: store.stats(where))

    @rule(where=filters, number=st.integers(0, 99), span=st.integers(0, 3))
    def same_neighbours(self, where: Filter, number: int, span: int) -> None:
        memories = self.model.get([self.known(number), self.known(number + 1)])
        asked = [
            SessionPosition(m.session_id, m.seq)
            for m in memories
            if m.session_id and m.seq is not None
        ]
        self.both(lambda store: sorted(store.session_neighbours(asked, where, span=span)))

    @rule(number=st.integers(0, 99), length=st.integers(3, 36))
    def same_names(self, number: int, length: int) -> None:
        full_id = self.known(number)
        for text in (full_id[:length], self.samples.memory().short, full_id[-length:]):
            self.both(lambda store, text=text: store.resolve(text, project="one"))

    @invariant()
    def same_rows(self) -> None:
        if hasattr(self, "sqlite"):
            assert list(self.model.iterate(EVERYTHING)) == list(self.sqlite.iterate(EVERYTHING))
            assert self.model.projects() == self.sqlite.projects()
            assert set(self.model.vector_models()) == set(self.sqlite.vector_models())

    def teardown(self) -> None:
        if hasattr(self, "sqlite"):
            findings = self.sqlite.check(deep=True)
            assert [f for f in findings if f.check != "successors"] == []
            self.sqlite.close()
            self.folder.cleanup()


TestAgainstModel = StoreMachine.TestCase
TestAgainstModel.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
