"""Storage port of the code graph.

A tree is an opaque name chosen by the caller, such as a project and its folder. Its graph is
derived from source, except for user notes (`put_notes`), which survive every rebuild. A file is
written in two steps, so that a build can stop after any batch: its own facts (`put_files`), then
its edges (`put_edges`). In between the file is "pending".

Nodes also have numbers, for traversals of the whole graph. A number is valid until the next write.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final, Protocol

from wellkept.core.graph import Edge, EdgeKind, GraphStatus, Node, SourceFile
from wellkept.core.records import record

KIND_ORDER: Final[tuple[EdgeKind, ...]] = tuple(kind for kind in EdgeKind)
"""Position = number of the edge kind in storage. Append new kinds at the end."""


@record(kw_only=True)
class AnalyzedFile:
    """Parse result of one file. `facts` is opaque here; the edge builder reads it."""

    file: SourceFile
    symbols: tuple[Node, ...] = ()
    facts: bytes = b""
    names: bytes = b""
    """The part of the facts that edges of other files can depend on."""


@record(kw_only=True)
class FileEdges:
    """Edges built from one file, and the lookups they depend on.

    `lookups` are hashes of the queries made while resolving. When the answer to one changes, the
    edges must be rebuilt.
    """

    path: str
    edges: tuple[Edge, ...]
    lookups: frozenset[int]


@record(kw_only=True)
class EdgeTable:
    """All edges of a tree, column by column. `kinds` holds positions in `KIND_ORDER`."""

    sources: array[int]
    targets: array[int]
    kinds: bytes
    confidences: array[float]
    version: int


@record(kw_only=True)
class NodeTable:
    """All nodes of a tree, column by column: number, index of the file in `paths` (-1 for none),
    and whether it is a test."""

    numbers: array[int]
    files: array[int]
    tests: bytes
    paths: tuple[str, ...]
    modules: tuple[str, ...]
    """Module of each file, parallel to `paths`."""


class GraphStore(Protocol):
    """Graphs of source trees. Each method that writes is one transaction."""

    # -- Files ------------------------------------------------------------------------------------

    def files(self, tree: str) -> list[SourceFile]:
        """All known files, by path."""
        ...

    def file(self, tree: str, path: str) -> SourceFile | None:
        """One file."""
        ...

    def put_files(self, tree: str, files: Sequence[AnalyzedFile]) -> None:
        """Write or replace files with their symbols, and mark them pending.

        Edges into symbols that still exist are kept.
        """
        ...

    def touch_files(self, tree: str, files: Sequence[SourceFile]) -> None:
        """Update size, times, state and staleness of files with unchanged content."""
        ...

    def drop_files(self, tree: str, paths: Collection[str]) -> None:
        """Remove files with their symbols and every edge from or to them."""
        ...

    def mark_stale(self, tree: str, paths: Collection[str], *, at: datetime) -> int:
        """Mark files as changed since they were analysed. Returns how many are in the graph."""
        ...

    # -- Edges ------------------------------------------------------------------------------------

    def facts(self, tree: str, paths: Collection[str]) -> dict[str, bytes]:
        """Facts of files, as written."""
        ...

    def names(self, tree: str, paths: Collection[str] | None = None) -> dict[str, bytes]:
        """Exported names of these files, or of all."""
        ...

    def pending_files(self, tree: str) -> list[str]:
        """Sorted paths of analysed files whose edges must be built."""
        ...

    def mark_pending(self, tree: str, *, lookups: Collection[int] | None) -> int:
        """Mark the files that made one of these lookups as pending; None means all files. Returns
        how many."""
        ...

    def put_edges(self, tree: str, edges: Sequence[FileEdges]) -> None:
        """Write or replace the edges built from files; they are no longer pending.

        Edges from or to unknown nodes are dropped.
        """
        ...

    def put_containers(self, tree: str, nodes: Sequence[Node]) -> None:
        """Replace the directory and module nodes of the tree."""
        ...

    def put_notes(self, tree: str, *, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        """Add or replace user notes. The ends of an edge need not exist yet."""
        ...

    def drop_notes(self, tree: str, ids: Collection[str]) -> int:
        """Remove noted nodes, and noted edges from or to these ids. Returns how many."""
        ...

    # -- Queries ----------------------------------------------------------------------------------

    def nodes(self, tree: str, ids: Collection[str]) -> dict[str, Node]:
        """Nodes by id, without unknown ids."""
        ...

    def nodes_by_number(self, tree: str, numbers: Collection[int]) -> dict[int, Node]:
        """Nodes by number."""
        ...

    def numbers(self, tree: str, ids: Collection[str]) -> dict[str, int]:
        """Numbers by id."""
        ...

    def find(self, tree: str, name: str, *, limit: int = 20) -> list[Node]:
        """Nodes with exactly this id, name or qualified name, or whose path ends with it. Files
        first, then by id."""
        ...

    def symbols(self, tree: str, paths: Collection[str]) -> list[Node]:
        """The symbols of files, by path and line."""
        ...

    def all_nodes(self, tree: str) -> Iterable[Node]:
        """Every node, by id."""
        ...

    def edges(
        self, tree: str, *, sources: Collection[str] = (), targets: Collection[str] = ()
    ) -> list[Edge]:
        """Edges from any of the sources and to any of the targets; all edges without either."""
        ...

    def edge_table(self, tree: str) -> EdgeTable:
        """Every edge, for traversal in memory."""
        ...

    def node_table(self, tree: str) -> NodeTable:
        """Every node, for traversal in memory."""
        ...

    # -- The whole --------------------------------------------------------------------------------

    def version(self, tree: str) -> int:
        """Version of the tree; grows with each write, 0 if it was never written."""
        ...

    def mark_built(self, tree: str, *, at: datetime) -> None:
        """Record that a build finished."""
        ...

    def status(self, tree: str) -> GraphStatus:
        """Counts, and the files that are stale, skipped or failed."""
        ...

    def trees(self) -> list[str]:
        """Every tree that has files or notes."""
        ...

    def drop_tree(self, tree: str) -> None:
        """Delete a tree, including its notes."""
        ...

    def close(self) -> None:
        """Close the storage."""
        ...
