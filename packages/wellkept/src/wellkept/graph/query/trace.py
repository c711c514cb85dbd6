"""Follows values from function to function, most certain paths first.

A value moves into a callee as an argument, returns as its result, returns to the callers of the
start, and moves between methods through fields. A path may return to callers only before it enters
a callee, so it never enters a function and leaves to an unrelated caller. Each step multiplies the
confidence: of the call itself, and of what had to be assumed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count
from math import prod
from typing import NamedTuple

from wellkept.core.graph import SYMBOL_MARK, Edge, EdgeKind, NodeKind
from wellkept.core.ports.graph import GraphStore
from wellkept.graph.query.dataflow import (
    RECEIVER,
    SELF,
    FunctionFlow,
    ValueMove,
    ValueOrigin,
    ValueSink,
)
from wellkept.graph.query.dataflow_files import DataflowFiles
from wellkept.graph.query.dataflow_syntax import SPREAD

CONSTRUCTORS = frozenset({"__init__", "constructor", "initialize", "__construct"})
_NOTED_KINDS = frozenset(
    {EdgeKind.FLOWS_TO, EdgeKind.IS_ENTRYPOINT_FOR, EdgeKind.HANDLES_ERRORS_FROM}
)
_INHERITS = frozenset({EdgeKind.EXTENDS, EdgeKind.IMPLEMENTS})
_ANY = ValueOrigin("variable", "*")
"""Any value that a function handles."""
_THROUGH_UNKNOWN = 0.8
"""A function outside the tree is assumed to return its arguments."""
_RETURNED = 0.95
_BY_FIELD = 0.7
"""The reader of a field may run before the writer, or on another object."""
_BY_PART = 0.75
"""A member of an object that holds a value may be another value."""
_BY_OVERRIDE = 0.5
_BY_TYPE = 0.85
_MIN_CONFIDENCE = 0.05
_MAX_FUNCTIONS, _MAX_VALUES = 300, 5_000
_MAX_RETURN_DEPTH = 4


class _FlowStep(NamedTuple):
    """A value reaches a function. `line` is in the previous function; for a result, in this one."""

    node: str
    kind: EdgeKind
    how: str
    line: int
    confidence: float


class FlowPath(NamedTuple):
    """Steps from a start, and their combined confidence."""

    start: str
    steps: tuple[_FlowStep, ...]
    confidence: float


class _State(NamedTuple):
    """A value state its origin in a function. `may_return`: it may still return to callers."""

    node: str
    origin: ValueOrigin
    may_return: bool


class _Transition(NamedTuple):
    """A move to another state. `step` is None inside the same function."""

    state: _State
    confidence: float
    step: _FlowStep | None = None


class Tracer:
    """Traces values in one tree. Functions that `is_excluded` are not entered."""

    def __init__(
        self,
        store: GraphStore,
        tree: str,
        files: DataflowFiles,
        *,
        is_excluded: Callable[[str], bool],
    ) -> None:
        self._store = store
        self._tree = tree
        self._files = files
        self._is_excluded = is_excluded
        self._returns_argument: dict[tuple[str, str], bool] = {}
        self._noted_edges: dict[str, list[Edge]] = {}
        self._subclasses: dict[str, list[str]] = {}
        self.hit_limit = False

    def paths(
        self, starts: Collection[str], *, ends: Collection[str] | None, depth: int, value: str = ""
    ) -> list[FlowPath]:
        """The most certain path to each end, or to each function where values stop."""
        starts, ends = set(starts), None if ends is None else set(ends)
        reached: dict[str, FlowPath] = {}
        passed: set[str] = set()
        best: dict[_State, float] = {}
        ticket = count()
        queue: list[tuple[float, int, _State, FlowPath]] = []
        for start in starts:
            origin = ValueOrigin("local", value) if value else _ANY
            first = _State(start, origin, may_return=True)
            heapq.heappush(queue, (-1.0, next(ticket), first, FlowPath(start, (), 1.0)))
        while queue:
            if self._files.count > _MAX_FUNCTIONS or len(best) > _MAX_VALUES:
                self.hit_limit = True
                break
            _, _, state, path = heapq.heappop(queue)
            if best.get(state, 0.0) >= path.confidence:
                continue
            best[state] = path.confidence
            if path.steps and state.node not in reached and state.node not in starts:
                reached[state.node] = path
                passed.update(step.node for step in path.steps[:-1])
            if ends is not None and state.node in ends and path.steps:
                continue
            for transition in self._transitions(state, value if state.node == path.start else ""):
                longer = _extended(path, transition)
                if transition.step is not None and self._is_excluded(transition.step.node):
                    continue
                if longer.confidence >= _MIN_CONFIDENCE and len(longer.steps) <= depth:
                    item = (-longer.confidence, next(ticket), transition.state, longer)
                    heapq.heappush(queue, item)
        last = ends if ends is not None else reached.keys() - passed
        found = [path for node, path in reached.items() if node in last]
        return sorted(found, key=lambda p: (-p.confidence, len(p.steps), p.steps[-1].node))

    # -- Transitions ------------------------------------------------------------------------------

    def _transitions(self, state: _State, watched: str) -> Iterator[_Transition]:
        yield from self._by_notes(state)
        flow = self._files.flow(state.node, watched=watched)
        if flow is None:
            return
        if state.origin == _ANY and flow.returns_value:  # the result may have no known origin
            yield from self._to_callers(state)
        for move in _moves(flow, state.origin):
            confidence = _BY_PART if move.is_part else 1.0
            for found in self._after_move(state, flow, move):
                yield found._replace(confidence=found.confidence * confidence)

    def _after_move(
        self, state: _State, flow: FunctionFlow, move: ValueMove
    ) -> Iterator[_Transition]:
        match move.sink.kind:
            case "argument":
                yield from self._to_callees(state, flow, move)
            case "return" if state.may_return and state.origin != _ANY:
                yield from self._to_callers(state)
            case "field":
                yield from self._through_field(state, move)
            case "variable":
                yield from self._through_variable(state, move)
            case _:
                return

    def _by_notes(self, state: _State) -> Iterator[_Transition]:
        """Noted edges of a function or its file."""
        path = state.node.partition(SYMBOL_MARK)[0]
        for node in dict.fromkeys((state.node, path)):
            if node not in self._noted_edges:
                edges = self._store.edges(self._tree, sources=[node])
                self._noted_edges[node] = [edge for edge in edges if edge.kind in _NOTED_KINDS]
            for edge in self._noted_edges[node]:
                step = _FlowStep(edge.target, edge.kind, "noted", edge.line, edge.confidence)
                target = _State(edge.target, _ANY, may_return=True)
                yield _Transition(target, edge.confidence, step)

    def _to_callees(
        self, state: _State, flow: FunctionFlow, move: ValueMove
    ) -> Iterator[_Transition]:
        """An argument moves into each possible callee, and may come back as the result."""
        result = _State(state.node, ValueOrigin("result", str(move.sink.call)), state.may_return)
        called = self._callees(state.node, flow, move.sink)
        if not called:
            yield _Transition(result, _THROUGH_UNKNOWN)
        for node, confidence in called:
            callee_flow = self._files.flow(node)
            for name in _parameters_for(callee_flow, move.sink.name):
                how = "its object" if name == SELF else f"passed as {name}"
                step = _FlowStep(node, EdgeKind.FLOWS_TO, how, move.line, confidence)
                target = _State(node, ValueOrigin("parameter", name), may_return=False)
                yield _Transition(target, confidence, step)
                if _is_constructor(node) or self._may_return(node, name):
                    yield _Transition(result, confidence * _RETURNED)

    def _callees(self, node: str, flow: FunctionFlow, sink: ValueSink) -> list[tuple[str, float]]:
        """The functions that a call may run: the resolved one, and its overrides."""
        callee = flow.call_sites[sink.call].callee
        resolved = self._files.called(node, callee) or self._by_result(node, flow, sink.call)
        if resolved is None:
            return []
        target, confidence = resolved
        if self._files.has(target) or self._is_function(target):
            overrides = self._overrides(target)
            return [resolved, *((other, confidence * _BY_OVERRIDE) for other in overrides)]
        name = target.rpartition(SYMBOL_MARK)[2].rpartition(".")[2]
        constructors = [f"{target}.{method}" for method in (*sorted(CONSTRUCTORS), name)]
        return [(method, confidence) for method in constructors if self._files.has(method)]

    def _is_function(self, target: str) -> bool:
        """Whether the graph has it as a function; its file may have changed since."""
        node = self._store.nodes(self._tree, [target]).get(target)
        return node is not None and node.kind is NodeKind.FUNCTION

    def _by_result(self, node: str, flow: FunctionFlow, call: int) -> tuple[str, float] | None:
        """A method of the declared return type of another call."""
        name = flow.call_sites[call].callee.rpartition(".")[2]
        receiver = ValueSink("argument", RECEIVER, call)
        for origin, moves in flow.moves.items():
            if origin.kind == "result" and any(move.sink == receiver for move in moves):
                called = self._files.called(node, flow.call_sites[int(origin.name)].callee)
                owner = self._files.returned_class(called[0]) if called is not None else None
                method = self._method(owner, name) if owner is not None else None
                if called is not None and method is not None:
                    return method, called[1] * _BY_TYPE
        return None

    def _method(self, owner: str, name: str) -> str | None:
        """A method of a class or of its bases."""
        lineage, seen = [owner], {owner}
        for current in lineage:
            if self._files.has(f"{current}.{name}"):
                return f"{current}.{name}"
            edges = self._store.edges(self._tree, sources=[current])
            bases = [e.target for e in edges if e.kind in _INHERITS and e.target not in seen]
            lineage += bases
            seen.update(bases)
        return None

    def _overrides(self, method: str) -> list[str]:
        """Methods of the same name in subclasses."""
        owner, _, name = method.rpartition(".")
        if SYMBOL_MARK not in owner:
            return []
        subclasses = self._subclasses_of(owner)
        return [m for subclass in subclasses if self._files.has(m := f"{subclass}.{name}")]

    def _subclasses_of(self, owner: str) -> list[str]:
        """Classes that extend or implement one, directly or indirectly."""
        if owner in self._subclasses:
            return self._subclasses[owner]
        found: dict[str, None] = {}
        waiting = [owner]
        while waiting:
            edges = self._store.edges(self._tree, targets=waiting)
            new = [e.source for e in edges if e.kind in _INHERITS and e.source not in found]
            found.update(dict.fromkeys(new))
            waiting = new
        self._subclasses[owner] = list(found)
        return self._subclasses[owner]

    def _to_callers(self, state: _State) -> Iterator[_Transition]:
        """A returned value moves to the callers."""
        for edge in self._store.edges(self._tree, targets=[state.node]):
            if edge.kind is not EdgeKind.CALLS or self._is_excluded(edge.source):
                continue
            flow = self._files.flow(edge.source)
            for number, site in enumerate(flow.call_sites if flow is not None else ()):
                called = self._files.called(edge.source, site.callee)
                if called is not None and called[0] == state.node:
                    confidence = called[1]
                    step = _FlowStep(
                        edge.source, EdgeKind.FLOWS_TO, "returned", site.line, confidence
                    )
                    result = ValueOrigin("result", str(number))
                    yield _Transition(
                        _State(edge.source, result, may_return=True), confidence, step
                    )

    def _through_field(self, state: _State, move: ValueMove) -> Iterator[_Transition]:
        """Other methods of the class and its subclasses may read the field."""
        owner = state.node.rpartition(".")[0]
        if SYMBOL_MARK not in owner:
            return
        for holder in (owner, *self._subclasses_of(owner)):
            path, _, qualname = holder.partition(SYMBOL_MARK)
            readers = self._files.readers(path, move.sink.name, inside=qualname)
            yield from self._to_readers(state, readers, ValueOrigin("field", move.sink.name), move)

    def _through_variable(self, state: _State, move: ValueMove) -> Iterator[_Transition]:
        path = state.node.partition(SYMBOL_MARK)[0]
        readers = self._files.readers(path, move.sink.name)
        yield from self._to_readers(state, readers, ValueOrigin("variable", move.sink.name), move)

    def _to_readers(
        self, state: _State, readers: Iterator[str], origin: ValueOrigin, move: ValueMove
    ) -> Iterator[_Transition]:
        for node in readers:
            flow = self._files.flow(node) if node != state.node else None
            if flow is not None and origin in flow.moves:
                how = f"stored in {origin.name}"
                step = _FlowStep(node, EdgeKind.FLOWS_TO, how, move.line, _BY_FIELD)
                yield _Transition(_State(node, origin, may_return=True), _BY_FIELD, step)

    # -- Returned arguments -----------------------------------------------------------------------

    def _may_return(self, node: str, parameter: str, depth: int = 0) -> bool:
        """Whether a function may return its argument."""
        key = (node, parameter)
        flow = self._files.flow(node)
        known = self._returns_argument
        if key in known or flow is None or depth > _MAX_RETURN_DEPTH:
            return known.get(key, flow is None)
        # Stored before following calls, so that recursion ends.
        known[key] = _returns(flow, ValueOrigin("parameter", parameter))
        known[key] = known[key] or self._reaches_return(node, flow, parameter, depth)
        return known[key]

    def _reaches_return(self, node: str, flow: FunctionFlow, parameter: str, depth: int) -> bool:
        waiting = [ValueOrigin("parameter", parameter)]
        seen = set(waiting)
        while waiting:
            for move in _moves(flow, waiting.pop()):
                result = ValueOrigin("result", str(move.sink.call))
                if move.sink.kind != "argument" or result in seen:
                    continue
                if self._callee_returns(node, flow, move, depth):
                    if _returns(flow, result):
                        return True
                    waiting.append(result)
                    seen.add(result)
        return False

    def _callee_returns(self, node: str, flow: FunctionFlow, move: ValueMove, depth: int) -> bool:
        called = self._callees(node, flow, move.sink)
        return not called or any(
            _is_constructor(callee) or self._may_return(callee, name, depth + 1)
            for callee, _ in called
            for name in _parameters_for(self._files.flow(callee), move.sink.name)
        )


def _extended(path: FlowPath, transition: _Transition) -> FlowPath:
    """The path after a transition. Confidence lost since the last step counts for the next one."""
    total = path.confidence * transition.confidence
    if transition.step is None:
        return FlowPath(path.start, path.steps, total)
    own = total / prod(step.confidence for step in path.steps)
    step = transition.step._replace(confidence=own)
    return FlowPath(path.start, (*path.steps, step), total)


def _moves(flow: FunctionFlow, origin: ValueOrigin) -> Sequence[ValueMove]:
    if origin != _ANY:
        return flow.moves.get(origin, ())
    own = ValueOrigin("parameter", SELF)
    return [move for at, moves in flow.moves.items() if at != own for move in moves]


def _returns(flow: FunctionFlow, origin: ValueOrigin) -> bool:
    return any(move.sink.kind == "return" for move in _moves(flow, origin))


def _parameters_for(flow: FunctionFlow | None, key: str) -> list[str]:
    """The parameters that an argument may become."""
    if key == RECEIVER:
        return [SELF]
    if flow is None:
        return [key]
    if key == SPREAD:
        return [names[0] for names in flow.parameters]
    name = flow.parameter(key)
    return [] if name is None else list(flow.aliases(name) if not key.isidentifier() else [name])


def _is_constructor(node: str) -> bool:
    """Whether a function creates an object, which then holds its arguments."""
    owner, _, name = node.rpartition(SYMBOL_MARK)[2].rpartition(".")
    return name in CONSTRUCTORS or (bool(owner) and owner.rpartition(".")[2] == name)
