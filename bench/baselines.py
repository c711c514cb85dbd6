"""What plain methods find on the same texts: BM25, the embedder alone, and both by rank.

BM25 is SQLite's FTS5 over the bare text, the query's stop words removed; the embedder compares
the raw question with the raw texts; the last is reciprocal rank fusion of the two with k = 60.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wellkept.core.ports.models import Embedder
from wellkept.core.text import STOP_WORDS

_RRF_K = 60
_WORD = re.compile(r"[^\W_]+")


class Baselines:
    """Plain search over a fixed set of texts; every answer lists ids, best first."""

    def __init__(self, texts: Mapping[str, str], embedder: Embedder) -> None:
        self._ids = list(texts)
        self._embedder = embedder
        self._words = sqlite3.connect(":memory:")
        self._words.execute(
            "CREATE VIRTUAL TABLE texts USING fts5 (body, tokenize = 'porter unicode61')"
        )
        self._words.executemany(
            "INSERT INTO texts (rowid, body) VALUES (?, ?)", enumerate(texts.values())
        )
        vectors = embedder.embed_documents(list(texts.values()))
        self._vectors = np.stack([_unpacked(vector) for vector in vectors])

    def bm25(self, query: str) -> list[str]:
        """By words."""
        words = [w for w in _WORD.findall(query.lower()) if w not in STOP_WORDS]
        if not words:
            return []
        expression = " OR ".join(f'"{word}"' for word in words)
        rows = self._words.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank, rowid", (expression,)
        )
        return [self._ids[row] for (row,) in rows]

    def embedder(self, query: str) -> list[str]:
        """By meaning."""
        cosines: NDArray[np.float32] = self._vectors @ _unpacked(self._embedder.embed_query(query))
        order: list[int] = np.argsort(-cosines, kind="stable").tolist()
        return [self._ids[row] for row in order]

    def rrf(self, query: str) -> list[str]:
        """By the ranks of both."""
        return fuse([self.bm25(query), self.embedder(query)])


def fuse(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Reciprocal rank fusion."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for place, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (_RRF_K + place)
    return sorted(scores, key=lambda item: -scores[item])


def _unpacked(vector: bytes) -> NDArray[np.float32]:
    return np.frombuffer(vector, dtype="<f4")
