"""SQLite keeps the words of code as promised."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.conformance.code_search import TREE, CodeSearchConformance, text
from wellkept.core.clock import system_clock
from wellkept.core.errors import StoreCorruptError
from wellkept.store.sqlite.code_search import APPLICATION_ID, STEPS, SqliteCodeSearch
from wellkept.store.sqlite.opening import open_file

pytestmark = pytest.mark.feature("E5")


def opened(path: Path) -> SqliteCodeSearch:
    return SqliteCodeSearch.open(path, busy_timeout_ms=1000, clock=system_clock)


class TestSqlite(CodeSearchConformance):
    @pytest.fixture
    def texts(self, tmp_path: Path) -> Iterator[SqliteCodeSearch]:
        store = opened(tmp_path / "words.db")
        yield store
        store.close()


def test_words_outlive_the_process(tmp_path: Path) -> None:
    first = opened(tmp_path / "words.db")
    first.put_texts(TREE, [text("a.py", "pool")])
    first.close()
    second = opened(tmp_path / "words.db")
    assert second.text_stamps(TREE) == {"a.py": "1"}
    second.close()


def test_another_kind_of_file_is_refused_untouched(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "words.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE mine (x)")
    db.commit()
    db.close()
    with pytest.raises(StoreCorruptError):
        opened(path)


def test_a_file_of_the_first_release_is_read_again_from_its_source(tmp_path: Path) -> None:
    path = tmp_path / "words.db"
    old = open_file(
        path,
        busy_timeout_ms=1000,
        clock=system_clock,
        steps=STEPS[:1],
        application_id=APPLICATION_ID,
    )
    with old.writing() as db:
        db.execute("INSERT INTO trees VALUES (1, ?)", (TREE,))
        db.execute("INSERT INTO texts VALUES (1, 1, 'a.py', '1', 1)")
        db.execute("INSERT INTO text_words (rowid, tree, body) VALUES (1, 'tree1', 'pool')")
    old.close()
    store = opened(path)
    assert store.text_stamps(TREE) == {}
    assert store.search_texts(TREE, ["pool"], limit=5) == []
    store.put_texts(TREE, [text("a.py", "pool")])
    assert [hit.path for hit in store.search_texts(TREE, ["pool"], limit=5)] == ["a.py"]
    store.close()
