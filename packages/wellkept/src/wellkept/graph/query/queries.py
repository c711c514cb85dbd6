"""Graph queries: impact, dependencies, data flow, test coverage.

Only data flow reads source files, below `root`. A query about a file covers everything in it; about
a class, its members; about a directory or module, all of its files.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

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
    UnresolvedCall,
)
from wellkept.core.ports.graph import KIND_ORDER, GraphStore
from wellkept.graph.parse.file_facts import HANDED, names_from_bytes, uses_from_bytes
from wellkept.graph.query.dataflow_files import DataflowFiles
from wellkept.graph.query.trace import CONSTRUCTORS, FlowPath, Tracer
from wellkept.graph.query.traversal import GraphSnapshot, Traversal

if TYPE_CHECKING:
    from wellkept.graph.query.traversal import Floats, Ints

MAX_FILES: Final = 150
"""Dependent files that are searched, nearest first."""
_CALLED = re.compile(rb'\.(\w+)",\d+\]')


class _UnresolvedCalls:
    """Finds unresolved calls in one version of a graph."""

    def __init__(self, store: GraphStore, tree: str) -> None:
        self._store = store
        self._tree = tree
        self._called: dict[str, frozenset[bytes]] = {}
        self._calls: dict[str, dict[str, list[UnresolvedCall]]] = {}

    def of(self, method: Node, files: Sequence[str]) -> list[UnresolvedCall]:
        """Calls in files that may be calls of a method, in the order of the files."""
        if method.kind is not NodeKind.FUNCTION or "." not in method.qualname:
            return []
        searched = list(files[:MAX_FILES])
        self._note_names(searched)
        wanted = method.name.encode()
        holding = [path for path in searched if wanted in self._called[path]]
        self._read([path for path in holding if path not in self._calls])
        candidates = [call for path in holding for call in self._calls[path].get(method.name, ())]
        linked = self._linked(candidates, method.name)
        return [call for call in candidates if call.caller not in linked]

    def _note_names(self, paths: Sequence[str]) -> None:
        """Note which methods files call, without reading their facts in full."""
        unknown = [path for path in paths if path not in self._called]
        facts = self._store.facts(self._tree, unknown) if unknown else {}
        for path in unknown:
            data = facts.get(path)
            names = _CALLED.findall(zlib.decompress(data)) if data else ()
            self._called[path] = frozenset(names)

    def _read(self, paths: Sequence[str]) -> None:
        """Read the calls of files on something that is not imported, by the method's name."""
        facts = self._store.facts(self._tree, paths) if paths else {}
        names = self._store.names(self._tree, paths) if paths else {}
        for path, data in facts.items():
            imported = names_from_bytes(names[path]).imported if path in names else {}
            by_name = self._calls[path] = dict[str, list[UnresolvedCall]]()
            uses = uses_from_bytes(data)
            for caller, callee, line in uses.calls:
                head, _, rest = callee.partition(".")
                if not rest or head in imported or callee.startswith(HANDED):
                    continue
                scope = uses.callers[caller] if caller >= 0 else ""
                source = f"{path}{SYMBOL_MARK}{scope}" if scope else path
                call = UnresolvedCall(path=path, line=line, caller=source, callee=callee)
                by_name.setdefault(rest.rpartition(".")[2], []).append(call)

    def _linked(self, calls: Sequence[UnresolvedCall], name: str) -> frozenset[str]:
        """The callers whose call of that name the graph links to a method."""
        if not calls:
            return frozenset()
        edges = self._store.edges(self._tree, sources=sorted({call.caller for call in calls}))
        return frozenset(
            edge.source
            for edge in edges
            if edge.kind is EdgeKind.CALLS and edge.target.endswith((f".{name}", f"::{name}"))
        )


# -- Queries --------------------------------------------------------------------------------------


LinkedMemories = Callable[[Sequence[str]], Sequence[LinkedMemory]]
"""Finds memories that name any of these files."""

