"""Records of the code graph: nodes, edges, query results, build progress.

An edge points from the dependent to the dependency, so "who is affected by X" follows edges
backwards from X. Ids are readable names:

    src/app/db.py                 a file              src/app/          a directory
    src/app/db.py::Pool.take      a symbol in a file  module:app.db     a module or package
    decision:one-writer           a pattern, data flow, invariant or decision noted by a user

Does not know parsers or storage. Memories appear in results only as `LinkedMemory`.
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
MAX_DEPTH: Final = 3
"""Deepest traversal of impact and dependency queries."""


class NodeKind(StrEnum):
    """Kind of a node."""

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
    """Kind of a dependency. The first five are extracted from source."""

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
"""Share of an impact that passes along an edge, by kind."""

NOTED_KINDS: Final = frozenset(
    {NodeKind.PATTERN, NodeKind.DATAFLOW, NodeKind.INVARIANT, NodeKind.DECISION}
)
"""Kinds of nodes that users add. They are not extracted from source."""


@record(kw_only=True)
class Node:
    """One node. `detail` is the language's own term, such as "trait"."""

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
    """`source` depends on `target`. `confidence` is the probability that the link is right."""

    source: str
    target: str
    kind: EdgeKind
    confidence: float = 1.0
    auto: bool = True
    """Extracted from source. False for links that a user added."""
    line: int = 0

    @property
    def weight(self) -> float:
        """Share of an impact on the target that reaches the source."""
        return EDGE_WEIGHTS[self.kind]


class FileState(StrEnum):
    """Analysis state of a file."""

    ANALYSED = "analysed"
    PARTLY = "partly"  # syntax errors; the graph has what could be parsed
    SKIPPED = "skipped"  # on purpose: generated, vendored, minified, too large, binary
    FAILED = "failed"  # unreadable, or the parser timed out or crashed


@record(kw_only=True)
class SourceFile:
    """A file as last seen. `reason` says why it was skipped or failed. `analysed_at` is when it was
    parsed, or last confirmed to be unchanged."""

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


# -- Query results --------------------------------------------------------------------------------


@record(kw_only=True)
class LinkedMemory:
    """Summary of a memory that names files of the graph."""

    id: str
    type: str
    text: str
    files: tuple[str, ...] = ()


@record(kw_only=True)
class ReachedNode:
    """A node reached by a traversal: depth, score, and the last edge."""

    node: Node
    depth: int
    score: float
    kind: EdgeKind
    through: str
    """Id of the previous node on the path."""


@record(kw_only=True)
class UnresolvedCall:
    """A call as written, whose receiver has an unknown type: no edge stands for it."""

    path: str
    line: int
    caller: str
    callee: str


@record(kw_only=True)
class Impact:
    """What a change of the target may affect. `score` is 0 when nothing depends on it, and nears 1
    with more and stronger dependents."""

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
    """All nodes reached, including those cut by the limit."""
    unresolved: tuple[UnresolvedCall, ...] = ()
    """Calls that may be calls of the target, a method, but could not be resolved."""
    stale_files: tuple[str, ...] = ()


@record(kw_only=True)
class Neighbours:
    """Dependencies or dependents of a node, direct ones first."""

    target: Node
    direct: tuple[ReachedNode, ...]
    transitive: tuple[ReachedNode, ...]
    files: tuple[str, ...]
    reached_count: int
    stale_files: tuple[str, ...] = ()


@record(kw_only=True)
class TraceStep:
    """One step of a trace. `how` says how the value moves, such as "passed as url". `line` is in
    the previous function, or in this one for "returned"."""

    kind: EdgeKind
    node: Node
    line: int = 0
    how: str = ""
    confidence: float = 1.0


@record(kw_only=True)
class Trace:
    """Paths of values from a node, the most certain first. Call paths if no value can be followed:
    then every step is a call."""

    start: Node
    target: Node | None
    paths: tuple[tuple[TraceStep, ...], ...]
    is_whole: bool = True
    """False when the search stopped at its limit."""
    stale_files: tuple[str, ...] = ()


@record(kw_only=True)
class Coverage:
    """Tests that reach a node, nearest first, and its symbols that no test reaches."""

    target: Node
    tests: tuple[ReachedNode, ...]
    test_files: tuple[str, ...]
    uncovered: tuple[str, ...]
    symbol_count: int


@record(kw_only=True)
class GraphStatus:
    """Counts and problems of the graph of one tree."""

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
    """Files without edges yet, because a build was interrupted."""
    built_at: datetime | None = None


class BuildStage(StrEnum):
    """Stage of a build."""

    WAIT = "wait"  # for another build of the same folder
    PARSE = "parse"
    LINK = "link"


@record(kw_only=True)
class BuildProgress:
    """Progress of a build, and the module it is working on."""

    stage: BuildStage
    done: int
    total: int
    module: str


@record(kw_only=True)
class BuildReport:
    """Result of a build. `reanalysed` counts files opened for parsing, even if then skipped.
    `relinked` counts files with new edges: changed files and those that depend on them."""

    seen: int = 0
    reanalysed: int = 0
    unchanged: int = 0
    removed: int = 0
    relinked: int = 0
    skipped: int = 0
    failed: tuple[SourceFile, ...] = ()
    unnameable: tuple[str, ...] = ()
    """Files left out because their names are not valid UTF-8."""
    seconds: float = 0.0
    parse_seconds: float = 0.0
    size_bytes: int = 0

    @property
    def read(self) -> int:
        """Files parsed: all that were seen, minus unchanged, skipped and unnameable ones."""
        return self.seen - self.unchanged - self.skipped - len(self.unnameable)
