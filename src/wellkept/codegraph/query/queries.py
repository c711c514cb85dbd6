"""Questions to a graph: impact, dependencies, data flow, coverage.

Only data flow needs the files themselves, below `root`; the graph answers everything else. A
question about a file means the file and everything in it; about a class, the class and its
members; about a directory or a module, all of its files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wellkept.codegraph.query.dataflow_files import FlowFiles
from wellkept.codegraph.query.trace import CONSTRUCTORS, FlowPath, Tracer
from wellkept.codegraph.query.traversal import GraphCache, GraphSnapshot, Traversal
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.graph import (
    MAX_DEPTH,
    MODULE_PREFIX,
    SYMBOL_MARK,
    Coverage,
    EdgeKind,
    Impact,
    LinkedMemory,
    Neighbours,
    Node,
    NodeKind,
    ReachedNode,
    Trace,
    TraceStep,
)
from wellkept.core.ports.graph import KIND_ORDER, GraphStore

if TYPE_CHECKING:
    from wellkept.codegraph.query.traversal import Floats, Ints

Linked = Callable[[Sequence[str]], Sequence[LinkedMemory]]
"""Memories that are tied to any of these files."""

E2E_TYPE = "e2e_observation"
_HALF_SCORE_FILES = 8.0
"""So many files that certainly feel a change give an impact score of one half."""
_LONGEST_TRACE = 6
_EXERCISES = frozenset({EdgeKind.CALLS, EdgeKind.EXTENDS, EdgeKind.IMPLEMENTS})
"""A test that only imports something does not exercise it."""


class GraphQueries:
    """Asks the graph of one tree."""

    def __init__(
        self,
        store: GraphStore,
        tree: str,
        *,
        root: Path | None = None,
        linked: Linked | None = None,
    ) -> None:
        self._store = store
        self._tree = tree
        self._root = root
        self._atlas = GraphCache(store, tree)
        self._linked = linked

    def node(self, name: str) -> Node:
        """The node that an id, a path, the end of a path or a symbol's name stands for."""
        exact = self._store.nodes(self._tree, [name]).get(name)
        if exact is not None:
            return exact
        found = self._store.find(self._tree, name)
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFoundError(
                f"The code graph has nothing called {name!r}.",
                hint="Name a file, a symbol such as path::Class.method, or run wellkept graph"
                " build if it is new.",
            )
        shown = ", ".join(node.id for node in found[:5])
        raise ConflictError(f"{name!r} could be any of: {shown}.", hint="Give one of these ids.")

    # -- Impact and dependencies ------------------------------------------------------------------

    def impact(self, name: str, *, depth: int = MAX_DEPTH, limit: int = 200) -> Impact:
        """What a change of something may touch."""
        target, steps, chart = self._walk(name, depth=depth, backwards=True)
        reached = self._reached(chart, steps, limit)
        own = target.path
        touched = _by_file(chart, steps, without=own)
        files = [chart.paths[place] for place in touched.places]
        linked = self._memories([*([own] if own else ()), *files[:limit]])
        total = float(touched.scores.sum())
        return Impact(
            target=target,
            direct=tuple(r for r in reached if r.depth == 1),
            transitive=tuple(r for r in reached if r.depth > 1),
            files=tuple(files),
            modules=_modules(chart, touched),
            tests=tuple(chart.paths[i] for i in touched.places if chart.holds_tests[i]),
            memories=tuple(m for m in linked if m.type != E2E_TYPE),
            e2e_observations=tuple(m for m in linked if m.type == E2E_TYPE),
            score=round(total / (total + _HALF_SCORE_FILES), 4),
            reached_count=len(steps.places),
            stale_files=self._stale([target, *(r.node for r in reached)]),
        )

    def dependencies(self, name: str, *, depth: int = MAX_DEPTH, limit: int = 200) -> Neighbours:
        """What something depends on."""
        return self._neighbours(name, depth=depth, limit=limit, backwards=False)

    def dependents(self, name: str, *, depth: int = MAX_DEPTH, limit: int = 200) -> Neighbours:
        """What depends on something."""
        return self._neighbours(name, depth=depth, limit=limit, backwards=True)

    def _neighbours(self, name: str, *, depth: int, limit: int, backwards: bool) -> Neighbours:
        target, steps, chart = self._walk(name, depth=depth, backwards=backwards)
        reached = self._reached(chart, steps, limit)
        touched = _by_file(chart, steps, without=target.path)
        return Neighbours(
            target=target,
            direct=tuple(r for r in reached if r.depth == 1),
            transitive=tuple(r for r in reached if r.depth > 1),
            files=tuple(chart.paths[place] for place in touched.places),
            reached_count=len(steps.places),
            stale_files=self._stale([target, *(r.node for r in reached)]),
        )

    # -- Flow and coverage ------------------------------------------------------------------------

    def trace(
        self,
        name: str,
        *,
        to: str | None = None,
        value: str = "",
        depth: int = MAX_DEPTH,
        limit: int = 20,
    ) -> Trace:
        """The ways that values take from something, or from it to something; only those of one
        parameter, variable or field if `value` names it. Ways of calls where there is none."""
        _require_depth(depth, most=_LONGEST_TRACE)
        start = self.node(name)
        target = self.node(to) if to is not None else None
        files = FlowFiles(self._store, self._tree, self._root) if self._root else None
        paths, is_whole = (
            self._flow_paths(files, start, target, value=value, depth=depth, limit=limit)
            if files is not None
            else ([], True)
        )
        if not paths and not value:
            paths = self._call_paths(start, target, depth=depth, limit=limit)
        seen = [step.node for path in paths for step in path]
        stale = {*self._stale(seen), *(files.stale if files is not None else ())}
        return Trace(
            start=start,
            target=target,
            paths=tuple(paths),
            is_whole=is_whole,
            stale_files=tuple(sorted(stale)),
        )

    def _flow_paths(
        self,
        files: FlowFiles,
        start: Node,
        target: Node | None,
        *,
        value: str,
        depth: int,
        limit: int,
    ) -> tuple[list[tuple[TraceStep, ...]], bool]:
        """Ways of values, and whether all were followed. Tests use everything, so they are passed
        over unless one is asked about."""
        chart = self._atlas.map()
        asked = [node for node in (start, target) if node is not None]
        is_about_tests = any(n.is_test or chart.is_test_file(n.path or "") for n in asked)

        def is_left_out(node: str) -> bool:
            return not is_about_tests and chart.is_test_file(node.partition(SYMBOL_MARK)[0])

        tracer = Tracer(self._store, self._tree, files, is_left_out=is_left_out)
        ends = None if target is None else self._inside(target)
        ways = tracer.ways(self._inside(start), ends=ends, depth=depth, value=value)
        return self._as_paths(ways[:limit]), not tracer.cut

    def _inside(self, node: Node) -> list[str]:
        """A node and the functions in it."""
        chart = self._atlas.map()
        found = self._nodes(chart, set(map(int, self._starts(chart, node))))
        kinds = (NodeKind.FUNCTION, NodeKind.FILE)
        return [node.id, *sorted(n.id for n in found.values() if n.kind in kinds and n != node)]

    def _as_paths(self, ways: Sequence[FlowPath]) -> list[tuple[TraceStep, ...]]:
        ids = {hop.node for way in ways for hop in way.hops}
        nodes = self._store.nodes(self._tree, ids)
        return [
            tuple(
                TraceStep(
                    kind=hop.kind,
                    node=nodes[hop.node],
                    line=hop.line,
                    how=hop.how,
                    confidence=round(hop.confidence, 3),
                )
                for hop in way.hops
            )
            for way in ways
            if all(hop.node in nodes for hop in way.hops)
        ]

    def _call_paths(
        self, start: Node, target: Node | None, *, depth: int, limit: int
    ) -> list[tuple[TraceStep, ...]]:
        chart = self._atlas.map()
        kinds = (EdgeKind.CALLS, EdgeKind.IS_ENTRYPOINT_FOR)
        steps = chart.walk(self._starts(chart, start), depth=depth, backwards=False, kinds=kinds)
        ends = self._starts(chart, target) if target is not None else _leaves(steps)
        ranked = np.flatnonzero(np.isin(steps.places, ends))
        ranked = ranked[np.lexsort((steps.places[ranked], -steps.scores[ranked]))][:limit]
        before = {int(p): i for i, p in enumerate(steps.places)}
        chains = [_chain(int(i), steps, before) for i in ranked]
        nodes = self._nodes(chart, {int(steps.places[i]) for chain in chains for i in chain})
        return [
            tuple(
                TraceStep(kind=KIND_ORDER[int(steps.kinds[i])], node=nodes[int(steps.places[i])])
                for i in chain
            )
            for chain in chains
        ]

    def coverage(self, name: str, *, depth: int = MAX_DEPTH, limit: int = 200) -> Coverage:
        """The tests that reach something, and what inside it none of them reaches."""
        target, steps, chart = self._walk(name, depth=depth, backwards=True)
        tests = steps.chosen(chart.tests[steps.places])
        inside = self._starts(chart, target)
        reached = chart.walk(
            np.flatnonzero(chart.tests), depth=depth, backwards=False, kinds=_EXERCISES
        )
        own = self._nodes(chart, set(map(int, inside)))
        functions = {
            place: node
            for place, node in own.items()
            if node.kind is NodeKind.FUNCTION and not node.is_test and node.name not in CONSTRUCTORS
        }
        uncovered = functions.keys() - set(map(int, reached.places))
        return Coverage(
            target=target,
            tests=self._reached(chart, tests, limit),
            test_files=tuple(sorted(chart.paths[i] for i in _by_file(chart, tests).places)),
            uncovered=tuple(sorted(functions[place].id for place in uncovered)),
            symbol_count=len(functions),
        )

    # -- Inside -----------------------------------------------------------------------------------

    def _walk(
        self, name: str, *, depth: int, backwards: bool
    ) -> tuple[Node, Traversal, GraphSnapshot]:
        _require_depth(depth, most=MAX_DEPTH)
        target, chart = self.node(name), self._atlas.map()
        starts = self._starts(chart, target)
        return target, chart.walk(starts, depth=depth, backwards=backwards), chart

    def _starts(self, chart: GraphSnapshot, node: Node) -> Ints:
        """The places of a node and of everything inside it."""
        own = chart.places(list(self._store.numbers(self._tree, [node.id]).values()))
        own = own[own >= 0]
        if node.kind is NodeKind.FILE:
            return np.union1d(own, chart.inside([chart.path_place(node.id)]))
        if node.kind is NodeKind.DIRECTORY:
            folder = "" if node.id == "./" else node.id
            files = [i for i, path in enumerate(chart.paths) if path.startswith(folder)]
            return np.union1d(own, chart.inside(files))
        if node.id.startswith(MODULE_PREFIX):
            files = [i for i, module in enumerate(chart.modules) if module == node.name]
            return np.union1d(own, chart.inside(files))
        if node.kind in (NodeKind.CLASS, NodeKind.INTERFACE) and node.path:
            inside = f"{node.id}."
            members = [s.id for s in self._store.symbols(self._tree, [node.path])
                       if s.id.startswith(inside)]  # fmt: skip
            numbers = self._store.numbers(self._tree, members)
            return np.union1d(own, chart.places(list(numbers.values())))
        return own

    def _reached(
        self, chart: GraphSnapshot, steps: Traversal, limit: int
    ) -> tuple[ReachedNode, ...]:
        # The nearest first, among those what is no test: tests have a list of their own.
        tests = chart.tests[steps.places]
        order = np.lexsort((steps.places, -steps.scores, tests, steps.depths))[:limit]
        wanted = set(map(int, steps.places[order])) | set(map(int, steps.before[order]))
        nodes = self._nodes(chart, wanted)
        return tuple(
            ReachedNode(
                node=nodes[int(steps.places[i])],
                depth=int(steps.depths[i]),
                score=round(float(steps.scores[i]), 4),
                kind=KIND_ORDER[int(steps.kinds[i])],
                through=nodes[int(steps.before[i])].id,
            )
            for i in order
        )

    def _nodes(self, chart: GraphSnapshot, places: set[int]) -> dict[int, Node]:
        numbers = {int(chart.numbers[place]): place for place in places}
        found = self._store.nodes_by_number(self._tree, list(numbers))
        return {numbers[number]: node for number, node in found.items()}

    def _memories(self, files: Sequence[str]) -> Sequence[LinkedMemory]:
        return self._linked(files) if self._linked is not None and files else ()

    def _stale(self, nodes: Sequence[Node]) -> tuple[str, ...]:
        return tuple(sorted({n.path for n in nodes if n.stale_at is not None and n.path}))


