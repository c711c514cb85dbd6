"""Small source trees, and graphs of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holdfast.codegraph.build import Builder, Tree
from holdfast.core.clock import system_clock
from holdfast.core.graph import BuildReport
from holdfast.core.graph_ports import GraphStore
from holdfast.store import open_sqlite_graph

NAME = "tree"


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def builder(store: GraphStore, root: Path) -> Builder:
    """A builder with one worker."""
    return Builder(store, Tree(root=root, name=NAME), clock=system_clock, workers=1)


def built(tmp_path: Path, files: Mapping[str, str | bytes]) -> GraphStore:
    """The graph of a tree with these files."""
    write(tmp_path / "tree", files)
    store = open_sqlite_graph(tmp_path / "graph.db")
    builder(store, tmp_path / "tree").build()
    return store


def rebuilt(store: GraphStore, root: Path) -> BuildReport:
    """Bring a graph up to date."""
    return builder(store, root).build()


def edges(store: GraphStore) -> set[str]:
    """Every edge as one line."""
    return {f"{e.source} {e.kind.value} {e.target}" for e in store.edges(NAME)}
