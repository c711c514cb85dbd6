"""Kept shares of frequent terms give the very answer that FTS5 gives."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from wellkept.core.changes import Delete, IndexEntry, Insert, Replace
from wellkept.core.memory import Memory
from wellkept.core.ports.store import Store
from wellkept.core.types import MemoryType
from wellkept.store import open_store
from wellkept.store.sqlite.search.term_cache import TermCache

pytestmark = pytest.mark.feature("B1")

_WORDS = [f"word{n}" for n in range(60)]
_START = datetime(2026, 1, 1, tzinfo=UTC)
_ASKED = ('"word0"', '"word3"', '"word41"', '"no such"')


def _memory(number: int, text: str) -> Memory:
    at = _START + timedelta(minutes=number)
    return Memory(
        id=f"0198f000-0000-7000-8000-{number:012x}",
        project="name:p",
        type=MemoryType.FACT,
        content=text,
        created_at=at,
        updated_at=at,
        valid_from=at,
        accessed_at=at,
    )


def _text(chance: random.Random) -> str:
    weights = [1 / (rank + 1) for rank in range(len(_WORDS))]
    return " ".join(chance.choices(_WORDS, weights, k=chance.randint(3, 12)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    chance = random.Random(5)
    opened = open_store(path)
    opened.apply([Insert(_memory(n, _text(chance)), IndexEntry()) for n in range(400)])
    yield opened
    opened.close()


@pytest.fixture
def db(path: Path, store: Store) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path)
    yield connection
    connection.close()


def _kept(*, budget_bytes: int = 10_000_000) -> TermCache:
    import numpy as np  # a process that has not loaded it lets FTS5 answer its first questions

    assert np
    return TermCache(min_rows=1, budget_bytes=budget_bytes)


def _plain(
    db: sqlite3.Connection, terms: Sequence[str], *, limit: int = 50
) -> list[tuple[int, float]]:
    return db.execute(
        "SELECT rowid, -rank FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?",
        (" OR ".join(terms), limit),
    ).fetchall()


def _rows(found: Sequence[tuple[int, float]] | None) -> list[int]:
    assert found is not None
    return [row for row, _ in found]


@pytest.mark.parametrize("limit", [1, 7, 50, 1_000])
def test_sums_of_shares_are_the_scores_of_the_whole_query(
    db: sqlite3.Connection, limit: int
) -> None:
    term_cache = _kept()
    for _ in range(2):
        found = term_cache.best(db, _ASKED, limit=limit)
        assert found is not None
        expected = _plain(db, _ASKED, limit=limit)
        assert _rows(found) == _rows(expected)
        assert [s for _, s in found] == pytest.approx([s for _, s in expected], rel=1e-12)


def test_random_queries_agree_with_fts5(db: sqlite3.Connection) -> None:
    chance, term_cache = random.Random(9), _kept()
    for _ in range(60):
        terms = [f'"{word}"' for word in chance.sample(_WORDS, k=chance.randint(1, 6))]
        assert _rows(term_cache.best(db, terms, limit=20)) == _rows(_plain(db, terms, limit=20))


def test_rows_that_came_later_are_found(store: Store, db: sqlite3.Connection) -> None:
    term_cache = _kept()
    term_cache.best(db, _ASKED, limit=50)
    store.apply([Insert(_memory(400, "word0 word3 word41"), IndexEntry())])
    found = term_cache.best(db, _ASKED, limit=500)
    assert 401 in _rows(found)
    assert set(_rows(found)) == set(_rows(_plain(db, _ASKED, limit=500)))


def test_scores_stay_those_of_fts5_while_a_store_grows_and_shrinks(
    store: Store, db: sqlite3.Connection
) -> None:
    term_cache, chance = _kept(), random.Random(11)
    asked = (*_ASKED, '"word1 word0"', '"word7"', '"brandnew"')
    for number in range(400, 460):
        text = chance.choice(
            ("word0 " * 70, "word1 " * 300, "brandnew word1 word0 " * 3, _text(chance))
        )
        store.apply([Insert(_memory(number, text), IndexEntry("word7 word1 word0"))])
        if number % 9 == 0:
            store.apply([Delete(_memory(number - 300, "").id)])
        found, expected = term_cache.best(db, asked, limit=900), _plain(db, asked, limit=900)
        assert _rows(found) == _rows(expected)
        assert _scores(found) == pytest.approx(_scores(expected), rel=1e-12)


def test_an_edited_text_is_scored_as_it_now_stands(store: Store, db: sqlite3.Connection) -> None:
    term_cache = _kept()
    best = _rows(term_cache.best(db, _ASKED, limit=50))[0]
    store.apply([Replace(replace(_memory(best - 1, "something else"), tags=("t",)), IndexEntry())])
    assert best not in _rows(term_cache.best(db, _ASKED, limit=500))
    assert _rows(term_cache.best(db, _ASKED, limit=50)) == _rows(_plain(db, _ASKED))


def test_a_rebuilt_word_index_is_read_again(store: Store, db: sqlite3.Connection) -> None:
    term_cache = _kept()
    term_cache.best(db, _ASKED, limit=50)
    (before,) = db.execute("SELECT count FROM text_edits").fetchone()
    store.repair()
    assert db.execute("SELECT count FROM text_edits").fetchone()[0] > before
    assert _rows(term_cache.best(db, _ASKED, limit=50)) == _rows(_plain(db, _ASKED))


def test_a_deleted_memory_is_no_hit_of_the_store(store: Store, db: sqlite3.Connection) -> None:
    term_cache = _kept()
    best = _rows(term_cache.best(db, _ASKED, limit=50))[0]
    store.apply([Delete(_memory(best - 1, "").id)])
    still = _rows(term_cache.best(db, _ASKED, limit=50))
    standing = {row for (row,) in db.execute("SELECT row FROM memories")}
    assert set(still) - standing <= {best}, "the caller checks what stands"


def test_words_that_became_rare_or_frequent_by_deletions_are_weighed_anew(
    store: Store, db: sqlite3.Connection
) -> None:
    term_cache = _kept()
    term_cache.best(db, _ASKED, limit=50)
    holding = set(_rows(_plain(db, ('"word0"',), limit=400)))
    store.apply([Delete(_memory(row - 1, "").id) for row in holding if row % 4])
    found, expected = term_cache.best(db, _ASKED, limit=900), _plain(db, _ASKED, limit=900)
    assert _rows(found) == _rows(expected)
    assert _scores(found) == pytest.approx(_scores(expected), rel=1e-12)


def test_what_is_kept_of_a_store_ends_with_its_history(
    store: Store, db: sqlite3.Connection, path: Path, tmp_path: Path
) -> None:
    store.backup(tmp_path / "backup.db")
    term_cache = _kept()
    store.apply([Replace(_memory(n, "word0 word41"), IndexEntry()) for n in range(9)])
    term_cache.best(db, _ASKED, limit=50)
    with closing(sqlite3.connect(tmp_path / "backup.db")) as backup:
        backup.backup(db)
    db.executemany("UPDATE memories SET extra = 'word3' WHERE row = ?", [(n,) for n in range(9)])
    db.commit()
    found, expected = term_cache.best(db, _ASKED, limit=900), _plain(db, _ASKED, limit=900)
    assert _rows(found) == _rows(expected)
    assert _scores(found) == pytest.approx(_scores(expected), rel=1e-12)


def test_a_small_budget_changes_nothing_but_what_is_kept(db: sqlite3.Connection) -> None:
    term_cache = _kept(budget_bytes=100)
    for _ in range(3):
        assert _rows(term_cache.best(db, _ASKED, limit=20)) == _rows(_plain(db, _ASKED, limit=20))


def test_a_small_store_is_left_to_fts5(db: sqlite3.Connection) -> None:
    assert TermCache().best(db, _ASKED, limit=10) is None


def test_nothing_is_found_where_no_row_holds_a_term(db: sqlite3.Connection) -> None:
    assert _kept().best(db, ['"absent"'], limit=10) == []


def _scores(found: Sequence[tuple[int, float]] | None) -> list[float]:
    assert found is not None
    return [score for _, score in found]


def test_long_texts_and_repeated_words_score_as_fts5_scores_them(
    store: Store, db: sqlite3.Connection
) -> None:
    texts = ("word3 " * 200 + "word0", "filler " * 20_000 + "word41", "Words0 WORD3 wörd0")
    store.apply([Insert(_memory(500 + n, text), IndexEntry()) for n, text in enumerate(texts)])
    asked = (*_ASKED, '"filler"', '"word3 word0"', '"running"', '"..."')
    found, expected = _kept().best(db, asked, limit=900), _plain(db, asked, limit=900)
    assert _rows(found) == _rows(expected)
    assert _scores(found) == pytest.approx(_scores(expected), rel=1e-12)


def test_more_edits_than_the_store_names_are_seen_all_the_same(
    store: Store, db: sqlite3.Connection
) -> None:
    term_cache, chance = _kept(), random.Random(3)
    term_cache.best(db, _ASKED, limit=50)
    for _ in range(3):
        store.apply([Replace(_memory(n, _text(chance)), IndexEntry()) for n in range(400)])
    found, expected = term_cache.best(db, _ASKED, limit=900), _plain(db, _ASKED, limit=900)
    assert _rows(found) == _rows(expected)
    assert _scores(found) == pytest.approx(_scores(expected), rel=1e-12)
    assert db.execute("SELECT count(*) FROM edited_texts").fetchone()[0] == 1_000
