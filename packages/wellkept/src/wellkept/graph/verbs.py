"""The verbs of the code graph. `core.verbs` says what a declaration is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

from wellkept.core.code_modules import ModuleSummaryReport
from wellkept.core.graph import (
    BuildProgress,
    BuildReport,
    Coverage,
    Edge,
    GraphStatus,
    Impact,
    Neighbours,
    Node,
    Trace,
)
from wellkept.core.records import record
from wellkept.core.text import counted
from wellkept.core.verbs import Alias, Arg, Effect, verb
from wellkept.graph.modules.map_view import ModuleMap, module_map
from wellkept.memory.arguments import Names
from wellkept.memory.workspace import OpenMemory

if TYPE_CHECKING:
    from wellkept.core.types import Progress
    from wellkept.graph.api import GraphApi
    from wellkept.graph.code_index import CodeSearch
    from wellkept.graph.related_files import RelatedFiles
    from wellkept.graph.search.file_search import FoundFile

_NAME = "A file path, path::Class.method, a symbol's name, a folder/ or module:name."
_Edge = Literal[
    "imports",
    "calls",
    "implements",
    "extends",
    "exports",
    "depends_logically",
    "is_entrypoint_for",
    "handles_errors_from",
    "applies_pattern",
    "flows_to",
]
_AKA = ("file_path", "path", "file", "target", "symbol", "source", "from")
_AboutArg = Annotated[str, Arg(_NAME, 1, aka=_AKA)]
_DepthArg = Annotated[int, Arg("How far to follow.", 1, 3, aka=("max_depth",))]
_LimitArg = Annotated[int, Arg("How many to list.", 1, 10_000, "-n", hidden=True)]


class _FileStart(Protocol):
    """The beginning of a file."""

    @property
    def path(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def is_cut(self) -> bool: ...


class _KnowsReads(Protocol):
    """What is learned from sessions."""

    def prefetch(self, files: Names = ..., /) -> Sequence[_FileStart]: ...


class MemoryOfCode(OpenMemory, Protocol):
    """An open memory with the code of its project."""

    @cached_property
    def code_graph(self) -> GraphApi: ...

    @cached_property
    def code(self) -> CodeSearch: ...

    @cached_property
    def observer(self) -> _KnowsReads: ...


@verb(noun="graph", effect=Effect.ADDS, on_files=True, examples=({},))
def build(
    wk: MemoryOfCode,
    files: Annotated[Names, Arg("Only these files.", names="file")] = (),
    *,
    again: Annotated[bool, Arg("Also parse unchanged files.")] = False,
    workers: Annotated[int | None, Arg("Number of parser processes.", 1, 64, hidden=True)] = None,
    progress: Progress | None = None,
) -> BuildReport:
    """Update the graph for all files of this folder, or for FILES.

    Only changed files are parsed. An interrupted build continues with the next run.
    """
    if files:
        return wk.code_graph.update([files] if isinstance(files, str) else files)

    def report(at: BuildProgress) -> None:
        if progress is not None:
            progress(at.done, at.total)

    return wk.code_graph.build(again=again, progress=report, workers=workers)


@record(kw_only=True)
class FoundFiles:
    """Files that a question is about, the likeliest first, with their functions."""

    files: tuple[FoundFile, ...]

    @property
    def found(self) -> bool:
        """Whether there are any."""
        return bool(self.files)

    def as_text(self) -> str:
        """Each file with its reasons, and below it the functions that fit."""
        if not self.files:
            return "No file of this project speaks of that. Try other words."
        return "\n".join(line for one in self.files for line in _file_lines(one))


def _file_lines(found: FoundFile) -> Iterator[str]:
    yield f"{found.path}  ({', '.join(found.reasons)})"
    for symbol in found.symbols:
        said = f"  {symbol.summary}" if symbol.summary else ""
        yield f"  {found.path}:{symbol.line} {symbol.name}{said}"


@verb(
    noun="graph",
    toolset="default",
    aliases=("search_code", "code_search"),
    tell="Which files of this project a task, bug report or name is about, also by the files that "
    "similar past commits touched. Use before searching by hand.",
    finds=True,
    on_files=True,
    examples=({"query": "how are migrations run", "limit": 3},),
)
def search(
    wk: MemoryOfCode,
    query: Annotated[
        str, Arg("A bug report, a task, a name, a question.", 1, 20_000, words=True, aka=("q",))
    ],
    *,
    limit: Annotated[int, Arg("How many files.", 1, 200, "-n")] = 8,
    progress: Progress | None = None,
) -> FoundFiles:
    """Find the files and functions that a question is about.

    Searches paths, symbols and text, and the files of similar commits. Changed files are indexed
    first. Works without a code graph; with one it also knows symbols. Exits with 1 when nothing was
    found.
    """
    return FoundFiles(files=tuple(wk.code.find(query, limit=limit, progress=progress)))


@record(kw_only=True)
class FileStart:
    """The beginning of a file; `is_cut` when it is longer."""

    path: str
    text: str
    is_cut: bool


@record(kw_only=True)
class GraphPart:
    """A part of the graph, or the graph itself; what was not asked for is None."""

    node: Node | None = None
    symbols: tuple[Node, ...] = ()
    uses: tuple[Edge, ...] = ()
    used_by: tuple[Edge, ...] = ()
    coverage: Coverage | None = None
    related: RelatedFiles | None = None
    reads: tuple[FileStart, ...] | None = None
    status: GraphStatus | None = None
    noted: tuple[Node, ...] = ()
    links: tuple[Edge, ...] = ()

    def as_text(self) -> str:
        """Each part that was asked for."""
        parts = [one.as_text() for one in (self.status, self.coverage, self.related) if one]
        parts = ["\n".join(self._node_lines()), *parts, "\n".join(_noted(self.noted, self.links))]
        if self.reads is not None:
            for one in self.reads:
                parts += [f"### {one.path}", one.text.rstrip(), "[…]" * one.is_cut]
            parts += [] if self.reads else ["No usual files known yet."]
        return "\n".join(filter(None, parts))

    def _node_lines(self) -> Iterator[str]:
        if (node := self.node) is None:
            return
        yield f"{node.kind.value} {node.id} {node.signature}".rstrip()
        for one in self.symbols:
            yield f"  {one.line:>5}  {one.kind.value:<9} {one.qualname}"
        for edge in self.uses:
            yield f"  -> {edge.kind.value:<10} {edge.target}"
        for edge in self.used_by:
            yield f"  <- {edge.kind.value:<10} {edge.source}"


def _noted(nodes: Sequence[Node], links: Sequence[Edge]) -> Iterator[str]:
    for node in nodes:
        yield f"{node.id}  {node.signature}".rstrip()
    for edge in links:
        yield f"{edge.source} {edge.kind.value} {edge.target}  {edge.confidence:.2f}"


@verb(
    noun="graph",
    toolset="graph",
    tell="A file or symbol with what it uses and is used by; with coverage the tests that reach "
    "it, with related the files that change with it. Without a name: size, stale files and notes.",
    on_files=True,
    examples=({},),
)
def show(
    wk: MemoryOfCode,
    name: Annotated[str, Arg(_NAME, aka=_AKA)] = "",
    *,
    coverage: Annotated[bool, Arg("The tests that reach it instead.")] = False,
    related: Annotated[bool, Arg("The files that change or are used with it instead.")] = False,
    reads: Annotated[
        bool, Arg("The beginnings of files that work on it reads instead.", hidden=True)
    ] = False,
    limit: Annotated[int, Arg("How many related files.", 1, 200, "-n", hidden=True)] = 10,
    progress: Progress | None = None,
) -> GraphPart:
    """Show a file or symbol with its symbols and edges, or the graph itself.

    Without NAME: its size, skipped, failed and stale files, and what was noted in it.
    """
    graph = wk.code_graph
    starts = None
    if reads:
        found = wk.observer.prefetch((name,) if name else ())
        starts = tuple(FileStart(path=one.path, text=one.text, is_cut=one.is_cut) for one in found)
    if not name:
        nodes, links = graph.notes()
        status = None if reads else graph.status(check=True)
        return GraphPart(status=status, noted=tuple(nodes), links=tuple(links), reads=starts)
    if coverage or related or reads:
        return GraphPart(
            coverage=graph.coverage(name) if coverage else None,
            related=graph.related(name, limit=limit, progress=progress) if related else None,
            reads=starts,
        )
    node = graph.node(name)
    uses, used_by = graph.edges(node.id)
    return GraphPart(
        node=node,
        symbols=tuple(graph.symbols(node.id) if node.kind.value == "file" else ()),
        uses=tuple(uses),
        used_by=tuple(used_by),
    )


@verb(
    noun="graph",
    toolset="graph",
    aliases=("analyze_impact",),
    tell="Before changing a file or symbol: what depends on it (callers, importers, subclasses) to "
    "depth 3, the tests that reach it, and memories and end-to-end observations tied to what is "
    "touched.",
    on_files=True,
    examples=({"name": "pool.py"},),
)
def impact(
    wk: MemoryOfCode, name: _AboutArg, *, depth: _DepthArg = 3, limit: _LimitArg = 40
) -> Impact:
    """Show what a change of a file, symbol, folder or module may affect."""
    return wk.code_graph.impact(name, depth=depth, limit=limit)


@verb(
    noun="graph",
    toolset="graph",
    aliases=("get_dependencies",),
    tell="What a file or symbol depends on, direct and transitive; with reverse, what depends on "
    "it.",
    on_files=True,
    examples=({"name": "pool.py"}, {"name": "pool.py", "reverse": True}),
)
def deps(
    wk: MemoryOfCode,
    name: _AboutArg,
    *,
    reverse: Annotated[bool, Arg("What depends on it instead.")] = False,
    depth: _DepthArg = 3,
    limit: _LimitArg = 40,
) -> Neighbours:
    """Show what a file, symbol, folder or module depends on."""
    ask = wk.code_graph.dependents if reverse else wk.code_graph.dependencies
    return ask(name, depth=depth, limit=limit)


@verb(
    noun="graph",
    toolset="graph",
    aliases=("trace_data_flow",),
    tell="Where the values of a file or symbol go, through assignments, arguments, results and "
    "fields of functions, each way with how sure it is; with to, only those that end there; with "
    "value, only those of one parameter or variable.",
    on_files=True,
    examples=({"name": "pool.py"},),
)
def trace(
    wk: MemoryOfCode,
    name: _AboutArg,
    *,
    to: Annotated[
        str, Arg("Only ways that lead to this file or symbol.", aka=("target_file_path",))
    ] = "",
    value: Annotated[str, Arg("Only this parameter, variable or field of it.")] = "",
    depth: Annotated[int, Arg("How far to follow.", 1, 6, aka=("max_depth",))] = 3,
    limit: Annotated[int, Arg("How many ways.", 1, 10_000, "-n", hidden=True)] = 20,
) -> Trace:
    """Trace the values of a file or symbol through arguments, results, fields and noted flows.

    Shows call paths where no values can be traced. The confidence of a path is the product of its
    steps.
    """
    return wk.code_graph.trace(name, to=to or None, value=value, depth=depth, limit=limit)


@verb(
    noun="graph",
    toolset="page",
    aliases=("module_map", Alias("file_graph", {"files": True})),
    tell="The modules of the code with places, dependencies, how far memories cover them and "
    "end-to-end observations, and conventions of the code (needs a code graph).",
    on_files=True,
    examples=({}, {"files": True}),
)
def map_(
    wk: MemoryOfCode,
    *,
    limit: Annotated[int, Arg("How many modules.", 1, 1000, "-n")] = 40,
    files: Annotated[bool, Arg("Also files and the edges between them.", hidden=True)] = False,
    folder: Annotated[str, Arg("Only the files of this module.", hidden=True)] = "",
) -> ModuleMap:
    """Show the modules: purpose, exports, dependencies, and how far memories cover them.

    Also shows the conventions found in configuration files and code.
    """
    return module_map(wk, wk.code_graph, limit=limit, files=files, folder=folder)


@verb(noun="graph", effect=Effect.ADDS, on_files=True, examples=({"dry_run": True},))
def summarise(
    wk: MemoryOfCode,
    *,
    dry_run: Annotated[bool, Arg("Show what would be stored; do not call a model.")] = False,
    model: Annotated[bool, Arg("Ask the configured model.", hidden=True)] = True,
    again: Annotated[
        bool, Arg("Also restore forgotten summaries, and call the model again.")
    ] = False,
    progress: Progress | None = None,
) -> ModuleSummaryReport:
    """Store module summaries and conventions as memories.

    Running it again updates only what changed. Memories confirmed or edited by a person are kept.
    Uses the configured model, if any, within the daily budget.
    """
    return wk.code_graph.summarise(
        dry_run=dry_run, with_model=model, again=again, progress=progress
    )


@record(kw_only=True)
class Noted:
    """What was added to the graph."""

    noted: tuple[Node, ...] = ()
    links: tuple[Edge, ...] = ()

    def as_text(self) -> str:
        """It, line by line."""
        return "\n".join(f"Added {line}" for line in _noted(self.noted, self.links))


@verb(
    noun="graph",
    effect=Effect.ADDS,
    toolset="graph",
    tell="Add a pattern, data flow, invariant or decision to the code graph: what cannot be parsed "
    "from source. Tie it to code with graph_link. Notes survive every build.",
    on_files=True,
    examples=({"kind": "decision", "name": "one-writer"},),
)
def note(
    wk: MemoryOfCode,
    kind: Annotated[Literal["dataflow", "decision", "invariant", "pattern"], Arg("What it is.")],
    name: Annotated[str, Arg("A short name.", 1, 200)],
    *,
    text: Annotated[str, Arg("What it says.", aka=("content", "description"))] = "",
) -> Noted:
    """Add a pattern, data flow, invariant or decision to the graph.

    Notes survive every build.
    """
    return Noted(noted=(wk.code_graph.note(kind, name, text=text),))


@verb(
    noun="graph",
    effect=Effect.ADDS,
    toolset="graph",
    tell="Draw an edge between files, symbols, modules or notes that parsing cannot see: code "
    "that depends on other code by meaning, handles its errors, applies a pattern, or passes data "
    "on. Impact then follows it.",
    on_files=True,
    examples=({"source": "pool.py", "kind": "depends_logically", "target": "other.py"},),
)
def link(
    wk: MemoryOfCode,
    source: Annotated[str, Arg("What depends.", 1, aka=("from",))],
    kind: Annotated[_Edge, Arg("How.", aka=("type", "relation"))],
    target: Annotated[str, Arg("On what.", 1, aka=("to",))],
    *,
    confidence: Annotated[float, Arg("How sure it is.", 0.01, 1, hidden=True)] = 1.0,
) -> Noted:
    """Add an edge from SOURCE to TARGET: files, symbols, modules or notes.

    A change of TARGET then affects SOURCE; with flows_to, a change of SOURCE affects TARGET.
    """
    return Noted(links=(wk.code_graph.link(source, kind, target, confidence=confidence),))


@record(kw_only=True)
class Unlinked:
    """Notes and links that were deleted, or would be."""

    name: str
    dropped: int
    dry_run: bool

    @property
    def question(self) -> str:
        """What a person is asked."""
        return f"Delete {self._what}?"

    @property
    def _what(self) -> str:
        return counted(self.dropped, "note or link", "notes and links")

    def as_text(self) -> str:
        """How many."""
        return f"{'Would delete' if self.dry_run else 'Deleted'} {self._what}."


@verb(
    noun="graph",
    effect=Effect.REMOVES,
    on_files=True,
    repeatable=False,
    examples=({"name": "decision:one-writer", "dry_run": True},),
)
def unlink(
    wk: MemoryOfCode,
    name: Annotated[str, Arg("A note's id, or a file or symbol.", 1)],
    *,
    dry_run: Annotated[bool, Arg("Show what would be deleted only.")] = False,
) -> Unlinked:
    """Delete a note of the graph, or every noted link of a file or symbol."""
    return Unlinked(
        name=name, dropped=wk.code_graph.drop_note(name, dry_run=dry_run), dry_run=dry_run
    )
