"""An embedder with a total time limit.

A call that exceeds the limit raises ProviderError; its thread runs to the end and the result is
dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TypeVar

from wellkept.core.errors import ProviderError, WellkeptError
from wellkept.core.ports.models import Embedder, Vector

_Result = TypeVar("_Result")


class DeadlineEmbedder:
    """An `Embedder` that waits at most `seconds` over all calls."""

    def __init__(self, embedder: Embedder, *, seconds: float) -> None:
        self._embedder = embedder
        self._limit_s = self._left_s = seconds

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

    def _within_limit(self, call: Callable[[], _Result]) -> _Result:
        results: list[_Result | WellkeptError] = []

        def work() -> None:
            try:
                results.append(call())
            except WellkeptError as error:
                results.append(error)

        began = monotonic()
        thread = threading.Thread(target=work, name="wellkept-embedding", daemon=True)
        thread.start()
        thread.join(self._left_s)
        self._left_s = max(0.0, self._left_s - (monotonic() - began))
        if not results:
            timeout = f"was not done within {self._limit_s:g} s"
            raise ProviderError(f"{self.model_id} {timeout if thread.is_alive() else 'broke'}.")
        if isinstance(results[0], WellkeptError):
            raise results[0]
        return results[0]
