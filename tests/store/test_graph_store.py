"""The SQLite store of code graphs, and the plain model, against the same promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.conformance.graph import GraphConformance
from tests.support.model_store.graph import ModelGraph
from wellkept.core.errors import StoreCorruptError
from wellkept.core.ports.graph import GraphStore
from wellkept.store import open_graph, open_store


class TestSqliteGraph(GraphConformance):
    @pytest.fixture
    def store(self, tmp_path: Path) -> GraphStore:
        return open_graph(tmp_path / "graph.db")


class TestModelGraph(GraphConformance):
    @pytest.fixture
    def store(self) -> GraphStore:
        return ModelGraph()


@pytest.mark.feature("E2")
def test_a_file_of_memories_is_not_taken_for_a_graph(tmp_path: Path) -> None:
    open_store(tmp_path / "memory.db").close()
    with pytest.raises(StoreCorruptError):
        open_graph(tmp_path / "memory.db")
