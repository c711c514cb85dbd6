"""Every engine passes the same suite, and so does the model they are compared with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.core.ports import Store
from holdfast.store import open_sqlite
from holdfast.testing import ModelStore
from holdfast.testing.conformance import StoreConformance
from holdfast.testing.model_data import ModelData


class TestSqlite(StoreConformance):
    """The SQLite engine."""

    @pytest.fixture
    def open_at(self) -> Callable[[Path], Store]:
        return open_sqlite


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
