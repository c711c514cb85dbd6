"""PostgreSQL passes the suite of every engine. One tenant stands for one database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.postgres.tenants import open_tenant
from tests.support.conformance import StoreConformance
from wellkept.core.ports.store import Store


@pytest.mark.feature("T1")
class TestPostgres(StoreConformance):
    """The PostgreSQL engine."""

    @pytest.fixture
    def open_at(self, postgres_url: str) -> Callable[[Path], Store]:
        known: set[Path] = set()

        def open_path(path: Path) -> Store:
            store = open_tenant(postgres_url, path)
            if path.exists() and path not in known:
                store.restore(path)
            known.add(path)
            return store

        return open_path
