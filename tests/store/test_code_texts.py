"""SQLite keeps the words of code as promised."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.core.clock import system_clock
from holdfast.core.errors import StoreCorruptError
from holdfast.store.sqlite.code_texts import SqliteCodeTexts
from holdfast.testing.conformance_code_texts import TREE, CodeTextsConformance, text

pytestmark = pytest.mark.feature("E5")


def opened(path: Path) -> SqliteCodeTexts:
    return SqliteCodeTexts.open(path, busy_timeout_ms=1000, clock=system_clock)


class TestSqlite(CodeTextsConformance):
    @pytest.fixture
    def texts(self, tmp_path: Path) -> Iterator[SqliteCodeTexts]:
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
