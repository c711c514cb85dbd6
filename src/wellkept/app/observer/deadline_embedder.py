"""An embedder for work that others wait for: it has so many seconds in all, then it has failed.

A call that takes longer is left to end in a thread of its own, and its answer is thrown away. Knows
nothing of what the vectors are for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TypeVar

from wellkept.core.errors import ProviderError, WellkeptError
from wellkept.core.ports.models import Embedder, Vector

_Answer = TypeVar("_Answer")


class DeadlineEmbedder:
    """An `Embedder` with a limit on the time that is spent waiting for it."""

    def __init__(self, embedder: Embedder, *, seconds: float) -> None:
        self._embedder = embedder
        self._allowed_s = self._left_s = seconds

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return self._in_time(lambda: self._embedder.embed_documents(texts))

    def embed_query(self, text: str) -> Vector:
        return self._in_time(lambda: self._embedder.embed_query(text))

    def _in_time(self, ask: Callable[[], _Answer]) -> _Answer:
        answers: list[_Answer | WellkeptError] = []

        def work() -> None:
            try:
                answers.append(ask())
            except WellkeptError as error:
                answers.append(error)

        began = monotonic()
        thread = threading.Thread(target=work, name="wellkept-embedding", daemon=True)
        thread.start()
        thread.join(self._left_s)
        self._left_s = max(0.0, self._left_s - (monotonic() - began))
        if not answers:
            late = f"was not done within {self._allowed_s:g} s"
            raise ProviderError(f"{self.model_id} {late if thread.is_alive() else 'broke'}.")
        if isinstance(answers[0], WellkeptError):
            raise answers[0]
        return answers[0]
