"""Small public fakes: a clock one can turn, and an embedder whose cosine is word overlap.

They speak the same protocols as the real ones and are exact, so that a test can say beforehand
what will come out.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from wellkept.core.ports.models import Vector
from wellkept.core.text import content_words


class ManualClock:
    """Stands still until it is told otherwise."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, 12, tzinfo=UTC)) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def advance(
        self, *, days: float = 0, hours: float = 0, seconds: float = 0, milliseconds: float = 0
    ) -> None:
        """Move on (or back, with negative values)."""
        self.now += timedelta(days=days, hours=hours, seconds=seconds, milliseconds=milliseconds)


class WordEmbedder:
    """Each content word is its own axis (hashed), so cosine measures shared words."""

    def __init__(self, *, dimension: int = 256, model_id: str = "words-256") -> None:
        self._dimension = dimension
        self._model_id = model_id

    @property
    def model_id(self) -> str:
        return self._model_id

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        values = [0.0] * self._dimension
        for word in set(content_words(text)):
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            values[int.from_bytes(digest, "little") % self._dimension] += 1.0
        norm = math.sqrt(sum(v * v for v in values)) or 1.0
        return struct.pack(f"<{self._dimension}f", *(v / norm for v in values))
