"""Every engine passes the same suite, and so does the model they are compared with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.conformance import StoreConformance
from tests.support.conformance.search import SearchConformance
from tests.support.conformance.vectors import VectorConformance
from tests.support.model_store.data import ModelData
from tests.support.model_store.store import ModelStore
from wellkept.core.clock import system_clock
from wellkept.core.ports.store import Store
from wellkept.store import open_store
from wellkept.store.sqlite.search.candidates import CandidateReader
from wellkept.store.sqlite.store import SqliteStore


class TestSqlite(StoreConformance):
    """The SQLite engine."""

    @pytest.fixture
    def open_at(self) -> Callable[[Path], Store]:
        return open_store


class TestWarmSqlite(SearchConformance, VectorConformance):
    """The SQLite engine in a process that keeps the facts of all rows from the first question."""

    @pytest.fixture
    def open_at(self) -> Callable[[Path], Store]:
        def open_warm(path: Path) -> Store:
            return SqliteStore.open(
                path,
                busy_timeout_ms=5_000,
                durability="normal",
                read_only=False,
                clock=system_clock,
                candidates=CandidateReader(min_rows=0, min_queries=0),
            )

        return open_warm


class TestModel(StoreConformance):
    """The plain model; one path stands for one set of data."""

    @pytest.fixture
    def open_at(self) -> Callable[[Path], Store]:
        known: dict[Path, ModelData] = {}

        def open_model(path: Path) -> Store:
            if path.exists():
                return ModelStore.restore(path)
            return ModelStore(known.setdefault(path, ModelData()))

        return open_model
