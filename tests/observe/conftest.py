"""A real store, a real spool folder and a clock that tests can turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.observe.spooling import Spooler
from tests.observe.telling import START
from wellkept.memory.engine import Engine
from wellkept.store import open_store
from wellkept.testing.fakes import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def engine(tmp_path: Path, clock: ManualClock) -> Iterator[Engine]:
    store = open_store(tmp_path / "memory.db", clock=clock)
    yield Engine(store=store, clock=clock)
    store.close()


@pytest.fixture
def spooler(tmp_path: Path) -> Spooler:
    return Spooler(tmp_path / "spool")
