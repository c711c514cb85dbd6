"""Splits text into the words of the full-text index, with FTS5's own tokenizer.

Every engine indexes these words, so a term finds the same memories everywhere. Python's `sqlite3`
brings the tokenizer along; an index in memory is asked what it would store.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from typing import Final

from wellkept.store.sqlite.schema import WORD_TOKENIZER

_KNOWN_WORDS: Final = 20_000


class Tokenizer:
    """Tokenizes texts; safe for several threads."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._db.execute(
            "CREATE VIRTUAL TABLE asked USING fts5"
            f" (text, tokenize = '{WORD_TOKENIZER}', content = '', columnsize = 0)"
        )
        self._db.execute("CREATE VIRTUAL TABLE asked_words USING fts5vocab (asked, instance)")

    def word(self, term: str) -> str | None:
        """The indexed form of a term; None when it is no word or several."""
        words = self.words(term)
        return words[0] if len(words) == 1 else None

    def words(self, term: str) -> tuple[str, ...]:
        """The indexed words of a short text, in order; remembered for the next time."""
        with self._lock:
            found = self._known.get(term)
            if found is None:
                if len(self._known) >= _KNOWN_WORDS:
                    self._known.clear()
                found = self._known[term] = self._look_up([term])[0]
            return found

    def learn(self, terms: Iterable[str]) -> None:
        """Look up several short texts at once, which takes little longer than one."""
        with self._lock:
            new = [term for term in dict.fromkeys(terms) if term not in self._known]
            if len(new) > 1 and len(self._known) + len(new) <= _KNOWN_WORDS:
                self._known |= zip(new, self._look_up(new), strict=True)

    def words_of_text(self, text: str) -> tuple[str, ...]:
        """The indexed words of a long text, in order."""
        with self._lock:
            return self._look_up([text])[0]

    def _look_up(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO asked (rowid, text) VALUES (?, ?)", enumerate(texts))
        found: list[tuple[int, int, str]] = self._db.execute(
            "SELECT doc, offset, term FROM asked_words"
        ).fetchall()
        self._db.execute("ROLLBACK")  # half the cost of a DELETE
        words = [list[str]() for _ in texts]
        for number, _, term in sorted(found):
            words[number].append(term)
        return list(map(tuple, words))
