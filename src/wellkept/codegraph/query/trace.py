"""Follows values from function to function, the surest ways first.

A value goes down into a callee as an argument, comes back as its result when the callee gives it
back, goes up to the callers of where it began, and from one method to another by a field. A way
goes up before it goes down, never down into a function and out to some other caller of it. Each
step makes the way less sure: by how sure the call is, and by what had to be assumed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count
from math import prod
from typing import NamedTuple

from wellkept.codegraph.query.dataflow import (
    RECEIVER,
    SELF,
    FunctionFlow,
    ValueMove,
    ValueOrigin,
    ValueSink,
)
from wellkept.codegraph.query.dataflow_files import FlowFiles
from wellkept.codegraph.query.dataflow_syntax import SPREAD
from wellkept.core.graph import SYMBOL_MARK, Edge, EdgeKind, NodeKind
from wellkept.core.ports.graph import GraphStore

CONSTRUCTORS = frozenset({"__init__", "constructor", "initialize", "__construct"})
NOTED_WAYS = frozenset(
    {EdgeKind.FLOWS_TO, EdgeKind.IS_ENTRYPOINT_FOR, EdgeKind.HANDLES_ERRORS_FROM}
)
_INHERITS = frozenset({EdgeKind.EXTENDS, EdgeKind.IMPLEMENTS})
_ANY = ValueOrigin("variable", "*")
"""Stands for everything that a function handles."""
_THROUGH_UNKNOWN = 0.8
"""What is outside of the tree is taken to give its arguments back, changed or not."""
_GIVEN_BACK = 0.95
_BY_FIELD = 0.7
"""Nobody knows whether the reader of a field runs after its writer, and on the same object."""
_BY_PART = 0.75
"""A member of an object that holds a value need not be that value."""
_BY_OVERRIDE = 0.5
_BY_TYPE = 0.85
_LEAST = 0.05
_MOST_FUNCTIONS, _MOST_VALUES = 300, 5_000
_DEEPEST_RETURN = 4


class FlowStep(NamedTuple):
    """A value comes to a function: how, and in which line of the function it comes from, or for a
    result, of the one it comes to."""

    node: str
    kind: EdgeKind
    how: str
    line: int
    confidence: float


class FlowPath(NamedTuple):
    """Hops from a start; the confidence is that of all of them together."""

    start: str
    hops: tuple[FlowStep, ...]
    confidence: float


class _At(NamedTuple):
    """A value at its origin in a function, and whether it may still go up to callers."""

    node: str
    origin: ValueOrigin
    rises: bool


class _Next(NamedTuple):
    at: _At
    confidence: float
    hop: FlowStep | None = None


class Tracer:
    """Ways of values in one tree."""

    def __init__(
        self, store: GraphStore, tree: str, files: FlowFiles, *, is_left_out: Callable[[str], bool]
    ) -> None:
        self._store = store
        self._tree = tree
        self._files = files
        self._is_left_out = is_left_out
        self._gives: dict[tuple[str, str], bool] = {}
        self._notes: dict[str, list[Edge]] = {}
        self._classes: dict[str, list[str]] = {}
        self.cut = False
        """Whether there was more to look into than anybody waits for."""

    def ways(
        self, starts: Collection[str], *, ends: Collection[str] | None, depth: int, value: str = ""
    ) -> list[FlowPath]:
        """The surest way to each end, or to each function from which no value goes on."""
        starts, ends = set(starts), None if ends is None else set(ends)
        reached: dict[str, FlowPath] = {}
        passed: set[str] = set()
        best: dict[_At, float] = {}
        ticket = count()
        queue: list[tuple[float, int, _At, FlowPath]] = []
        for start in starts:
            origin = ValueOrigin("local", value) if value else _ANY
            first = _At(start, origin, rises=True)
            heapq.heappush(queue, (-1.0, next(ticket), first, FlowPath(start, (), 1.0)))
        while queue:
            if self._files.count > _MOST_FUNCTIONS or len(best) > _MOST_VALUES:
                self.cut = True
                break
            _, _, at, way = heapq.heappop(queue)
            if best.get(at, 0.0) >= way.confidence:
                continue
            best[at] = way.confidence
            if way.hops and at.node not in reached and at.node not in starts:
                reached[at.node] = way
                passed.update(hop.node for hop in way.hops[:-1])
            if ends is not None and at.node in ends and way.hops:
                continue
            for step in self._next(at, value if at.node == way.start else ""):
                longer = _longer(way, step)
                if step.hop is not None and self._is_left_out(step.hop.node):
                    continue
                if longer.confidence >= _LEAST and len(longer.hops) <= depth:
                    heapq.heappush(queue, (-longer.confidence, next(ticket), step.at, longer))
        last = ends if ends is not None else reached.keys() - passed
        found = [way for node, way in reached.items() if node in last]
        return sorted(found, key=lambda way: (-way.confidence, len(way.hops), way.hops[-1].node))

    # -- One step ---------------------------------------------------------------------------------

    def _next(self, at: _At, watched: str) -> Iterator[_Next]:
        yield from self._noted(at)
        flow = self._files.flow(at.node, watched=watched)
        if flow is None:
            return
        if at.origin == _ANY and flow.gives:  # what it gives need not come from anywhere
            yield from self._returned(at)
        for move in _moves(flow, at.origin):
            sure = _BY_PART if move.is_part else 1.0
            for step in self._moved(at, flow, move):
                yield step._replace(confidence=step.confidence * sure)

    def _moved(self, at: _At, flow: FunctionFlow, move: ValueMove) -> Iterator[_Next]:
        match move.sink.kind:
            case "argument":
                yield from self._passed(at, flow, move)
            case "return" if at.rises and at.origin != _ANY:
                yield from self._returned(at)
            case "field":
                yield from self._kept(at, move)
            case "variable":
                yield from self._shared(at, move)
            case _:
                return

    def _noted(self, at: _At) -> Iterator[_Next]:
        """What somebody noted about a function or about its file."""
        path = at.node.partition(SYMBOL_MARK)[0]
        for node in dict.fromkeys((at.node, path)):
            if node not in self._notes:
                edges = self._store.edges(self._tree, sources=[node])
                self._notes[node] = [edge for edge in edges if edge.kind in NOTED_WAYS]
            for edge in self._notes[node]:
                hop = FlowStep(edge.target, edge.kind, "noted", edge.line, edge.confidence)
                yield _Next(_At(edge.target, _ANY, rises=True), edge.confidence, hop)

    def _passed(self, at: _At, flow: FunctionFlow, move: ValueMove) -> Iterator[_Next]:
        """An argument goes into whoever may be called, and perhaps comes back as the result."""
        result = _At(at.node, ValueOrigin("result", str(move.sink.call)), at.rises)
        called = self._callees(at.node, flow, move.sink)
        if not called:
            yield _Next(result, _THROUGH_UNKNOWN)
        for node, sure in called:
            taker = self._files.flow(node)
            for name in _takers(taker, move.sink.name):
                how = "its object" if name == SELF else f"passed as {name}"
                hop = FlowStep(node, EdgeKind.FLOWS_TO, how, move.line, sure)
                yield _Next(_At(node, ValueOrigin("parameter", name), rises=False), sure, hop)
                if _makes(node) or self._gives_back(node, name):
                    yield _Next(result, sure * _GIVEN_BACK)

    def _callees(self, node: str, flow: FunctionFlow, sink: ValueSink) -> list[tuple[str, float]]:
        """The functions that a call may run: the one that is meant, and what overrides it."""
        callee = flow.sites[sink.call].callee
        meant = self._files.called(node, callee) or self._by_result(node, flow, sink.call)
        if meant is None:
            return []
        target, sure = meant
        if self._files.has(target) or self._is_function(target):
            return [meant, *((other, sure * _BY_OVERRIDE) for other in self._overriding(target))]
        name = target.rpartition(SYMBOL_MARK)[2].rpartition(".")[2]
        made = [f"{target}.{maker}" for maker in (*sorted(CONSTRUCTORS), name)]
        return [(maker, sure) for maker in made if self._files.has(maker)]

    def _is_function(self, target: str) -> bool:
        """Whether it is one by the graph; its file may have changed since."""
        node = self._store.nodes(self._tree, [target]).get(target)
        return node is not None and node.kind is NodeKind.FUNCTION

    def _by_result(self, node: str, flow: FunctionFlow, call: int) -> tuple[str, float] | None:
        """A method of what another call says to give back."""
        name = flow.sites[call].callee.rpartition(".")[2]
        receiver = ValueSink("argument", RECEIVER, call)
        for origin, moves in flow.moves.items():
            if origin.kind == "result" and any(move.sink == receiver for move in moves):
                maker = self._files.called(node, flow.sites[int(origin.name)].callee)
                owner = self._files.given_class(maker[0]) if maker is not None else None
                method = self._method(owner, name) if owner is not None else None
                if maker is not None and method is not None:
                    return method, maker[1] * _BY_TYPE
        return None

    def _method(self, owner: str, name: str) -> str | None:
        """A method of a class or of one above it."""
        line, seen = [owner], {owner}
        for current in line:
            if self._files.has(f"{current}.{name}"):
                return f"{current}.{name}"
            edges = self._store.edges(self._tree, sources=[current])
            above = [e.target for e in edges if e.kind in _INHERITS and e.target not in seen]
            line += above
            seen.update(above)
        return None

    def _overriding(self, method: str) -> list[str]:
        """Methods of the same name in classes below."""
        owner, _, name = method.rpartition(".")
        if SYMBOL_MARK not in owner:
            return []
        return [m for below in self._below(owner) if self._files.has(m := f"{below}.{name}")]

    def _below(self, owner: str) -> list[str]:
        """Classes that extend or implement one, directly or not."""
        if owner in self._classes:
            return self._classes[owner]
        found: dict[str, None] = {}
        waiting = [owner]
        while waiting:
            edges = self._store.edges(self._tree, targets=waiting)
            new = [e.source for e in edges if e.kind in _INHERITS and e.source not in found]
            found.update(dict.fromkeys(new))
            waiting = new
        self._classes[owner] = list(found)
        return self._classes[owner]

    def _returned(self, at: _At) -> Iterator[_Next]:
        """What a function gives back goes to its callers."""
        for edge in self._store.edges(self._tree, targets=[at.node]):
            if edge.kind is not EdgeKind.CALLS or self._is_left_out(edge.source):
                continue
            flow = self._files.flow(edge.source)
            for number, site in enumerate(flow.sites if flow is not None else ()):
                meant = self._files.called(edge.source, site.callee)
                if meant is not None and meant[0] == at.node:
                    hop = FlowStep(edge.source, EdgeKind.FLOWS_TO, "returned", site.line, meant[1])
                    result = ValueOrigin("result", str(number))
                    yield _Next(_At(edge.source, result, rises=True), meant[1], hop)

    def _kept(self, at: _At, move: ValueMove) -> Iterator[_Next]:
        """A field is read by other methods of its class and of classes below."""
        owner = at.node.rpartition(".")[0]
        if SYMBOL_MARK not in owner:
            return
        for holder in (owner, *self._below(owner)):
            path, _, qualname = holder.partition(SYMBOL_MARK)
            readers = self._files.readers(path, move.sink.name, inside=qualname)
            yield from self._read_by(at, readers, ValueOrigin("field", move.sink.name), move)

    def _shared(self, at: _At, move: ValueMove) -> Iterator[_Next]:
        path = at.node.partition(SYMBOL_MARK)[0]
        readers = self._files.readers(path, move.sink.name)
        yield from self._read_by(at, readers, ValueOrigin("variable", move.sink.name), move)

    def _read_by(
        self, at: _At, readers: Iterator[str], origin: ValueOrigin, move: ValueMove
    ) -> Iterator[_Next]:
        for node in readers:
            flow = self._files.flow(node) if node != at.node else None
            if flow is not None and origin in flow.moves:
                how = f"kept in {origin.name}"
                hop = FlowStep(node, EdgeKind.FLOWS_TO, how, move.line, _BY_FIELD)
                yield _Next(_At(node, origin, rises=True), _BY_FIELD, hop)

    # -- What comes back --------------------------------------------------------------------------

    def _gives_back(self, node: str, parameter: str, depth: int = 0) -> bool:
        """Whether a function's result may hold what it was given."""
        spot = (node, parameter)
        flow = self._files.flow(node)
        if spot in self._gives or flow is None or depth > _DEEPEST_RETURN:
            return self._gives.get(spot, flow is None)
        # A circle adds nothing to what is found by going around it once.
        self._gives[spot] = _returns(flow, ValueOrigin("parameter", parameter))
        self._gives[spot] = self._gives[spot] or self._reaches_return(node, flow, parameter, depth)
        return self._gives[spot]

    def _reaches_return(self, node: str, flow: FunctionFlow, parameter: str, depth: int) -> bool:
        waiting = [ValueOrigin("parameter", parameter)]
        seen = set(waiting)
        while waiting:
            for move in _moves(flow, waiting.pop()):
                result = ValueOrigin("result", str(move.sink.call))
                if move.sink.kind != "argument" or result in seen:
                    continue
                if self._comes_back(node, flow, move, depth):
                    if _returns(flow, result):
                        return True
                    waiting.append(result)
                    seen.add(result)
        return False

    def _comes_back(self, node: str, flow: FunctionFlow, move: ValueMove, depth: int) -> bool:
        called = self._callees(node, flow, move.sink)
        return not called or any(
            _makes(callee) or self._gives_back(callee, name, depth + 1)
            for callee, _ in called
            for name in _takers(self._files.flow(callee), move.sink.name)
        )