def _require_depth(depth: int, *, most: int) -> None:
    if not 1 <= depth <= most:
        raise UsageError(f"The depth must be from 1 to {most}, not {depth}.")


class _Touched(NamedTuple):
    """Places of files with how strongly each is reached, the strongest first."""

    places: list[int]
    scores: Floats


def _by_file(chart: GraphSnapshot, steps: Traversal, *, without: str | None = None) -> _Touched:
    """The files that a walk reached; equal ones by path."""
    files = chart.files[steps.places]
    known = files >= 0
    strongest = np.zeros(len(chart.paths))
    np.maximum.at(strongest, files[known], steps.scores[known])
    if without is not None and (own := chart.path_place(without)) >= 0:
        strongest[own] = 0.0
    found = np.flatnonzero(strongest)
    order = found[np.lexsort((chart.path_ranks[found], -strongest[found]))]
    return _Touched(order.tolist(), strongest[order])


def _modules(chart: GraphSnapshot, touched: _Touched) -> tuple[str, ...]:
    return tuple(sorted({chart.modules[place] for place in touched.places} - {""}))


def _leaves(steps: Traversal) -> Ints:
    """The nodes from which a walk went no farther."""
    return np.setdiff1d(steps.places, steps.before)


def _chain(place: int, steps: Traversal, index: dict[int, int]) -> list[int]:
    """The steps that lead to one of them, in the order they are taken."""
    chain = [place]
    while (earlier := index.get(int(steps.before[chain[-1]]))) is not None:
        chain.append(earlier)
    return chain[::-1]
