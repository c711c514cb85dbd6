"""Word and fragment search: safe for any text, exact under filters, bounded in work."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.conformance.fixtures import EVERYTHING, HERE
from tests.support.samples import START, Samples
from wellkept.core.query import RetrieverHit
from wellkept.core.types import MemoryType
from wellkept.store.queries import SearchEffort
from wellkept.store.sqlite.apply_changes import apply_changes
from wellkept.store.sqlite.database import Connection, Database
from wellkept.store.sqlite.migrations import migrate
from wellkept.store.sqlite.search.fulltext import search_fulltext, search_substrings
from wellkept.store.sqlite.search.term_cache import TermCache
from wellkept.store.sqlite.search.vectors import VectorSearch

pytestmark = pytest.mark.feature("B1")

UNBOUNDED = SearchEffort(
    small_project_rows=0, first_pass=10_000, scored_rows=10_000, ubiquitous_rows=10_000
)
FRUGAL = SearchEffort(small_project_rows=0, first_pass=10, scored_rows=40, ubiquitous_rows=250)
VOCABULARY = [f"w{i}" for i in range(200)]
anything = st.text(st.characters(codec=None), max_size=12) | st.sampled_from(
    ('"', "OR", "NEAR(a b)", "*", "^", "content:", "-", "\0", "\ud800", "w1*", "(", "{}")
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """600 memories of words whose frequencies follow Zipf's law, in two projects."""
    path: Path = tmp_path_factory.mktemp("words") / "store.db"
    opened = Database(path, busy_timeout_ms=1_000)
    migrate(opened, clock=lambda: START)
    samples, chance = Samples(), random.Random(4)
    weights = [1 / (i + 1) for i in range(len(VOCABULARY))]
    with opened.writing() as db:
        apply_changes(
            db,
            [
                samples.insert(
                    " ".join(chance.choices(VOCABULARY, weights, k=chance.randint(3, 20))),
                    project=("example", "elsewhere")[number % 10 != 0],
                    type=MemoryType.GOTCHA if number % 25 == 0 else MemoryType.FACT,
                )
                for number in range(600)
            ],
            at_ms=0,
        )
    yield opened
    opened.close()


@pytest.fixture
def db(database: Database) -> Iterator[Connection]:
    with database.snapshot() as connection:
        yield connection


def ids(hits: Sequence[RetrieverHit]) -> list[str]:
    return [hit.id for hit in hits]


@given(terms=st.lists(anything, max_size=4))
def test_any_string_is_a_safe_term_and_fragment(database: Database, terms: list[str]) -> None:
    with database.snapshot() as db:
        for effort in (UNBOUNDED, FRUGAL):
            search_fulltext(db, terms, HERE, limit=5, effort=effort)
        search_substrings(db, terms, HERE, limit=5)


@given(
    terms=st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=6),
    limit=st.integers(1, 60),
    first_pass=st.integers(1, 50),
)
def test_filtering_what_was_found_first_equals_searching_inside_the_filter(
    database: Database, terms: list[str], limit: int, first_pass: int
) -> None:
    narrow = replace(UNBOUNDED, first_pass=first_pass)
    alone = replace(UNBOUNDED, small_project_rows=1_000, scored_rows=1)
    with database.snapshot() as db:
        for where in (HERE, EVERYTHING, replace(HERE, types=(MemoryType.GOTCHA,))):
            plain = search_fulltext(db, terms, EVERYTHING, limit=600, effort=UNBOUNDED)
            allowed = set(ids(search_fulltext(db, terms, where, limit=600, effort=UNBOUNDED)))
            expected = [hit for hit in plain if hit.id in allowed][:limit]
            for effort in (narrow, *([alone] if where.project else [])):
                found = search_fulltext(db, terms, where, limit=limit, effort=effort)
                assert ids(found) == ids(expected)
                assert [h.score for h in found] == pytest.approx([h.score for h in expected])


@given(
    terms=st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=6, unique=True),
    limit=st.integers(1, 30),
)
def test_kept_terms_inside_a_small_project_equal_a_full_search(
    database: Database, terms: list[str], limit: int
) -> None:
    import numpy as np

    assert np  # the term cache waits for it
    kept, vectors = TermCache(min_rows=0), VectorSearch()
    effort = replace(UNBOUNDED, scored_rows=1)
    with database.snapshot() as db:
        for where in (HERE, HERE, EVERYTHING):
            expected = search_fulltext(db, terms, where, limit=limit, effort=UNBOUNDED)
            found = search_fulltext(
                db,
                terms,
                where,
                limit=limit,
                effort=effort,
                term_cache=lambda: kept,
                passing=vectors.passing_rows,
            )
            assert ids(found) == ids(expected)
            assert [h.score for h in found] == pytest.approx([h.score for h in expected])


@given(
    terms=st.lists(st.sampled_from(VOCABULARY), min_size=2, max_size=6, unique=True),
    limit=st.integers(1, 30),
)
def test_a_bounded_search_finds_enough_and_scores_them_as_the_plain_one(
    database: Database, terms: list[str], limit: int
) -> None:
    with database.snapshot() as db:
        frugal = replace(FRUGAL, ubiquitous_rows=10_000)
        for where in (HERE, EVERYTHING):
            plain = {
                h.id: h.score
                for h in search_fulltext(db, terms, where, limit=600, effort=UNBOUNDED)
            }
            found = search_fulltext(db, terms, where, limit=limit, effort=frugal)
            assert len(found) == min(limit, len(plain))
            assert [h.score for h in found] == pytest.approx([plain[h.id] for h in found])
            assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)


def test_a_bounded_search_finds_ten_that_are_nearly_as_good_as_the_best(db: Connection) -> None:
    chance = random.Random(8)
    best = found = 0.0
    for _ in range(60):
        terms = chance.sample(VOCABULARY[3:], 5)
        best += sum(
            h.score for h in search_fulltext(db, terms, EVERYTHING, limit=10, effort=UNBOUNDED)
        )
        found += sum(
            h.score for h in search_fulltext(db, terms, EVERYTHING, limit=10, effort=FRUGAL)
        )
    assert found >= 0.95 * best


def test_a_word_that_is_everywhere_still_finds_when_it_is_alone(db: Connection) -> None:
    assert len(search_fulltext(db, ["w0"], EVERYTHING, limit=500, effort=FRUGAL)) > 300
    both = search_fulltext(db, ["w0", "w190"], EVERYTHING, limit=500, effort=FRUGAL)
    assert len(both) > 300


def test_a_fragment_that_is_everywhere_gives_the_newest(db: Connection) -> None:
    hits = search_substrings(db, ["w"], EVERYTHING, limit=3)
    everything = search_substrings(db, ["w"], EVERYTHING, limit=1_000)
    assert len(everything) == 600
    assert ids(hits) == ids(everything)[:3] == sorted(ids(hits), reverse=True)


@given(start=st.integers(0, 30), length=st.integers(1, 40), number=st.integers(0, 599))
def test_every_piece_of_every_content_is_found(
    database: Database, start: int, length: int, number: int
) -> None:
    with database.snapshot() as db:
        full_id, content = db.execute(
            "SELECT id, content FROM memories WHERE row = ?", (number + 1,)
        ).fetchone()
        piece = content[start : start + length]
        holders = [
            i for i, c in db.execute("SELECT id, content FROM memories") if piece and piece in c
        ]
        found = ids(search_substrings(db, [piece.upper()], EVERYTHING, limit=1_000))
        assert sorted(found) == sorted(holders)
        assert (full_id in found) == bool(piece)
