"""Small source trees, and graphs of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wellkept.core.clock import system_clock
from wellkept.core.graph import BuildReport
from wellkept.core.ports.graph import GraphStore
from wellkept.graph.index.builder import Builder, Tree
from wellkept.graph.index.parse_file import parse_file
from wellkept.store import open_graph

NAME = "tree"


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def builder(store: GraphStore, root: Path) -> Builder:
    """A builder that parses in this process."""
    return Builder(
        store,
        Tree(root=root, name=NAME),
        clock=system_clock,
        parse=lambda paths: [parse_file(str(root), path) for path in paths],
    )


def built(tmp_path: Path, files: Mapping[str, str | bytes]) -> GraphStore:
    """The graph of a tree with these files."""
    write(tmp_path / "tree", files)
    store = open_graph(tmp_path / "graph.db")
    builder(store, tmp_path / "tree").build()
    return store


def rebuilt(store: GraphStore, root: Path) -> BuildReport:
    """Bring a graph up to date."""
    return builder(store, root).build()


def everything(store: GraphStore) -> tuple[list[str], list[str], list[str]]:
    """A graph as text, without what says when and with which number."""
    nodes = [
        f"{n.id} {n.kind} {n.line}-{n.end_line} {n.detail} {n.module} {n.is_test} {n.is_exported}"
        for n in store.all_nodes(NAME)
    ]
    graph_edges = [
        f"{e.source} {e.kind} {e.target} {e.confidence} {e.line}" for e in store.edges(NAME)
    ]
    files = [f"{f.path} {f.content_hash} {f.state} {f.reason}" for f in store.files(NAME)]
    return sorted(nodes), sorted(graph_edges), files


def edges(store: GraphStore) -> set[str]:
    """Every edge as one line."""
    return {f"{e.source} {e.kind.value} {e.target}" for e in store.edges(NAME)}
