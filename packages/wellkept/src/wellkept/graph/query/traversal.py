"""Breadth-first traversal of a whole graph in memory, as numpy arrays.

Edges are stored in CSR form, so a level costs a few array operations for any number of nodes. A
node keeps the first depth at which it is reached and, at that depth, its strongest edge.

Terms: the store's `number` of a node; its `index` in the arrays of a snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wellkept.core.graph import EDGE_WEIGHTS, EdgeKind
from wellkept.core.ports.graph import KIND_ORDER, EdgeTable, NodeTable
from wellkept.graph.index.file_kind import is_generated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

_WEIGHTS = np.array([EDGE_WEIGHTS[kind] for kind in KIND_ORDER])
_FLOWS = KIND_ORDER.index(EdgeKind.FLOWS_TO)


class Traversal(NamedTuple):
    """Reached nodes by index, without the starts: depth, score, last edge kind, previous node."""

    indices: Ints
    depths: Ints
    scores: Floats
    kinds: Ints
    previous: Ints

    def select(self, mask: Bools) -> Traversal:
        """The rows selected by a mask."""
        return Traversal(
            self.indices[mask],
            self.depths[mask],
            self.scores[mask],
            self.kinds[mask],
            self.previous[mask],
        )


class _Adjacency(NamedTuple):
    """Edges in one direction, in CSR form."""

    offsets: Ints
    ends: Ints
    kinds: Ints
    weights: Floats


class GraphSnapshot:
    """One version of a graph, ready for traversal."""

    def __init__(self, edges: EdgeTable, nodes: NodeTable) -> None:
        self.version = edges.version
        self.numbers = np.frombuffer(nodes.numbers, dtype=np.int64)
        order = np.argsort(self.numbers, kind="stable")
        self.numbers = self.numbers[order]
        self.files = np.frombuffer(nodes.files, dtype=np.int64)[order]
        self.tests = np.frombuffer(nodes.tests, dtype=np.uint8)[order].astype(bool)
        self.paths = nodes.paths
        self.modules = nodes.modules
        self._path_indices = {path: index for index, path in enumerate(nodes.paths)}
        # Indices of paths, sorted by path.
        self.path_ranks = np.argsort(
            np.array(sorted(range(len(nodes.paths)), key=nodes.paths.__getitem__), dtype=np.int64)
        )
        self.has_tests = np.zeros(len(nodes.paths), dtype=bool)
        self.has_tests[self.files[self.tests & (self.files >= 0)]] = True
        self._read(edges)

    def path_index(self, path: str) -> int:
        """Index of a file; -1 if it is unknown."""
        return self._path_indices.get(path, -1)

    def generated(self, files: Ints) -> Bools:
        """Which files, given by their indices, are generated; a node without a file is not."""
        marks = {i: i >= 0 and is_generated(self.paths[i]) for i in set(map(int, files))}
        return np.array([marks[int(index)] for index in files], dtype=bool)

    def is_test_file(self, path: str) -> bool:
        """Whether a file contains tests."""
        index = self.path_index(path)
        return index >= 0 and bool(self.has_tests[index])

    def _read(self, edges: EdgeTable) -> None:
        kinds = np.frombuffer(edges.kinds, dtype=np.uint8).astype(np.int64)
        sources = self.indices(np.frombuffer(edges.sources, dtype=np.int64))
        targets = self.indices(np.frombuffer(edges.targets, dtype=np.int64))
        weights = _WEIGHTS[kinds] * np.frombuffer(edges.confidences, dtype=np.float64)
        known = (sources >= 0) & (targets >= 0)
        sources, targets = sources[known], targets[known]
        kinds, weights = kinds[known], weights[known]
        # If A flows to B, a change of A affects B: the reverse of all other kinds.
        flows = kinds == _FLOWS
        sources, targets = np.where(flows, targets, sources), np.where(flows, sources, targets)
        self._outgoing = self._adjacency(sources, targets, kinds, weights)
        self._incoming = self._adjacency(targets, sources, kinds, weights)

    def _adjacency(self, starts: Ints, ends: Ints, kinds: Ints, weights: Floats) -> _Adjacency:
        order = np.argsort(starts, kind="stable")
        counts = np.bincount(starts, minlength=len(self.numbers))
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        return _Adjacency(offsets, ends[order], kinds[order], weights[order])

    def indices(self, numbers: Collection[int] | Ints) -> Ints:
        """Indices of nodes by number; -1 if unknown."""
        requested = np.asarray(list(numbers) if not isinstance(numbers, np.ndarray) else numbers,
                            dtype=np.int64)  # fmt: skip
        if not len(self.numbers):
            return np.full(len(requested), -1, dtype=np.int64)
        found = np.minimum(np.searchsorted(self.numbers, requested), len(self.numbers) - 1)
        return np.where(self.numbers[found] == requested, found, -1)

    def nodes_in_files(self, paths: Iterable[int]) -> Ints:
        """Indices of the nodes in files, given by their indices in `paths`."""
        return np.flatnonzero(np.isin(self.files, np.fromiter(paths, dtype=np.int64)))

    def edges(self) -> tuple[Ints, Ints]:
        """All edges: indices of dependents, indices of dependencies."""
        counts = np.diff(self._outgoing.offsets)
        return np.repeat(np.arange(len(counts), dtype=np.int64), counts), self._outgoing.ends

    def traverse(
        self,
        starts: Ints,
        *,
        depth: int,
        backwards: bool,
        kinds: Collection[EdgeKind] | None = None,
    ) -> Traversal:
        """Follow edges to dependencies, or backwards to dependents."""
        adjacency = self._incoming if backwards else self._outgoing
        allowed = None if kinds is None else np.array([kind in kinds for kind in KIND_ORDER])
        scores = np.zeros(len(self.numbers))
        seen = np.zeros(len(self.numbers), dtype=bool)
        scores[starts] = 1.0
        seen[starts] = True
        levels: list[Traversal] = []
        frontier = starts
        for level in range(1, depth + 1):
            step = _level(adjacency, frontier, scores, unseen=~seen, allowed=allowed)
            step = step._replace(depths=np.full(len(step.indices), level, dtype=np.int64))
            if not len(step.indices):
                break
            seen[step.indices] = True
            scores[step.indices] = step.scores
            levels.append(step)
            frontier = step.indices
        return _concatenated(levels)


def _level(
    adjacency: _Adjacency, frontier: Ints, scores: Floats, *, unseen: Bools, allowed: Bools | None
) -> Traversal:
    """Unseen nodes one step away, each by its strongest edge."""
    begins = adjacency.offsets[frontier]
    counts = adjacency.offsets[frontier + 1] - begins
    total = int(counts.sum())
    skip = np.repeat(begins - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
    edges = np.arange(total, dtype=np.int64) + skip
    origin = np.repeat(frontier, counts)
    keep = unseen[adjacency.ends[edges]]
    if allowed is not None:
        keep &= allowed[adjacency.kinds[edges]]
    edges, origin = edges[keep], origin[keep]
    ends, strength = adjacency.ends[edges], scores[origin] * adjacency.weights[edges]
    order = np.lexsort((origin, -strength, ends))
    ends, edges, origin, strength = ends[order], edges[order], origin[order], strength[order]
    first = np.concatenate(([True], ends[1:] != ends[:-1])) if len(ends) else np.zeros(0, bool)
    return Traversal(
        ends[first],
        np.zeros(0, dtype=np.int64),
        strength[first],
        adjacency.kinds[edges[first]],
        origin[first],
    )


def _concatenated(levels: list[Traversal]) -> Traversal:
    if not levels:
        none, no_scores = np.zeros(0, dtype=np.int64), np.zeros(0)
        return Traversal(none, none, no_scores, none, none)
    return Traversal(
        np.concatenate([level.indices for level in levels]),
        np.concatenate([level.depths for level in levels]),
        np.concatenate([level.scores for level in levels]),
        np.concatenate([level.kinds for level in levels]),
        np.concatenate([level.previous for level in levels]),
    )
