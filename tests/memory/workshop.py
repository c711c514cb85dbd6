"""Fixtures for maintenance tests: a real store, a manual clock, short ways to fill it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from wellkept.core.changes import Insert
from wellkept.core.clock import to_ms
from wellkept.core.ids import IdSource
from wellkept.core.memory import Memory
from wellkept.core.ports.models import Embedder
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter, Validity
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Engine
from wellkept.store import open_store
from wellkept.testing.fakes import ManualClock

PROJECT = "git:example.org/widget"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


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
    clock: ManualClock
    path: Path

    @property
    def store(self) -> Store:
        return self.engine.store

    def keep(self, content: str, **fields: Any) -> Memory:
        """Insert a memory as it is, without asking what is known already."""
        memory = self.make(content, **fields)
        self.store.apply([Insert(memory, self.engine.index_entry(memory))])
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
        return replace(self.engine, store=open_store(self.path))

    def meddled(self, meddle: Callable[[], object]) -> Engine:
        """The same engine, but something happens after its first full read."""
        return replace(self.engine, store=cast("Store", MeddlingStore(self.store, meddle)))


def open_workshop(
    folder: Path, *, embedder: Callable[[], Embedder | None] = lambda: None
) -> Workshop:
    clock = ManualClock(START)
    path = folder / "memory.db"
    new_id = IdSource(lambda: to_ms(clock.now), random_bits=random.Random(7).getrandbits)
    store = open_store(path)
    engine = Engine(store=store, embedder=embedder, clock=clock, new_id=new_id)
    return Workshop(engine, clock, path)