def _longer(way: FlowPath, step: _Next) -> FlowPath:
    """The way with one step more. What had to be assumed since the last hop counts to the next."""
    confidence = way.confidence * step.confidence
    if step.hop is None:
        return FlowPath(way.start, way.hops, confidence)
    sure = confidence / prod(hop.confidence for hop in way.hops)
    return FlowPath(way.start, (*way.hops, step.hop._replace(confidence=sure)), confidence)


def _moves(flow: FunctionFlow, origin: ValueOrigin) -> Sequence[ValueMove]:
    if origin != _ANY:
        return flow.moves.get(origin, ())
    own = ValueOrigin("parameter", SELF)
    return [move for at, moves in flow.moves.items() if at != own for move in moves]


def _returns(flow: FunctionFlow, origin: ValueOrigin) -> bool:
    return any(move.sink.kind == "return" for move in _moves(flow, origin))


def _takers(flow: FunctionFlow | None, key: str) -> list[str]:
    """The parameters that an argument may become."""
    if key == RECEIVER:
        return [SELF]
    if flow is None:
        return [key]
    if key == SPREAD:
        return [names[0] for names in flow.parameters]
    name = flow.parameter(key)
    return [] if name is None else list(flow.same(name) if not key.isidentifier() else [name])


def _makes(node: str) -> bool:
    """Whether a function makes an object, which then holds what it was given."""
    owner, _, name = node.rpartition(SYMBOL_MARK)[2].rpartition(".")
    return name in CONSTRUCTORS or (bool(owner) and owner.rpartition(".")[2] == name)
