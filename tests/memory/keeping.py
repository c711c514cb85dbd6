"""What upkeep tests stand on: a real store, a clock that is turned by hand, a simple embedder."""

from __future__ import annotations

import math
import random
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from holdfast.core.clock import to_ms
from holdfast.core.ids import IdSource
from holdfast.core.memory import Memory
from holdfast.core.ports import Embedder, Insert, Store, Vector
from holdfast.core.query import Filter, Validity
from holdfast.core.text import words
from holdfast.core.types import MemoryType
from holdfast.memory.engine import Engine
from holdfast.store import open_sqlite

PROJECT = "git:example.org/widget"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class HandClock:
    """Time that moves only when told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, *, days: float) -> None:
        self.now += timedelta(days=days)


class WordEmbedder:
    """A vector with one entry for each word: texts are near when they share their words."""

    model_id = "test-words"
    dimension = 128

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        sums = [0.0] * self.dimension
        for word in words(text) or ["-"]:
            sums[zlib.crc32(word.encode()) % self.dimension] += 1.0
        length = math.sqrt(sum(x * x for x in sums))
        return struct.pack(f"<{self.dimension}f", *(x / length for x in sums))


class MeddlingStore:
    """A store during whose first full read something else happens."""

    def __init__(self, store: Store, meddle: Callable[[], object]) -> None:
        self._store = store
        self._meddle = meddle

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def iterate(self, where: Filter) -> Iterator[Memory]:
        yield from list(self._store.iterate(where))
        meddle, self._meddle = self._meddle, lambda: None
        meddle()


@dataclass(frozen=True, slots=True)
class Workshop:
    """An engine on a fresh store, and short ways to fill it and look at it."""

    engine: Engine
    clock: HandClock
    path: Path

    @property
    def store(self) -> Store:
        return self.engine.store

    def keep(self, content: str, **fields: Any) -> Memory:
        """Insert a memory as it is, without asking what is known already."""
        memory = self.make(content, **fields)
        self.store.apply([Insert(memory, self.engine.card(memory))])
        return memory

    def make(self, content: str, **fields: Any) -> Memory:
        given: dict[str, Any] = {
            "id": self.engine.new_id(),
            "project": PROJECT,
            "type": MemoryType.FACT,
            "created_at": self.clock.now,
        }
        given.update(fields)
        for name in ("updated_at", "valid_from", "accessed_at"):
            given.setdefault(name, given["created_at"])
        return Memory(content=content, **given)

    def read(self, memory: Memory) -> Memory:
        return self.store.get([memory.id])[0]

    def has(self, memory: Memory) -> bool:
        return bool(self.store.get([memory.id]))

    def all(self) -> dict[str, Memory]:
        """Everything in the store by id."""
        where = Filter(project=None, validity=Validity.ANY, archived=None)
        return {memory.id: memory for memory in self.store.iterate(where)}

    def beside(self) -> Engine:
        """The same store as another process would open it."""
        return replace(self.engine, store=open_sqlite(self.path))

    def meddled(self, meddle: Callable[[], object]) -> Engine:
        """The same engine, but something happens after its first full read."""
        return replace(self.engine, store=cast("Store", MeddlingStore(self.store, meddle)))


def open_workshop(
    folder: Path, *, embedder: Callable[[], Embedder | None] = lambda: None
) -> Workshop:
    clock = HandClock()
    path = folder / "memory.db"
    new_id = IdSource(lambda: to_ms(clock.now), random_bits=random.Random(7).getrandbits)
    store = open_sqlite(path)
    engine = Engine(store=store, embedder=embedder, clock=clock, new_id=new_id)
    return Workshop(engine, clock, path)
