"""Code graph operations: impact, dependencies, data flow."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from wellkept.api.operations import argument_names
from wellkept.api.operations.inputs import Input, Model
from wellkept.api.operations.outputs import Output
from wellkept.context.packing import quoted
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.core.graph import LinkedMemory, ReachedNode, TraceStep

_LISTED = 40
_UNRESOLVED = 8


class AboutInput(Input):
    """A file, symbol, folder or module."""

    synonyms: ClassVar[Mapping[str, str]] = argument_names.SUBJECT

    name: str = Field(
        min_length=1,
        description="A file path, path::Class.method, a symbol's name, a folder/ or module:name.",
    )


class ImpactInput(AboutInput):
    """A question for what a change touches."""

    max_depth: int = Field(default=3, ge=1, le=3)


class DependenciesInput(AboutInput):
    """A question for what something depends on."""

    max_depth: int = Field(default=3, ge=1, le=3)
    reverse: bool = Field(default=False, description="What depends on it instead.")


class DataFlowInput(AboutInput):
    """A question for where values go."""

    to: str = Field(default="", description="Only ways that lead to this file or symbol.")
    value: str = Field(default="", description="Only this parameter, variable or field of it.")
    max_depth: int = Field(default=3, ge=1, le=6)


class ReachedOutput(Model):
    """Something a walk came to."""

    id: str
    depth: int
    score: float
    how: str

    @classmethod
    def of(cls, reached: ReachedNode) -> ReachedOutput:
        """The same as the library gives it."""
        return cls(
            id=reached.node.id,
            depth=reached.depth,
            score=round(reached.score, 2),
            how=reached.kind.value,
        )

    def line(self) -> str:
        """One line."""
        return f"{self.depth} {self.score:.2f} {self.how} {self.id}"


class LinkedMemoryOutput(Model):
    """A memory that is tied to what is touched."""

    id: str
    type: str
    content: str

    @classmethod
    def of(cls, memory: LinkedMemory) -> LinkedMemoryOutput:
        """The same as the library gives it."""
        return cls(id=memory.id, type=memory.type, content=quoted(memory.text))


class ImpactOutput(Output):
    """What a change may touch."""

    target: str
    score: float
    touched: list[ReachedOutput]
    reached_count: int = Field(description="All that was reached; touched lists the nearest.")
    file_count: int
    files: list[str]
    tests: list[str] = Field(default_factory=list)
    memories: list[LinkedMemoryOutput] = Field(default_factory=list[LinkedMemoryOutput])
    e2e_observations: list[LinkedMemoryOutput] = Field(default_factory=list[LinkedMemoryOutput])
    unresolved_count: int = Field(
        default=0,
        description="Calls of the method's name on values of unknown type: some may be calls of "
        "it; unresolved_calls lists the nearest.",
    )
    unresolved_calls: list[str] = Field(default_factory=list)
    stale_files: list[str] = Field(default_factory=list)

    def text(self) -> str:
        head = (
            f"{self.target}: impact {self.score:.2f}, {self.reached_count} reached"
            f" in {counted(self.file_count, 'file')}"
        )
        lines = [head, *(item.line() for item in self.touched)]
        lines += [f"test: {path}" for path in self.tests]
        lines += [
            f"[m:{m.id}] {m.type}: {m.content}" for m in (*self.memories, *self.e2e_observations)
        ]
        if self.unresolved_count:
            shown = ", ".join(self.unresolved_calls)
            lines.append(f"unresolved, may be calls of it ({self.unresolved_count}): {shown}")
        lines += [f"changed since it was read: {path}" for path in self.stale_files]
        return "\n".join(lines)


class DependenciesOutput(Output):
    """What something depends on, or what depends on it."""

    target: str
    touched: list[ReachedOutput]
    reached_count: int = Field(description="All that was reached; touched lists the nearest.")
    file_count: int
    files: list[str]
    stale_files: list[str] = Field(default_factory=list)

    def text(self) -> str:
        head = f"{self.target}: {self.reached_count} reached in {counted(self.file_count, 'file')}"
        lines = [head, *(t.line() for t in self.touched)]
        lines += [f"changed since it was read: {path}" for path in self.stale_files]
        return "\n".join(lines)


class FlowStepOutput(Model):
    """A value comes to a function. The line is in the function before, or for a result in this."""

    id: str
    how: str
    line: int

    @classmethod
    def of(cls, step: TraceStep) -> FlowStepOutput:
        """The same as the library gives it."""
        return cls(id=step.node.id, how=step.how or step.kind.value, line=step.line)


class FlowPathOutput(Model):
    """One way, as sure as all of its steps together."""

    confidence: float
    steps: list[FlowStepOutput]


class DataFlowOutput(Output):
    """Ways that values take."""

    start: str
    ways: list[FlowPathOutput]
    is_whole: bool = Field(default=True, description="Not when there was too much to follow.")
    stale_files: list[str] = Field(default_factory=list)

    def text(self) -> str:
        if not self.ways:
            return f"{self.start}: no way was found."
        lines = [
            f"{way.confidence:.2f} "
            + " -> ".join([self.start, *(f"{s.id} ({s.how})" for s in way.steps)])
            for way in self.ways
        ]
        lines += [] if self.is_whole else ["(more than this was not followed)"]
        lines += [f"changed since it was read: {path}" for path in self.stale_files]
        return "\n".join(lines)


def analyze_impact(wk: Wellkept, request: ImpactInput) -> ImpactOutput:
    """What a change of something may touch."""
    found = wk.graph.impact(request.name, depth=request.max_depth, limit=_LISTED)
    return ImpactOutput(
        target=found.target.id,
        score=found.score,
        touched=[ReachedOutput.of(r) for r in (*found.direct, *found.transitive)],
        reached_count=found.reached_count,
        file_count=len(found.files),
        files=list(found.files[:_LISTED]),
        tests=list(found.tests[:_LISTED]),
        memories=[LinkedMemoryOutput.of(m) for m in found.memories],
        e2e_observations=[LinkedMemoryOutput.of(m) for m in found.e2e_observations],
        unresolved_count=len(found.unresolved),
        unresolved_calls=[
            f"{call.path}:{call.line} {call.callee}" for call in found.unresolved[:_UNRESOLVED]
        ],
        stale_files=list(found.stale_files),
    )


def get_dependencies(wk: Wellkept, request: DependenciesInput) -> DependenciesOutput:
    """What something depends on, or what depends on it."""
    ask = wk.graph.dependents if request.reverse else wk.graph.dependencies
    found = ask(request.name, depth=request.max_depth, limit=_LISTED)
    return DependenciesOutput(
        target=found.target.id,
        touched=[ReachedOutput.of(r) for r in (*found.direct, *found.transitive)],
        reached_count=found.reached_count,
        file_count=len(found.files),
        files=list(found.files[:_LISTED]),
        stale_files=list(found.stale_files),
    )


def trace_data_flow(wk: Wellkept, request: DataFlowInput) -> DataFlowOutput:
    """Where values go: as arguments, results and fields, and over noted flows."""
    found = wk.graph.trace(
        request.name, to=request.to or None, value=request.value, depth=request.max_depth
    )
    ways = [
        FlowPathOutput(
            confidence=round(prod(step.confidence for step in path), 2),
            steps=[FlowStepOutput.of(step) for step in path],
        )
        for path in found.paths
    ]
    return DataFlowOutput(
        start=found.start.id,
        ways=ways,
        is_whole=found.is_whole,
        stale_files=list(found.stale_files),
    )
