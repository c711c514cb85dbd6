"""`graph map`: the code on a plane, with what is known about it.

Places come from the dependencies alone , so the map never moves between
visits. Arrows point where a change reaches: from a module to those that depend on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from wellkept.core.code_modules import CodeModule, Convention
from wellkept.core.query import Filter
from wellkept.core.records import record
from wellkept.core.text import counted
from wellkept.core.types import MemoryType

if TYPE_CHECKING:
    from wellkept.graph.api import GraphApi
    from wellkept.memory.workspace import OpenMemory

MAX_IN_ROW = 7
_SWEEPS = 8

Edges = Mapping[tuple[str, str], int]
"""Weight of each edge, from a module to one that it depends on."""


class Place(NamedTuple):
    """Column and row of a module, from the top left."""

    x: float
    y: float


def layout(names: Sequence[str], edges: Edges) -> dict[str, Place]:
    """The place of every module."""
    nodes = sorted(set(names))
    known = {pair: w for pair, w in edges.items() if set(pair) <= set(nodes) and pair[0] != pair[1]}
    acyclic = _acyclic(nodes, known)
    rows = _ordered(_layers(nodes, acyclic), acyclic)
    width = max((len(row) for row in rows), default=0)
    # Who is depended on stands below.
    return {
        name: Place(column + (width - len(row)) / 2, float(number))
        for number, row in enumerate(reversed(rows))
        for column, name in enumerate(row)
    }


def _acyclic(nodes: Sequence[str], edges: Edges) -> dict[tuple[str, str], int]:
    """The edges that go down in a greedy order: most used last."""
    balance = dict.fromkeys(nodes, 0)
    for (source, target), weight in edges.items():
        balance[source] += weight
        balance[target] -= weight
    rank = {
        name: number
        for number, name in enumerate(sorted(nodes, key=lambda name: (-balance[name], name)))
    }
    # Only edges that go down the order are kept, so that no cycle can be left.
    return {
        (source, target): weight
        for (source, target), weight in edges.items()
        if rank[source] < rank[target]
    }


def _layers(nodes: Sequence[str], edges: Mapping[tuple[str, str], int]) -> list[list[str]]:
    """Modules by their longest way down; the first layer depends on nothing."""
    below: dict[str, list[str]] = {name: [] for name in nodes}
    for source, target in sorted(edges):
        below[source].append(target)
    depth: dict[str, int] = {}

    def deep(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max((deep(one) for one in below[name]), default=-1)
        return depth[name]

    layers: list[list[str]] = [[] for _ in range(max(map(deep, nodes), default=-1) + 1)]
    for name in nodes:
        layers[depth[name]].append(name)
    return layers


def _ordered(
    layers: Sequence[Sequence[str]], edges: Mapping[tuple[str, str], int]
) -> list[list[str]]:
    """Each layer in an order with few crossings; a wide one is broken into rows."""
    beside: dict[str, list[str]] = {name: [] for layer in layers for name in layer}
    for source, target in edges:
        beside[source].append(target)
        beside[target].append(source)
    rows = [list(layer) for layer in layers]
    for _ in range(_SWEEPS):
        place = {name: n / max(1, len(row)) for row in rows for n, name in enumerate(row)}
        for row in rows:
            mean = {
                name: sum(place[one] for one in beside[name]) / len(beside[name])
                if beside[name]
                else place[name]
                for name in row
            }
            row.sort(key=lambda name: (round(mean[name], 6), name))
            place |= {name: n / max(1, len(row)) for n, name in enumerate(row)}
    return [
        row[start : start + MAX_IN_ROW] for row in rows for start in range(0, len(row), MAX_IN_ROW)
    ]


# -- The map --------------------------------------------------------------------------------------


MAX_PATHS: Final = 300
MAX_FILES: Final = 5_000
MAX_FILE_EDGES: Final = 20_000


@record(kw_only=True)
class MapModule:
    """A module, its place in grid cells, and what is known about it."""

    folder: str
    name: str
    x: float
    y: float
    files: int
    lines: int
    languages: tuple[str, ...]
    is_test: bool
    purpose: str
    summary: str
    covered: int
    memories: int
    e2e: int
    paths: tuple[str, ...]

    def as_text(self) -> str:
        """What it holds, what is known of it, and what it is for."""
        kind = "tests, " if self.is_test else ""
        return (
            f"{self.folder}  ({kind}{counted(self.files, 'file')}, {counted(self.lines, 'line')},"
            f" {', '.join(self.languages)}; {self.covered} known,"
            f" {counted(self.memories, 'memory', 'memories')}, {self.e2e} end to end)\n"
            f"  {self.summary}"
        )


@record(kw_only=True)
class MapEdge:
    """A change of `source` reaches `target`, which uses it so often."""

    source: str
    target: str
    uses: int


@record(kw_only=True)
class GraphFile:
    """A file of the code graph."""

    path: str
    module: str
    lines: int
    is_test: bool
    memories: int


@record(kw_only=True)
class FileEdge:
    """A change of `source` reaches `target`; both are numbers of files."""

    source: int
    target: int
    uses: int


@record(kw_only=True)
class FileGraph:
    """Files and their edges; `truncated` when there are more than are shown."""

    files: tuple[GraphFile, ...]
    edges: tuple[FileEdge, ...]
    truncated: bool


@record(kw_only=True)
class ModuleMap:
    """Every module with its place; `width` and `height` are in grid cells."""

    built_at: datetime | None
    width: float
    height: float
    modules: tuple[MapModule, ...]
    edges: tuple[MapEdge, ...]
    conventions: tuple[Convention, ...]
    file_graph: FileGraph | None = None
    """Files and their edges, where they were asked for."""

    def as_text(self) -> str:
        """The modules and the conventions of their code."""
        lines = [one.as_text() for one in self.modules]
        lines += [f"- {one.text}" for one in self.conventions]
        if (files := self.file_graph) is not None:
            told = f"{counted(len(files.files), 'file')}, {counted(len(files.edges), 'edge')}"
            lines.append(f"Between files: {told}")
        return "\n".join(lines) or "No modules with source files in this folder."


def module_map(
    wk: OpenMemory, graph: GraphApi, *, limit: int, files: bool, folder: str
) -> ModuleMap:
    """The map; NotFoundError without a code graph. With `files` also those of the tree, or of one
    module with its neighbours."""
    modules = graph.modules(limit=limit)
    uses = {(one.folder, link.folder): link.edges for one in modules for link in one.depends_on}
    places = layout([one.folder for one in modules], uses)
    store, groups = wk.engine.store, {one.folder: one.files for one in modules}
    where = Filter(project=wk.project, stale=False)
    e2e = Filter(project=wk.project, stale=False, types=(MemoryType.E2E_OBSERVATION,))
    named, seen = store.count_by_files(where, groups), store.count_by_files(e2e, groups)
    return ModuleMap(
        built_at=graph.status().built_at,
        width=max((place.x for place in places.values()), default=-1.0) + 1,
        height=max((place.y for place in places.values()), default=-1.0) + 1,
        modules=tuple(
            MapModule(
                folder=one.folder,
                name=one.name,
                x=places[one.folder].x,
                y=places[one.folder].y,
                files=len(one.files),
                lines=one.lines,
                languages=one.languages,
                is_test=one.is_test,
                purpose=one.purpose,
                summary=one.summary,
                covered=named[one.folder].files,
                memories=named[one.folder].memories,
                e2e=seen[one.folder].memories,
                paths=one.files[:MAX_PATHS],
            )
            for one in modules
        ),
        edges=tuple(
            MapEdge(source=used, target=user, uses=count)
            for (user, used), count in sorted(uses.items())
        ),
        conventions=graph.conventions(),
        file_graph=_file_graph(wk, graph, modules, folder) if files else None,
    )


def _file_graph(
    wk: OpenMemory, graph: GraphApi, modules: Iterable[CodeModule], folder: str
) -> FileGraph:
    """Files and their edges, of one module with its neighbours or of the whole tree."""
    of_file = {path: one.folder for one in modules for path in one.files}
    counts = _file_edges(graph)
    chosen = set(of_file)
    if folder:
        own = {path for path, name in of_file.items() if name == folder}
        chosen = own | {
            path for pair in counts if own & set(pair) for path in pair if path in of_file
        }
    paths = sorted(chosen)[:MAX_FILES]
    numbers = {path: number for number, path in enumerate(paths)}
    known = {one.path: one for one in graph.files()}
    where = Filter(project=wk.project, stale=False)
    named = wk.engine.store.count_by_files(where, {path: [path] for path in paths})
    edges = [
        FileEdge(source=numbers[used], target=numbers[user], uses=count)
        for (user, used), count in sorted(counts.items())
        if user in numbers and used in numbers
    ]
    return FileGraph(
        files=tuple(
            GraphFile(
                path=path,
                module=of_file[path],
                lines=known[path].line_count if path in known else 0,
                is_test=known[path].is_test if path in known else False,
                memories=named[path].memories,
            )
            for path in paths
        ),
        edges=tuple(edges[:MAX_FILE_EDGES]),
        truncated=len(chosen) > MAX_FILES or len(edges) > MAX_FILE_EDGES,
    )


def _file_edges(graph: GraphApi) -> Counter[tuple[str, str]]:
    """How often a file uses another one, by the edges between their symbols."""
    from wellkept.graph.query.traversal import GraphSnapshot

    store, tree = graph.store, graph.tree
    snapshot = GraphSnapshot(store.edge_table(tree), store.node_table(tree))
    sources, targets = snapshot.edges()
    users, used = snapshot.files[sources], snapshot.files[targets]
    crossing = (users != used) & (users >= 0) & (used >= 0)
    left: list[int] = users[crossing].tolist()
    right: list[int] = used[crossing].tolist()
    names = snapshot.paths
    return Counter((names[user], names[other]) for user, other in zip(left, right, strict=True))
