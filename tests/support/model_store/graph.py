"""A `GraphStore` of plain dictionaries: slow, obvious, and what engines are compared with."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from wellkept.core.graph import (
    NOTED_KINDS,
    Edge,
    FileState,
    GraphStatus,
    Node,
    NodeKind,
    SourceFile,
)
from wellkept.core.ports.graph import KIND_ORDER, AnalyzedFile, EdgeTable, FileEdges, NodeTable
from wellkept.core.records import replace


@dataclass
class _Tree:
    """One tree."""

    files: dict[str, AnalyzedFile] = field(default_factory=dict[str, AnalyzedFile])
    open: set[str] = field(default_factory=set[str])
    drawn: dict[str, FileEdges] = field(default_factory=dict[str, FileEdges])
    containers: dict[str, Node] = field(default_factory=dict[str, Node])
    notes: dict[str, Node] = field(default_factory=dict[str, Node])
    noted: dict[tuple[str, str, str], Edge] = field(
        default_factory=dict[tuple[str, str, str], Edge]
    )
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    version: int = 0
    built_at: datetime | None = None


class ModelGraph:
    """Graphs of source trees in memory."""

    def __init__(self) -> None:
        self._trees: dict[str, _Tree] = {}

    def _write(self, tree: str) -> _Tree:
        found = self._trees.setdefault(tree, _Tree())
        found.version += 1
        return found

    def _read(self, tree: str) -> _Tree:
        return self._trees.get(tree, _Tree())

    # -- Files ------------------------------------------------------------------------------------

    def files(self, tree: str) -> list[SourceFile]:
        return [item.file for _, item in sorted(self._read(tree).files.items())]

    def file(self, tree: str, path: str) -> SourceFile | None:
        item = self._read(tree).files.get(path)
        return None if item is None else item.file

    def put_files(self, tree: str, files: Sequence[AnalyzedFile]) -> None:
        kept = self._write(tree)
        for item in files:
            path = item.file.path
            kept.files[path] = item
            (kept.open.add if item.facts else kept.open.discard)(path)
            if not item.facts:
                kept.drawn.pop(path, None)
        self._drop_dangling(kept)

    def touch_files(self, tree: str, files: Sequence[SourceFile]) -> None:
        kept = self._write(tree)
        for file in files:
            item = kept.files.get(file.path)
            if item is not None:
                fresh = replace(
                    item.file,
                    size_bytes=file.size_bytes,
                    mtime_ns=file.mtime_ns,
                    state=file.state,
                    reason=file.reason,
                    analysed_at=file.analysed_at,
                    stale_at=None,
                )
                kept.files[file.path] = replace(item, file=fresh)

    def drop_files(self, tree: str, paths: Collection[str]) -> None:
        kept = self._write(tree)
        for path in paths:
            kept.files.pop(path, None)
            kept.drawn.pop(path, None)
            kept.open.discard(path)
        self._drop_dangling(kept)

    def mark_stale(self, tree: str, paths: Collection[str], *, at: datetime) -> int:
        kept = self._write(tree)
        known = [path for path in set(paths) if path in kept.files]
        for path in known:
            item = kept.files[path]
            stale = replace(item.file, stale_at=item.file.stale_at or at)
            kept.files[path] = replace(item, file=stale)
        return len(known)

    # -- Edges ------------------------------------------------------------------------------------

    def facts(self, tree: str, paths: Collection[str]) -> dict[str, bytes]:
        files = self._read(tree).files
        return {path: files[path].facts for path in paths if path in files}

    def names(self, tree: str, paths: Collection[str] | None = None) -> dict[str, bytes]:
        files = self._read(tree).files
        wanted = files if paths is None else paths
        return {path: files[path].names for path in wanted if path in files}

    def pending_files(self, tree: str) -> list[str]:
        return sorted(self._read(tree).open)

    def mark_pending(self, tree: str, *, lookups: Collection[int] | None) -> int:
        kept = self._write(tree)
        asked = None if lookups is None else set(lookups)
        found = {
            path
            for path, item in kept.files.items()
            if item.facts
            and (asked is None or (path in kept.drawn and kept.drawn[path].lookups & asked))
        }
        kept.open |= found
        return len(found)

    def put_edges(self, tree: str, edges: Sequence[FileEdges]) -> None:
        kept = self._write(tree)
        for sheet in edges:
            if sheet.path in kept.files:
                kept.drawn[sheet.path] = sheet
                kept.open.discard(sheet.path)
        self._drop_dangling(kept)

    def put_containers(self, tree: str, nodes: Sequence[Node]) -> None:
        self._write(tree).containers = {node.id: node for node in nodes}

    def put_notes(self, tree: str, *, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        kept = self._write(tree)
        kept.notes.update((node.id, node) for node in nodes)
        kept.noted.update(((e.source, e.target, e.kind), replace(e, auto=False)) for e in edges)

    def drop_notes(self, tree: str, ids: Collection[str]) -> int:
        kept = self._write(tree)
        gone = [k for k in kept.noted if k[0] in ids or k[1] in ids]
        nodes = [i for i in ids if i in kept.notes and kept.notes[i].kind in NOTED_KINDS]
        for key in gone:
            del kept.noted[key]
        for id_ in nodes:
            del kept.notes[id_]
        return len(gone) + len(nodes)

    def _drop_dangling(self, kept: _Tree) -> None:
        """An edge is there only while both of its ends are."""
        known = self._known(kept).keys()
        for path, sheet in kept.drawn.items():
            edges = tuple(e for e in sheet.edges if e.source in known and e.target in known)
            kept.drawn[path] = replace(sheet, edges=edges)

    # -- Questions --------------------------------------------------------------------------------

    def _known(self, kept: _Tree) -> dict[str, Node]:
        nodes = {**kept.containers, **kept.notes}
        for path, item in kept.files.items():
            file = item.file
            own = Node(
                id=path,
                kind=NodeKind.FILE,
                name=path.rpartition("/")[2],
                path=path,
                line=1,
                end_line=file.line_count,
                language=file.language,
                is_test=file.is_test,
                is_exported=True,
            )
            for node in (own, *item.symbols):
                nodes[node.id] = replace(
                    node,
                    module=file.module,
                    stale_at=file.stale_at,
                    analysed_at=file.analysed_at,
                )
        for id_ in nodes:
            kept.numbers.setdefault(id_, len(kept.numbers) + 1)
        return nodes

    def nodes(self, tree: str, ids: Collection[str]) -> dict[str, Node]:
        known = self._known(self._read(tree))
        return {id_: known[id_] for id_ in ids if id_ in known}

    def numbers(self, tree: str, ids: Collection[str]) -> dict[str, int]:
        kept = self._read(tree)
        known = self._known(kept)
        return {id_: kept.numbers[id_] for id_ in ids if id_ in known}

    def nodes_by_number(self, tree: str, numbers: Collection[int]) -> dict[int, Node]:
        kept = self._read(tree)
        known = self._known(kept)
        return {kept.numbers[i]: node for i, node in known.items() if kept.numbers[i] in numbers}

    def find(self, tree: str, name: str, *, limit: int = 20) -> list[Node]:
        ends = tuple(mark + name for mark in ("/", ":", "."))
        found = [
            node
            for node in self._known(self._read(tree)).values()
            if name in (node.id, node.name, node.qualname)
            or (node.kind is NodeKind.FILE and node.id.endswith("/" + name))
            or (node.qualname and node.id.endswith(ends))
        ]
        found.sort(key=lambda n: (n.id != name, n.kind is not NodeKind.FILE, n.id))
        return found[:limit]

    def symbols(self, tree: str, paths: Collection[str]) -> list[Node]:
        known = self._known(self._read(tree)).values()
        found = [node for node in known if node.path in paths and node.qualname]
        return sorted(found, key=lambda node: (node.path or "", node.line, node.id))

    def all_nodes(self, tree: str) -> Iterable[Node]:
        return [node for _, node in sorted(self._known(self._read(tree)).items())]

    def edges(
        self, tree: str, *, sources: Collection[str] = (), targets: Collection[str] = ()
    ) -> list[Edge]:
        kept = self._read(tree)
        best: dict[tuple[str, str, int], Edge] = {}
        for edge in (e for sheet in kept.drawn.values() for e in sheet.edges):
            key = (edge.source, edge.target, KIND_ORDER.index(edge.kind))
            other = best.get(key)
            if other is not None:
                sure, line = max(edge.confidence, other.confidence), min(edge.line, other.line)
                best[key] = replace(edge, confidence=sure, line=line)
            else:
                best[key] = edge
        drawn = [edge for _, edge in sorted(best.items())]
        found = [*drawn, *(edge for _, edge in sorted(kept.noted.items()))]
        found.sort(key=lambda e: (e.source, e.target, KIND_ORDER.index(e.kind)))
        return [
            edge
            for edge in found
            if (not sources or edge.source in sources) and (not targets or edge.target in targets)
        ]

    def edge_table(self, tree: str) -> EdgeTable:
        kept = self._read(tree)
        known = self._known(kept)
        edges = [e for e in self.edges(tree) if e.source in known and e.target in known]
        return EdgeTable(
            sources=array("q", [kept.numbers[e.source] for e in edges]),
            targets=array("q", [kept.numbers[e.target] for e in edges]),
            kinds=bytes([KIND_ORDER.index(e.kind) for e in edges]),
            confidences=array("d", [e.confidence for e in edges]),
            version=kept.version,
        )

    def node_table(self, tree: str) -> NodeTable:
        kept = self._read(tree)
        known = self._known(kept)
        paths = sorted(kept.files)
        places = {path: place for place, path in enumerate(paths)}
        return NodeTable(
            numbers=array("q", [kept.numbers[id_] for id_ in known]),
            files=array("q", [places.get(node.path or "", -1) for node in known.values()]),
            tests=bytes([node.is_test for node in known.values()]),
            paths=tuple(paths),
            modules=tuple(kept.files[path].file.module for path in paths),
        )

    # -- The whole --------------------------------------------------------------------------------

    def version(self, tree: str) -> int:
        return self._read(tree).version

    def mark_built(self, tree: str, *, at: datetime) -> None:
        self._write(tree).built_at = at

    def status(self, tree: str) -> GraphStatus:
        kept, files = self._read(tree), self.files(tree)
        return GraphStatus(
            files=len(files),
            lines=sum(f.line_count for f in files),
            size_bytes=sum(f.size_bytes for f in files if f.state is not FileState.SKIPPED),
            nodes=_counted(node.kind.value for node in self._known(kept).values()),
            edges=_counted(edge.kind.value for edge in self.edges(tree)),
            languages=_counted(f.language for f in files if f.state is not FileState.SKIPPED),
            stale=tuple(f.path for f in files if f.stale_at is not None),
            skipped=tuple(f for f in files if f.state is FileState.SKIPPED),
            failed=tuple(f for f in files if f.state in (FileState.FAILED, FileState.PARTLY)),
            unresolved=len(kept.open),
            built_at=kept.built_at,
        )

    def trees(self) -> list[str]:
        return sorted(self._trees)

    def drop_tree(self, tree: str) -> None:
        self._trees.pop(tree, None)

    def close(self) -> None:
        return


def _counted(values: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
