"""Walks over a whole graph in memory, level by level, never deeper than asked.

The edges of a tree are kept as arrays sorted by one end, so a level costs a few array operations
however many nodes it has. A node keeps the first depth it is reached at and, at that depth, its
strongest way. Read anew only when the store says that the tree changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wellkept.core.graph import EDGE_WEIGHTS, EdgeKind
from wellkept.core.ports.graph import KIND_ORDER, EdgeTable, GraphStore, NodeTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

_WEIGHTS = np.array([EDGE_WEIGHTS[kind] for kind in KIND_ORDER])
_FLOWS = KIND_ORDER.index(EdgeKind.FLOWS_TO)


class Traversal(NamedTuple):
    """What a walk reached: places of nodes with depth, score, last edge kind and the place
    before; the nodes it started from are not among them."""

    places: Ints
    depths: Ints
    scores: Floats
    kinds: Ints
    before: Ints

    def chosen(self, which: Bools) -> Traversal:
        """Those of the steps that a mask lets through."""
        return Traversal(
            self.places[which],
            self.depths[which],
            self.scores[which],
            self.kinds[which],
            self.before[which],
        )


class _Half(NamedTuple):
    """Edges sorted by the end that a walk comes from."""

    offsets: Ints
    ends: Ints
    kinds: Ints
    weights: Floats


class GraphSnapshot:
    """One version of a graph, ready to be walked."""

    def __init__(self, edges: EdgeTable, nodes: NodeTable) -> None:
        self.version = edges.version
        self.numbers = np.frombuffer(nodes.numbers, dtype=np.int64)
        order = np.argsort(self.numbers, kind="stable")
        self.numbers = self.numbers[order]
        self.files = np.frombuffer(nodes.files, dtype=np.int64)[order]
        self.tests = np.frombuffer(nodes.tests, dtype=np.uint8)[order].astype(bool)
        self.paths = nodes.paths
        self.modules = nodes.modules
        self._path_places = {path: place for place, path in enumerate(nodes.paths)}
        self.path_ranks = np.argsort(np.array(_ranking(nodes.paths), dtype=np.int64))
        self.holds_tests = np.zeros(len(nodes.paths), dtype=bool)
        self.holds_tests[self.files[self.tests & (self.files >= 0)]] = True
        self._read(edges)

    def path_place(self, path: str) -> int:
        """The place of a file's path; -1 for an unknown one."""
        return self._path_places.get(path, -1)

    def is_test_file(self, path: str) -> bool:
        """Whether a file holds tests."""
        place = self.path_place(path)
        return place >= 0 and bool(self.holds_tests[place])

    def _read(self, edges: EdgeTable) -> None:
        kinds = np.frombuffer(edges.kinds, dtype=np.uint8).astype(np.int64)
        sources = self.places(np.frombuffer(edges.sources, dtype=np.int64))
        targets = self.places(np.frombuffer(edges.targets, dtype=np.int64))
        weights = _WEIGHTS[kinds] * np.frombuffer(edges.confidences, dtype=np.float64)
        known = (sources >= 0) & (targets >= 0)
        sources, targets = sources[known], targets[known]
        kinds, weights = kinds[known], weights[known]
        # What flows from A to B is felt at B when A changes: the other way round than all others.
        flows = kinds == _FLOWS
        sources, targets = np.where(flows, targets, sources), np.where(flows, sources, targets)
        self._down = self._half(sources, targets, kinds, weights)
        self._up = self._half(targets, sources, kinds, weights)

    def _half(self, starts: Ints, ends: Ints, kinds: Ints, weights: Floats) -> _Half:
        order = np.argsort(starts, kind="stable")
        counts = np.bincount(starts, minlength=len(self.numbers))
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        return _Half(offsets, ends[order], kinds[order], weights[order])

    def places(self, numbers: Collection[int] | Ints) -> Ints:
        """Places of nodes by number; -1 for an unknown one."""
        wanted = np.asarray(list(numbers) if not isinstance(numbers, np.ndarray) else numbers,
                            dtype=np.int64)  # fmt: skip
        if not len(self.numbers):
            return np.full(len(wanted), -1, dtype=np.int64)
        found = np.minimum(np.searchsorted(self.numbers, wanted), len(self.numbers) - 1)
        return np.where(self.numbers[found] == wanted, found, -1)

    def inside(self, paths: Iterable[int]) -> Ints:
        """Places of the nodes of files, which are given by their places in `paths`."""
        return np.flatnonzero(np.isin(self.files, np.fromiter(paths, dtype=np.int64)))

    def links(self) -> tuple[Ints, Ints]:
        """Every edge: the place that depends, and the place that it depends on."""
        counts = np.diff(self._down.offsets)
        return np.repeat(np.arange(len(counts), dtype=np.int64), counts), self._down.ends

    def walk(
        self,
        starts: Ints,
        *,
        depth: int,
        backwards: bool,
        kinds: Collection[EdgeKind] | None = None,
    ) -> Traversal:
        """Follow edges to what they point to, or backwards to what depends on the starts."""
        half = self._up if backwards else self._down
        allowed = None if kinds is None else _mask(kinds)
        scores = np.zeros(len(self.numbers))
        seen = np.zeros(len(self.numbers), dtype=bool)
        scores[starts] = 1.0
        seen[starts] = True
        levels: list[Traversal] = []
        frontier = starts
        for level in range(1, depth + 1):
            step = _level(half, frontier, scores, open_=~seen, allowed=allowed)
            step = step._replace(depths=np.full(len(step.places), level, dtype=np.int64))
            if not len(step.places):
                break
            seen[step.places] = True
            scores[step.places] = step.scores
            levels.append(step)
            frontier = step.places
        return _joined(levels)


