"""Memories to test with: deterministic ids and times, everything else as asked."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from wellkept.core.changes import IndexEntry, Insert
from wellkept.core.clock import to_ms
from wellkept.core.ids import IdSource
from wellkept.core.memory import Memory
from wellkept.core.ports.models import Vector
from wellkept.core.records import replace
from wellkept.core.types import MemoryType

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
DIMENSION = 64


class Samples:
    """Makes memories one minute apart; the same seed makes the same ones."""

    def __init__(self, *, seed: int = 0, project: str = "example") -> None:
        self._random = random.Random(seed)
        self._project = project
        self.now = START
        self._ids = IdSource(lambda: to_ms(self.now), random_bits=self._random.getrandbits)

    def memory(self, content: str = "a fact", **changes: object) -> Memory:
        """A memory with the given content; any other field may be set."""
        self.now += timedelta(minutes=1)
        plain = Memory(
            id=self._ids(),
            project=self._project,
            type=MemoryType.FACT,
            content=content,
            created_at=self.now,
            updated_at=self.now,
            valid_from=self.now,
            accessed_at=self.now,
        )
        return replace(plain, **changes)  # pyright: ignore[reportArgumentType]

    def insert(
        self,
        content: str = "a fact",
        *,
        extra: str = "",
        model_id: str | None = None,
        vector: Vector | None = None,
        **changes: object,
    ) -> Insert:
        """The change that adds such a memory."""
        return Insert(self.memory(content, **changes), IndexEntry(extra, model_id, vector))

    def vector(self, dimension: int = DIMENSION) -> Vector:
        """A random unit vector."""
        return make_vector([self._random.gauss(0, 1) for _ in range(dimension)])

    def near(self, vector: Vector, *, noise: float) -> Vector:
        """A unit vector close to another: the more noise, the further off."""
        numbers = array("f", vector)
        step = noise / math.sqrt(len(numbers))
        return make_vector([n + self._random.gauss(0, step) for n in numbers])


def make_vector(numbers: Sequence[float]) -> Vector:
    """Numbers scaled to unit length and packed."""
    length = math.sqrt(sum(n * n for n in numbers))
    return array("f", [n / length for n in numbers]).tobytes()
