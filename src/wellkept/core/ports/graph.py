"""What the code graph needs from a storage engine.

A graph belongs to a tree: an opaque text that its owner chose, such as a project and its folder.
Everything in it is derived from source except what somebody noted (`put_notes`), which survives
any rebuild. A file's analysis has two halves that are written apart, so that work can stop after
any batch: what the file says by itself (`put_files`), and its edges (`put_edges`). A file whose
edges are still to be drawn is "open".

Nodes also have numbers for walks over the whole graph; a number holds until the next write.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final, Protocol

from wellkept.core.graph import Edge, EdgeKind, GraphStatus, Node, SourceFile
from wellkept.core.records import record

KIND_ORDER: Final[tuple[EdgeKind, ...]] = tuple(kind for kind in EdgeKind)
"""An edge kind as a small number is its place here; new kinds come at the end."""


@record(kw_only=True)
class AnalyzedFile:
    """What a file says by itself. `facts` is for whoever draws edges and means nothing here."""

    file: SourceFile
    symbols: tuple[Node, ...] = ()
    facts: bytes = b""
    names: bytes = b""
    """The part of the facts that other files' edges may depend on."""


@record(kw_only=True)
class FileEdges:
    """The edges that one file gives rise to, and the questions that were asked to draw them.

    `lookups` are hashes of those questions: when the answer to one changes, the file's edges
    have to be drawn again.
    """

    path: str
    edges: tuple[Edge, ...]
    lookups: frozenset[int]


@record(kw_only=True)
class EdgeTable:
    """Every edge of a tree as columns of node numbers, with the kind's place in `KIND_ORDER`."""

    sources: array[int]
    targets: array[int]
    kinds: bytes
    confidences: array[float]
    version: int


@record(kw_only=True)
class NodeTable:
    """Where every node of a tree stands: its number, the place of its file's path in `paths`
    (-1 without one), and whether it is a test."""

    numbers: array[int]
    files: array[int]
    tests: bytes
    paths: tuple[str, ...]
    modules: tuple[str, ...]
    """Of the files, in the same order."""


class GraphStore(Protocol):
    """Graphs of source trees. Each method that writes is one transaction."""

    # -- Files ------------------------------------------------------------------------------------

    def files(self, tree: str) -> list[SourceFile]:
        """Every file that was seen, by path."""
        ...

    def file(self, tree: str, path: str) -> SourceFile | None:
        """One file."""
        ...

    def put_files(self, tree: str, files: Sequence[AnalyzedFile]) -> None:
        """Write files with their symbols in place of what was known of them.

        Edges into symbols that are still there stay; each file becomes open.
        """
        ...

    def touch_files(self, tree: str, files: Sequence[SourceFile]) -> None:
        """Renew size, times, state and staleness of files whose content is the same."""
        ...

    def drop_files(self, tree: str, paths: Collection[str]) -> None:
        """Remove files with their symbols and every edge from or to them."""
        ...

    def mark_stale(self, tree: str, paths: Collection[str], *, at: datetime) -> int:
        """Note that files changed since they were analysed; returns how many were known."""
        ...

    # -- Edges ------------------------------------------------------------------------------------

    def facts(self, tree: str, paths: Collection[str]) -> dict[str, bytes]:
        """The facts of files, as they were put."""
        ...

    def names(self, tree: str, paths: Collection[str] | None = None) -> dict[str, bytes]:
        """The names of those files, or of all."""
        ...

    def open_files(self, tree: str) -> list[str]:
        """Paths of analysed files whose edges are to be drawn, sorted."""
        ...

    def reopen(self, tree: str, *, lookups: Collection[int] | None) -> int:
        """Open every file that asked one of these questions (None: every file); returns how
        many there were."""
        ...

    def put_edges(self, tree: str, drawn: Sequence[FileEdges]) -> None:
        """Write the edges of files in place of those they gave rise to before, and close them.

        An edge from or to a node that is not there is left out.
        """
        ...

    def put_containers(self, tree: str, nodes: Sequence[Node]) -> None:
        """Make these the directories and modules of the tree."""
        ...

    def put_notes(self, tree: str, *, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        """Add or replace nodes and edges that somebody said; their ends need not exist yet."""
        ...

    def drop_notes(self, tree: str, ids: Collection[str]) -> int:
        """Remove noted nodes and every noted edge that touches one of these ids."""
        ...

    # -- Questions --------------------------------------------------------------------------------

    def nodes(self, tree: str, ids: Collection[str]) -> dict[str, Node]:
        """Nodes by id; unknown ids are left out."""
        ...

    def numbered(self, tree: str, numbers: Collection[int]) -> dict[int, Node]:
        """Nodes by number."""
        ...

    def numbers(self, tree: str, ids: Collection[str]) -> dict[str, int]:
        """Numbers by id."""
        ...

    def find(self, tree: str, name: str, *, limit: int = 20) -> list[Node]:
        """Nodes whose id, name or qualified name is exactly this, or whose path ends in it; files
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
        """Edges from any of the sources and to any of the targets; all without either."""
        ...

    def edge_table(self, tree: str) -> EdgeTable:
        """Every edge, for a walk in memory."""
        ...

    def node_table(self, tree: str) -> NodeTable:
        """Where every node stands, for a walk in memory."""
        ...

    # -- The whole --------------------------------------------------------------------------------

    def version(self, tree: str) -> int:
        """A number that grows with each write to the tree."""
        ...

    def built(self, tree: str, *, at: datetime) -> None:
        """Note that a build came to its end."""
        ...

    def status(self, tree: str) -> GraphStatus:
        """Counts, and the files that are stale, skipped or failed."""
        ...

    def trees(self) -> list[str]:
        """Every tree that has files or notes."""
        ...

    def drop_tree(self, tree: str) -> None:
        """Forget a tree, with what was noted about it."""
        ...

    def close(self) -> None:
        """Let go of the storage."""
        ...