E2E_TYPE = "e2e_observation"
_HALF_SCORE_FILES = 8.0
"""This many certainly affected files give an impact score of one half."""
_MAX_TRACE_DEPTH = 6
_DEPENDS = frozenset(EdgeKind) - {EdgeKind.EXPORTS}
_EXERCISES = frozenset({EdgeKind.CALLS, EdgeKind.EXTENDS, EdgeKind.IMPLEMENTS})
"""A test that only imports something does not exercise it."""


class GraphQueries:
    """Queries on the graph of one tree.

    `resolve` turns a caller's name into a node name, for instance after updating the graph.
    """

    def __init__(
        self,
        store: GraphStore,
        tree: str,
        *,
        root: Path | None = None,
        linked_memories: LinkedMemories | None = None,
        resolve: Callable[[str], str] | None = None,
    ) -> None:
        self._store = store
        self._tree = tree
        self._root = root
        self._linked_memories = linked_memories
        self._resolve = resolve
        self._last_snapshot: GraphSnapshot | None = None
        self._unresolved_calls: tuple[int, _UnresolvedCalls] | None = None

    def node(self, name: str) -> Node:
        """The node for an id, a path, the end of a path, or a symbol name."""
        if self._resolve is not None:
            name = self._resolve(name)
        exact = self._store.nodes(self._tree, [name]).get(name)
        if exact is not None:
            return exact
        found = self._store.find(self._tree, name)
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFoundError(
                f"The code graph has nothing called {name!r}.",
                hint="Give a file or a symbol such as path::Class.method. If it is new, run:"
                " wellkept graph build",
            )
        shown = ", ".join(node.id for node in found[:5])
        raise ConflictError(f"{name!r} is ambiguous: {shown}.", hint="Give one of these ids.")

    # -- Impact and dependencies ------------------------------------------------------------------

    def impact(self, name: str, *, depth: int = MAX_DEPTH, limit: int = 200) -> Impact:
        """What a change of a file or symbol may affect: code, tests, memories, E2E observations."""
        target, traversal, snapshot = self._traverse(name, depth=depth, backwards=True)
        reached = self._reached(snapshot, traversal, limit)
        own = target.path
        affected = _by_file(snapshot, traversal, without=own)
        files = [snapshot.paths[index] for index in affected.indices]
        linked = self._memories([*([own] if own else ()), *files[:limit]])
        total = float(affected.scores.sum())
        return Impact(
            target=target,
            direct=tuple(r for r in reached if r.depth == 1),
            transitive=tuple(r for r in reached if r.depth > 1),
            files=tuple(files),
            modules=tuple(sorted({snapshot.modules[i] for i in affected.indices} - {""})),
            tests=tuple(snapshot.paths[i] for i in affected.indices if snapshot.has_tests[i]),
            memories=tuple(m for m in linked if m.type != E2E_TYPE),
            e2e_observations=tuple(m for m in linked if m.type == E2E_TYPE),
            score=round(total / (total + _HALF_SCORE_FILES), 4),
            reached_count=len(traversal.indices),
            unresolved=self._unresolved(target, snapshot),
            stale_files=self._stale([target, *(r.node for r in reached)]),
        )

    def _unresolved(self, target: Node, snapshot: GraphSnapshot) -> tuple[UnresolvedCall, ...]:
        """Unresolved calls of a method in its file and in the files that depend on it."""
        if target.kind is not NodeKind.FUNCTION or "." not in target.qualname or not target.path:
            return ()
        inside = snapshot.nodes_in_files([snapshot.path_index(target.path)])
        dependents = snapshot.traverse(inside, depth=MAX_DEPTH, backwards=True)
        files = _by_file(snapshot, dependents, without=target.path).indices
        paths = [target.path, *(snapshot.paths[index] for index in files)]
        if self._unresolved_calls is None or self._unresolved_calls[0] != snapshot.version:
            finder = _UnresolvedCalls(self._store, self._tree)
            self._unresolved_calls = (snapshot.version, finder)
        return tuple(self._unresolved_calls[1].of(target, paths))

    def dependencies(self, name: str, *, depth: int = MAX_DEPTH, limit: int = 200) -> Neighbours:
        """What a file or symbol depends on."""
        return self._neighbours(name, depth=depth, limit=limit, backwards=False)

    def dependents(self, name: str, *, depth: int = MAX_DEPTH, limit: int = 200) -> Neighbours:
        """What depends on a file or symbol."""
        return self._neighbours(name, depth=depth, limit=limit, backwards=True)

    def _neighbours(self, name: str, *, depth: int, limit: int, backwards: bool) -> Neighbours:
        target, traversal, snapshot = self._traverse(name, depth=depth, backwards=backwards)
        reached = self._reached(snapshot, traversal, limit)
        affected = _by_file(snapshot, traversal, without=target.path)
        return Neighbours(
            target=target,
            direct=tuple(r for r in reached if r.depth == 1),
            transitive=tuple(r for r in reached if r.depth > 1),
            files=tuple(snapshot.paths[index] for index in affected.indices),
            reached_count=len(traversal.indices),
            stale_files=self._stale([target, *(r.node for r in reached)]),
        )

    # -- Data flow and coverage -------------------------------------------------------------------

    def trace(
        self,
        name: str,
        *,
        to: str | None = None,
        value: str = "",
        depth: int = MAX_DEPTH,
        limit: int = 20,
    ) -> Trace:
        """Paths of values from a file or symbol, optionally to another: through assignments,
        arguments, results, fields and noted flows. `value` follows one parameter, variable or
        field only. Call paths if no value can be followed."""
        _require_depth(depth, limit=_MAX_TRACE_DEPTH)
        start = self.node(name)
        target = self.node(to) if to is not None else None
        files = DataflowFiles(self._store, self._tree, self._root) if self._root else None
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
        files: DataflowFiles,
        start: Node,
        target: Node | None,
        *,
        value: str,
        depth: int,
        limit: int,
    ) -> tuple[list[tuple[TraceStep, ...]], bool]:
        """Value paths, and whether all were followed. Tests use everything, so they are excluded
        unless the query is about one."""
        snapshot = self._snapshot()
        requested = [node for node in (start, target) if node is not None]
        is_about_tests = any(n.is_test or snapshot.is_test_file(n.path or "") for n in requested)

        def is_excluded(node: str) -> bool:
            return not is_about_tests and snapshot.is_test_file(node.partition(SYMBOL_MARK)[0])

        tracer = Tracer(self._store, self._tree, files, is_excluded=is_excluded)
        ends = None if target is None else self._functions_in(target)
        paths = tracer.paths(self._functions_in(start), ends=ends, depth=depth, value=value)
        return self._as_trace_steps(paths[:limit]), not tracer.hit_limit

    def _functions_in(self, node: Node) -> list[str]:
        """A node and the functions in it."""
        snapshot = self._snapshot()
        found = self._nodes(snapshot, set(map(int, self._indices_of(snapshot, node))))
        kinds = (NodeKind.FUNCTION, NodeKind.FILE)
        return [node.id, *sorted(n.id for n in found.values() if n.kind in kinds and n != node)]

    def _as_trace_steps(self, paths: Sequence[FlowPath]) -> list[tuple[TraceStep, ...]]:
        ids = {step.node for path in paths for step in path.steps}
        nodes = self._store.nodes(self._tree, ids)
        return [
            tuple(
                TraceStep(
                    kind=step.kind,
                    node=nodes[step.node],
                    line=step.line,
                    how=step.how,
                    confidence=round(step.confidence, 3),
                )
                for step in path.steps
            )
            for path in paths
            if all(step.node in nodes for step in path.steps)
        ]

    def _call_paths(
        self, start: Node, target: Node | None, *, depth: int, limit: int
    ) -> list[tuple[TraceStep, ...]]:
        snapshot = self._snapshot()
        kinds = (EdgeKind.CALLS, EdgeKind.IS_ENTRYPOINT_FOR)
        starts = self._indices_of(snapshot, start)
        traversal = snapshot.traverse(starts, depth=depth, backwards=False, kinds=kinds)
        ends = self._indices_of(snapshot, target) if target is not None else _leaves(traversal)
        ranked = np.flatnonzero(np.isin(traversal.indices, ends))
        ranked = ranked[np.lexsort((traversal.indices[ranked], -traversal.scores[ranked]))][:limit]
        rows = {int(index): row for row, index in enumerate(traversal.indices)}
        chains = [_chain(int(row), traversal, rows) for row in ranked]
        nodes = self._nodes(
            snapshot, {int(traversal.indices[i]) for chain in chains for i in chain}
        )
        return [
            tuple(
                TraceStep(
                    kind=KIND_ORDER[int(traversal.kinds[i])], node=nodes[int(traversal.indices[i])]
                )
                for i in chain
            )
            for chain in chains
        ]

    def coverage(self, name: str, *, depth: int = MAX_DEPTH, limit: int = 200) -> Coverage:
        """Tests that reach a file or symbol, and its functions that no test reaches."""
        target, traversal, snapshot = self._traverse(name, depth=depth, backwards=True)
        tests = traversal.select(snapshot.tests[traversal.indices])
        inside = self._indices_of(snapshot, target)
        reached = snapshot.traverse(
            np.flatnonzero(snapshot.tests), depth=depth, backwards=False, kinds=_EXERCISES
        )
        own = self._nodes(snapshot, set(map(int, inside)))
        functions = {
            index: node
            for index, node in own.items()
            if node.kind is NodeKind.FUNCTION and not node.is_test and node.name not in CONSTRUCTORS
        }
        uncovered = functions.keys() - set(map(int, reached.indices))
        return Coverage(
            target=target,
            tests=self._reached(snapshot, tests, limit),
            test_files=tuple(sorted(snapshot.paths[i] for i in _by_file(snapshot, tests).indices)),
            uncovered=tuple(sorted(functions[index].id for index in uncovered)),
            symbol_count=len(functions),
        )

    # -- Inside -----------------------------------------------------------------------------------

    def _traverse(
        self, name: str, *, depth: int, backwards: bool
    ) -> tuple[Node, Traversal, GraphSnapshot]:
        _require_depth(depth, limit=MAX_DEPTH)
        target, snapshot = self.node(name), self._snapshot()
        starts = self._indices_of(snapshot, target)
        # Who imports one name of a file does not depend on the others that it exports.
        kinds = None if backwards else _DEPENDS
        found = snapshot.traverse(starts, depth=depth, backwards=backwards, kinds=kinds)
        return target, found, snapshot

    def _snapshot(self) -> GraphSnapshot:
        """The graph in memory, read again when the store changed."""
        snapshot = self._last_snapshot
        if snapshot is None or snapshot.version != self._store.version(self._tree):
            edges, nodes = self._store.edge_table(self._tree), self._store.node_table(self._tree)
            snapshot = self._last_snapshot = GraphSnapshot(edges, nodes)
        return snapshot

    def _indices_of(self, snapshot: GraphSnapshot, node: Node) -> Ints:
        """Indices of a node and of everything in it."""
        own = snapshot.indices(list(self._store.numbers(self._tree, [node.id]).values()))
        own = own[own >= 0]
        if node.kind is NodeKind.FILE:
            return np.union1d(own, snapshot.nodes_in_files([snapshot.path_index(node.id)]))
        if node.kind is NodeKind.DIRECTORY:
            folder = "" if node.id == "./" else node.id
            files = [i for i, path in enumerate(snapshot.paths) if path.startswith(folder)]
            return np.union1d(own, snapshot.nodes_in_files(files))
        if node.id.startswith(MODULE_PREFIX):
            files = [i for i, module in enumerate(snapshot.modules) if module == node.name]
            return np.union1d(own, snapshot.nodes_in_files(files))
        if node.kind in (NodeKind.CLASS, NodeKind.INTERFACE) and node.path:
            prefix = f"{node.id}."
            members = [s.id for s in self._store.symbols(self._tree, [node.path])
                       if s.id.startswith(prefix)]  # fmt: skip
            numbers = self._store.numbers(self._tree, members)
            return np.union1d(own, snapshot.indices(list(numbers.values())))
        return own

    def _reached(
        self, snapshot: GraphSnapshot, traversal: Traversal, limit: int
    ) -> tuple[ReachedNode, ...]:
        # Nearest first; at each depth generated code after the rest, and tests last, because they
        # have a list of their own.
        tests = snapshot.tests[traversal.indices]
        made = snapshot.generated(snapshot.files[traversal.indices])
        order = np.lexsort((traversal.indices, -traversal.scores, made, tests, traversal.depths))
        order = order[:limit]
        shown = set(map(int, traversal.indices[order])) | set(map(int, traversal.previous[order]))
        nodes = self._nodes(snapshot, shown)
        return tuple(
            ReachedNode(
                node=nodes[int(traversal.indices[i])],
                depth=int(traversal.depths[i]),
                score=round(float(traversal.scores[i]), 4),
                kind=KIND_ORDER[int(traversal.kinds[i])],
                through=nodes[int(traversal.previous[i])].id,
            )
            for i in order
        )

    def _nodes(self, snapshot: GraphSnapshot, indices: set[int]) -> dict[int, Node]:
        numbers = {int(snapshot.numbers[index]): index for index in indices}
        found = self._store.nodes_by_number(self._tree, list(numbers))
        return {numbers[number]: node for number, node in found.items()}

    def _memories(self, files: Sequence[str]) -> Sequence[LinkedMemory]:
        return self._linked_memories(files) if self._linked_memories is not None and files else ()

    def _stale(self, nodes: Sequence[Node]) -> tuple[str, ...]:
        return tuple(sorted({n.path for n in nodes if n.stale_at is not None and n.path}))


