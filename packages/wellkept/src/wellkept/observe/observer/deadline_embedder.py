"""An embedder with a total time limit.

A call that exceeds the limit raises ProviderError; its thread runs to the end and the result is
dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TypeVar

from wellkept.core.ports.models import Embedder, Vector, WordMatcher
from wellkept.core.time_limit import call_within

_Result = TypeVar("_Result")


class DeadlineEmbedder:
    """An `Embedder` that waits at most `seconds` over all calls."""

    def __init__(self, embedder: Embedder, *, seconds: float) -> None:
        self._embedder = embedder
        self._left_s = seconds

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return self._within_limit(lambda: self._embedder.embed_documents(texts))

    def embed_query(self, text: str) -> Vector:
        return self._within_limit(lambda: self._embedder.embed_query(text))

    def word_matches(self, query: str, texts: Sequence[str]) -> list[float] | None:
        embedder = self._embedder
        if not isinstance(embedder, WordMatcher):
            return None
        return self._within_limit(lambda: embedder.word_matches(query, texts))

    def _within_limit(self, call: Callable[[], _Result]) -> _Result:
        began = monotonic()
        try:
            return call_within(self._left_s, call, what=self.model_id)
        finally:
            self._left_s = max(0.0, self._left_s - (monotonic() - began))
