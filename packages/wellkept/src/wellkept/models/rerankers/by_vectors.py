"""Relevance scores from an embedding model that is too slow to search with: it reads only the best.

The model sees question and text one by one, so a text's vector can be kept; a cross-encoder reads
them together and cannot.
Invariant: one score per text, in the order of the texts, within the time limit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from wellkept.core.time_limit import call_within

if TYPE_CHECKING:
    from wellkept.core.ports.models import Embedder, Vector


class VectorReranker:
    """Scores by the cosine of an embedder, which is opened at the first question."""

    def __init__(self, name: str, opened: Callable[[], Embedder], *, limit_s: float) -> None:
        self._name = name
        self._opened = opened
        self._embedder: Embedder | None = None
        self._limit_s = limit_s

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers `query`; higher is better."""
        if not texts:
            return []
        return call_within(
            self._limit_s, lambda: self._cosines(query, texts), what=f"The model {self._name}"
        )

    def _cosines(self, query: str, texts: Sequence[str]) -> list[float]:
        if self._embedder is None:
            self._embedder = self._opened()
        asked = _numbers(self._embedder.embed_query(query))
        found = self._embedder.embed_documents(texts)
        return [
            sum(a * b for a, b in zip(asked, _numbers(vector), strict=True)) for vector in found
        ]


def _numbers(vector: Vector) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)