def _require_depth(depth: int, *, limit: int) -> None:
    if not 1 <= depth <= limit:
        raise UsageError(f"The depth must be from 1 to {limit}, not {depth}.")


class _AffectedFiles(NamedTuple):
    """Indices of files with their best scores, highest first."""

    indices: list[int]
    scores: Floats


def _by_file(
    snapshot: GraphSnapshot, traversal: Traversal, *, without: str | None = None
) -> _AffectedFiles:
    """The files of reached nodes, by score, then path; generated ones after the others."""
    files = snapshot.files[traversal.indices]
    known = files >= 0
    strongest = np.zeros(len(snapshot.paths))
    np.maximum.at(strongest, files[known], traversal.scores[known])
    if without is not None and (own := snapshot.path_index(without)) >= 0:
        strongest[own] = 0.0
    found = np.flatnonzero(strongest)
    made = snapshot.generated(found)
    order = found[np.lexsort((snapshot.path_ranks[found], -strongest[found], made))]
    return _AffectedFiles(order.tolist(), strongest[order])


def _leaves(traversal: Traversal) -> Ints:
    """The nodes where a traversal ended."""
    return np.setdiff1d(traversal.indices, traversal.previous)


def _chain(row: int, traversal: Traversal, rows: dict[int, int]) -> list[int]:
    """The rows of the path to one row, in order."""
    chain = [row]
    while (earlier := rows.get(int(traversal.previous[chain[-1]]))) is not None:
        chain.append(earlier)
    return chain[::-1]
