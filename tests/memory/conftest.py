"""A real store in a temporary file, with a clock and an embedder that tests can steer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory.workshop import Workshop, open_workshop
from tests.support.samples import Samples
from wellkept.memory.engine import Engine
from wellkept.store import open_store
from wellkept.testing.fakes import ManualClock, WordEmbedder


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def engine(tmp_path: Path, clock: ManualClock) -> Iterator[Engine]:
    """An engine with vectors: texts are near each other when they share words."""
    store = open_store(tmp_path / "memory.db", clock=clock)
    embedder = WordEmbedder()
    yield Engine(store=store, embedder=lambda: embedder, clock=clock)
    store.close()


@pytest.fixture
def wordless(tmp_path: Path, clock: ManualClock) -> Iterator[Engine]:
    """An engine without any embedder."""
    store = open_store(tmp_path / "words.db", clock=clock)
    yield Engine(store=store, clock=clock)
    store.close()


@pytest.fixture
def other(tmp_path: Path, clock: ManualClock) -> Iterator[Engine]:
    """A second store, as on another machine."""
    store = open_store(tmp_path / "other.db", clock=clock)
    yield Engine(store=store, embedder=WordEmbedder, clock=clock)
    store.close()


@pytest.fixture
def samples() -> Samples:
    """Memories that are the same in every run."""
    return Samples(seed=11)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    """A store with a clock and ids that are the same in every run; it has no vectors."""
    made = open_workshop(tmp_path)
    yield made
    made.store.close()