def _ranking(paths: Sequence[str]) -> list[int]:
    """The places of paths in the order of the paths."""
    return sorted(range(len(paths)), key=paths.__getitem__)


def _level(
    half: _Half, frontier: Ints, scores: Floats, *, open_: Bools, allowed: Bools | None
) -> Traversal:
    """The nodes one step on that were not seen before, each by its strongest edge."""
    begins = half.offsets[frontier]
    counts = half.offsets[frontier + 1] - begins
    total = int(counts.sum())
    skip = np.repeat(begins - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
    edges = np.arange(total, dtype=np.int64) + skip
    origin = np.repeat(frontier, counts)
    keep = open_[half.ends[edges]]
    if allowed is not None:
        keep &= allowed[half.kinds[edges]]
    edges, origin = edges[keep], origin[keep]
    ends, strength = half.ends[edges], scores[origin] * half.weights[edges]
    order = np.lexsort((origin, -strength, ends))
    ends, edges, origin, strength = ends[order], edges[order], origin[order], strength[order]
    first = np.concatenate(([True], ends[1:] != ends[:-1])) if len(ends) else np.zeros(0, bool)
    return Traversal(
        ends[first],
        np.zeros(0, dtype=np.int64),
        strength[first],
        half.kinds[edges[first]],
        origin[first],
    )


def _mask(kinds: Collection[EdgeKind]) -> Bools:
    return np.array([kind in kinds for kind in KIND_ORDER])


def _joined(levels: list[Traversal]) -> Traversal:
    if not levels:
        none, no_scores = np.zeros(0, dtype=np.int64), np.zeros(0)
        return Traversal(none, none, no_scores, none, none)
    return Traversal(
        np.concatenate([level.places for level in levels]),
        np.concatenate([level.depths for level in levels]),
        np.concatenate([level.scores for level in levels]),
        np.concatenate([level.kinds for level in levels]),
        np.concatenate([level.before for level in levels]),
    )


class GraphCache:
    """The map of a tree, drawn again when the tree changed."""

    def __init__(self, store: GraphStore, tree: str) -> None:
        self._store = store
        self._tree = tree
        self._map: GraphSnapshot | None = None

    def map(self) -> GraphSnapshot:
        """The graph as it is now."""
        if self._map is None or self._map.version != self._store.version(self._tree):
            self._map = GraphSnapshot(
                self._store.edge_table(self._tree), self._store.node_table(self._tree)
            )
        return self._map
