"""Records of the code graph: nodes, edges, query results, build progress.

An edge points from the dependent to the dependency, so "who is affected by X" follows edges
backwards from X. Ids are readable names:

    src/app/db.py                 a file              src/app/          a directory
    src/app/db.py::Pool.take      a symbol in a file  module:app.db     a module or package
    decision:one-writer           a pattern, data flow, invariant or decision noted by a user

Does not know parsers or storage. Memories appear in results only as `LinkedMemory`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from math import prod
from types import MappingProxyType
from typing import Final

from wellkept.core.records import field, record
from wellkept.core.session.injected_text import quoted
from wellkept.core.text import counted

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

_MAX_LISTED: Final = 40
_MAX_NAMED: Final = 5


def _listed(title: str, lines: Sequence[str], *, limit: int = _MAX_LISTED) -> Iterator[str]:
    """A titled list, shortened."""
    if lines:
        yield f"{title} ({len(lines)}):"
        yield from (f"  {line}" for line in lines[:limit])
    if len(lines) > limit:
        yield f"  and {len(lines) - limit} more; all are in the JSON"


def _stale_note(files: Sequence[str]) -> tuple[str, ...]:
    """What is said of files that changed since the last build."""
    if not files:
        return ()
    more = f" and {len(files) - _MAX_NAMED} more" if len(files) > _MAX_NAMED else ""
    named = ", ".join(files[:_MAX_NAMED])
    return (f"Changed since the last build: {named}{more}. Run `wellkept graph build`.",)


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
class CodeUsers:
    """The files that use a file or symbol directly, and of these the tests apart."""

    name: str
    path: str
    files: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


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

    def as_line(self) -> str:
        """Depth, score, edge and node."""
        return f"{self.depth} {self.score:.2f} {self.kind.value} {self.node.id}"


def _reached_lines(found: Iterable[ReachedNode], *, of: int) -> list[str]:
    lines = [one.as_line() for one in found]
    return [*lines, f"{of - len(lines)} more; raise the limit"] if len(lines) < of else lines


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

    @property
    def notes(self) -> tuple[str, ...]:
        """What may be out of date."""
        return _stale_note(self.stale_files)

    def as_text(self) -> str:
        """What is reached, the tests, and what is known about it."""
        calls = [f"{one.path}:{one.line} {one.callee}" for one in self.unresolved]
        tied = (*self.memories, *self.e2e_observations)
        rest = [path for path in self.files if path not in set(self.tests)]
        return "\n".join(
            [
                f"{self.target.id}: impact {self.score:.2f}, {self.reached_count} reached"
                f" in {counted(len(self.files), 'file')}",
                *_reached_lines((*self.direct, *self.transitive), of=self.reached_count),
                *_listed("Files", rest),
                *(f"test: {path}" for path in self.tests[:_MAX_LISTED]),
                *(f"[m:{one.id}] {one.type}: {quoted(one.text)}" for one in tied),
                *_listed("Unresolved, may be calls of it", calls, limit=8),
            ]
        )


@record(kw_only=True)
class Neighbours:
    """Dependencies or dependents of a node, direct ones first."""

    target: Node
    direct: tuple[ReachedNode, ...]
    transitive: tuple[ReachedNode, ...]
    files: tuple[str, ...]
    reached_count: int
    stale_files: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What may be out of date."""
        return _stale_note(self.stale_files)

    def as_text(self) -> str:
        """What is reached, nearest first."""
        head = f"{self.target.id}: {self.reached_count} reached"
        found = _reached_lines((*self.direct, *self.transitive), of=self.reached_count)
        return "\n".join([f"{head} in {counted(len(self.files), 'file')}", *found])


@record(kw_only=True)
class TraceStep:
    """One step of a trace. `how` says how the value moves, such as "passed as url". `line` is in
    the previous function, or in this one for "returned"."""

    kind: EdgeKind
    node: Node
    line: int = 0
    how: str = ""
    confidence: float = 1.0

    def as_text(self) -> str:
        """The node, and how the value comes to it."""
        where = f", line {self.line}" if self.line else ""
        return f"{self.node.id} ({self.how or self.kind.value}{where})"


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

    @property
    def notes(self) -> tuple[str, ...]:
        """What is missing, or may be out of date."""
        cut = "Incomplete: the search limit was reached. Narrow it with to or value."
        return (*(() if self.is_whole else (cut,)), *_stale_note(self.stale_files))

    def as_text(self) -> str:
        """One path a line, with its confidence: the product of its steps."""
        if not self.paths:
            return f"{self.start.id}: no way was found."
        return "\n".join(
            f"{prod(step.confidence for step in path):.2f} "
            + " -> ".join([self.start.id, *(step.as_text() for step in path)])
            for path in self.paths
        )


@record(kw_only=True)
class Coverage:
    """Tests that reach a node, nearest first, and its symbols that no test reaches."""

    target: Node
    tests: tuple[ReachedNode, ...]
    test_files: tuple[str, ...]
    uncovered: tuple[str, ...]
    symbol_count: int

    def as_text(self) -> str:
        """How many functions tests reach, and which they do not."""
        covered = self.symbol_count - len(self.uncovered)
        head = f"{self.target.id}: tests reach {covered} of {self.symbol_count} functions"
        lists = (*_listed("Tests", self.test_files), *_listed("Not reached", self.uncovered))
        return "\n".join([head, *lists])


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

    def as_text(self) -> str:
        """Size, and files that are skipped, failed or stale."""
        if not self.files:
            return (
                "No code graph for this folder. Run `wellkept graph build`."
                if self.built_at is None
                else "No supported source files in this folder."
            )
        built = f"{self.built_at:%Y-%m-%d %H:%M}" if self.built_at else "never finished"
        counts = {"Languages": self.languages, "Nodes": self.nodes, "Edges": self.edges}
        lines = [f"{counted(self.files, 'file')}, {counted(self.lines, 'line')}; built {built}"]
        for title, found in counts.items():
            lines.append(f"{title}: {', '.join(f'{name} {n}' for name, n in found.items())}")
        if self.unresolved:
            lines.append(f"{self.unresolved} files are not linked yet. Run `wellkept graph build`.")
        lines += _listed("Incomplete", _reasons(self.failed), limit=10)
        lines += _listed("Skipped", _reasons(self.skipped), limit=10)
        return "\n".join([*lines, *_listed("Stale", self.stale, limit=10)])


def _reasons(files: Iterable[SourceFile]) -> list[str]:
    return [f"{file.path}: {file.reason}" for file in files]


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

    def as_text(self) -> str:
        """What was read, and what could not be."""
        if not self.seen:
            return "No supported source files in this folder."
        unnamed = f", {len(self.unnameable)} with undecodable names" if self.unnameable else ""
        gone = f", {self.removed} removed" if self.removed else ""
        head = (
            f"{counted(self.seen, 'file')}: {self.read} parsed, {self.unchanged} unchanged,"
            f" {self.skipped} skipped{unnamed}. {self.relinked} relinked{gone};"
            f" {self.seconds:.1f} s"
        )
        problems = _listed("Incomplete", _reasons(self.failed), limit=10)
        names = _listed("Undecodable file names", self.unnameable, limit=10)
        return "\n".join([head, *problems, *names])
