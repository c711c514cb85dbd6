"""The code graph as records: what stands in a source tree, and what depends on what.

An edge points from what depends to what it depends on, so "who is affected by X" walks edges
backwards from X. Ids are names, not numbers, and say what they name:

    src/app/db.py                 a file              src/app/          a directory
    src/app/db.py::Pool.take      a symbol in a file  module:app.db     a module or package
    decision:one-writer           a pattern, data flow, invariant or decision somebody noted

Knows nothing of memories (an answer carries them as `LinkedMemory`), parsers or storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from wellkept.core.records import field, record

SYMBOL_MARK: Final = "::"
MODULE_PREFIX: Final = "module:"
DEEPEST: Final = 3
"""An impact is followed this far and no farther."""


class NodeKind(StrEnum):
    """What a node stands for."""

    FILE = "file"
    DIRECTORY = "directory"
    MODULE = "module"
    FUNCTION = "function"
    CLASS = "class"
    INTERFACE = "interface"
    PATTERN = "pattern"
    DATAFLOW = "dataflow"
    INVARIANT = "invariant"
    DECISION = "decision"


class EdgeKind(StrEnum):
    """How one node depends on another; the first five are read from source."""

    IMPORTS = "imports"
    CALLS = "calls"
    IMPLEMENTS = "implements"
    EXTENDS = "extends"
    EXPORTS = "exports"
    DEPENDS_LOGICALLY = "depends_logically"
    IS_ENTRYPOINT_FOR = "is_entrypoint_for"
    HANDLES_ERRORS_FROM = "handles_errors_from"
    APPLIES_PATTERN = "applies_pattern"
    FLOWS_TO = "flows_to"


EDGE_WEIGHTS: Final[Mapping[EdgeKind, float]] = MappingProxyType(
    {
        EdgeKind.IMPORTS: 0.9,
        EdgeKind.CALLS: 0.8,
        EdgeKind.IMPLEMENTS: 0.7,
        EdgeKind.EXTENDS: 0.7,
        EdgeKind.EXPORTS: 0.6,
        EdgeKind.DEPENDS_LOGICALLY: 0.5,
        EdgeKind.IS_ENTRYPOINT_FOR: 0.8,
        EdgeKind.HANDLES_ERRORS_FROM: 0.4,
        EdgeKind.APPLIES_PATTERN: 0.3,
        EdgeKind.FLOWS_TO: 0.6,
    }
)
"""How much of a change is felt across an edge of each kind."""

NOTED_KINDS: Final = frozenset(
    {NodeKind.PATTERN, NodeKind.DATAFLOW, NodeKind.INVARIANT, NodeKind.DECISION}
)
"""Kinds of nodes that are said by somebody instead of read from source."""


@record(kw_only=True)
class Node:
    """One thing in the graph. `detail` is what its language calls it, such as "trait"."""

    id: str
    kind: NodeKind
    name: str
    path: str | None = None
    qualname: str = ""
    line: int = 0
    end_line: int = 0
    language: str = ""
    detail: str = ""
    signature: str = ""
    module: str = ""
    is_exported: bool = False
    is_test: bool = False
    stale_at: datetime | None = None
    analysed_at: datetime | None = None


@record(kw_only=True)
class Edge:
    """`source` depends on `target`. `confidence` says how sure the link itself is."""

    source: str
    target: str
    kind: EdgeKind
    confidence: float = 1.0
    auto: bool = True
    """Read from source, not said by somebody."""
    line: int = 0

    @property
    def weight(self) -> float:
        """How much of a change of the target is felt at the source."""
        return EDGE_WEIGHTS[self.kind]


class FileState(StrEnum):
    """What became of a file."""

    ANALYSED = "analysed"
    PARTLY = "partly"  # it has syntax errors; what could be read is in the graph
    SKIPPED = "skipped"  # on purpose: generated, vendored, minified, too large, binary
    FAILED = "failed"  # the parser gave up, took too long or crashed


@record(kw_only=True)
class SourceFile:
    """A file of the tree as it was last seen. `reason` says why it was skipped or failed,
    `analysed_at` when it was read, or found to be as it had been read."""

    path: str
    language: str
    content_hash: str
    size_bytes: int
    mtime_ns: int
    line_count: int = 0
    state: FileState = FileState.ANALYSED
    reason: str = ""
    module: str = ""
    is_test: bool = False
    stale_at: datetime | None = None
    analysed_at: datetime | None = None


# -- Answers --------------------------------------------------------------------------------------


@record(kw_only=True)
class LinkedMemory:
    """A memory that is tied to something in the graph, as far as the graph cares."""

    id: str
    type: str
    text: str
    files: tuple[str, ...] = ()


@record(kw_only=True)
class ReachedNode:
    """A node that a walk came to: how far, how strongly, and over which last step."""

    node: Node
    depth: int
    score: float
    kind: EdgeKind
    through: str
    """The id of the node one step nearer to the start."""


@record(kw_only=True)
class Impact:
    """What a change of the target may touch. `score` is 0 when nothing depends on it and nears 1
    the more files do, and the more strongly."""

    target: Node
    direct: tuple[ReachedNode, ...]
    transitive: tuple[ReachedNode, ...]
    files: tuple[str, ...]
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    memories: tuple[LinkedMemory, ...] = ()
    e2e_observations: tuple[LinkedMemory, ...] = ()
    score: float
    reached_count: int
    """How many nodes were reached; more than listed when the answer was cut to a limit."""
    stale_files: tuple[str, ...] = ()


@record(kw_only=True)
class Neighbours:
    """What a node depends on, or what depends on it, direct ones first."""

    target: Node
    direct: tuple[ReachedNode, ...]
    transitive: tuple[ReachedNode, ...]
    files: tuple[str, ...]
    reached_count: int
    stale_files: tuple[str, ...] = ()


@record(kw_only=True)
class TraceStep:
    """One step of a trace: over which kind of edge, to which node. `how` says how a value gets
    there, such as "passed as url"; `line` is where, in the function before or, for "returned", in
    this one."""

    kind: EdgeKind
    node: Node
    line: int = 0
    how: str = ""
    confidence: float = 1.0


@record(kw_only=True)
class Trace:
    """Ways that values take from a node, the surest first. Where no value could be followed they
    are ways of calls: then every step is of that kind."""

    start: Node
    target: Node | None
    paths: tuple[tuple[TraceStep, ...], ...]
    is_whole: bool = True
    """Not when there was more to look into than anybody waits for."""
    stale_files: tuple[str, ...] = ()


@record(kw_only=True)
class Coverage:
    """The tests that reach a node, nearest first, and the symbols inside it that none reaches."""

    target: Node
    tests: tuple[ReachedNode, ...]
    test_files: tuple[str, ...]
    uncovered: tuple[str, ...]
    symbol_count: int


@record(kw_only=True)
class GraphStatus:
    """How much of a tree is known."""

    files: int = 0
    lines: int = 0
    size_bytes: int = 0
    nodes: Mapping[str, int] = field(default_factory=dict[str, int])
    edges: Mapping[str, int] = field(default_factory=dict[str, int])
    languages: Mapping[str, int] = field(default_factory=dict[str, int])
    stale: tuple[str, ...] = ()
    skipped: tuple[SourceFile, ...] = ()
    failed: tuple[SourceFile, ...] = ()
    unresolved: int = 0
    """Files whose edges are still to be drawn: a build was interrupted."""
    built_at: datetime | None = None


class BuildStage(StrEnum):
    """What a build is at."""

    WAIT = "wait"  # for another build of the same folder
    PARSE = "parse"
    DRAW = "draw"


@record(kw_only=True)
class BuildProgress:
    """How far a build is, and the module it is at."""

    stage: BuildStage
    done: int
    total: int
    module: str


@record(kw_only=True)
class BuildReport:
    """What a build did. `reanalysed` were opened to be parsed, also those that were then skipped;
    `redrawn` got new edges, which includes files that did not change but depend on one that did.
    """

    seen: int = 0
    reanalysed: int = 0
    unchanged: int = 0
    removed: int = 0
    redrawn: int = 0
    skipped: int = 0
    failed: tuple[SourceFile, ...] = ()
    unnameable: tuple[str, ...] = ()
    """Files whose names are no valid text; they are left out."""
    seconds: float = 0.0
    parse_seconds: float = 0.0
    size_bytes: int = 0

    @property
    def read(self) -> int:
        """Files taken up: with those unchanged, skipped and unnameable, they are all that were
        seen."""
        return self.seen - self.unchanged - self.skipped - len(self.unnameable)
