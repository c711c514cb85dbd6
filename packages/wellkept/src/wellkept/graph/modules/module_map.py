"""Builds the module map of a tree: its modules (folders), their dependencies, tests and purposes.

Folders are split into subfolders, largest first, up to a limit. A file belongs to the deepest
chosen folder above it, so every file is in exactly one module.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from pathlib import Path
from posixpath import basename, dirname
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from wellkept.core.code_modules import CodeModule, ModuleLink
from wellkept.core.graph import FileState, NodeKind, SourceFile
from wellkept.core.ports.graph import GraphStore
from wellkept.graph.history.commits import is_test
from wellkept.graph.index.file_kind import is_generated
from wellkept.graph.modules.descriptions import purpose_of
from wellkept.graph.parse.tree_index import ancestors
from wellkept.graph.query.traversal import GraphSnapshot

if TYPE_CHECKING:
    from wellkept.graph.query.traversal import Ints

_SPLIT_SHARE: Final = 0.04
"""A folder with less than this share of all lines is not split."""
_MAX_EXPORTS: Final = 8
_MAX_TESTS: Final = 20
_ENTRY_NAMES: Final = re.compile(
    r"^(?:__main__\.py|manage\.py|wsgi\.py|asgi\.py|(?:main|cli|server)\.\w+|"
    r"index\.[cm]?[jt]sx?|Program\.cs|Main\.java|config\.ru)$"
)


def modules_of(store: GraphStore, tree: str, *, root: Path, limit: int) -> tuple[CodeModule, ...]:
    """The modules of a tree, by folder."""
    files = [f for f in store.files(tree) if f.state is not FileState.SKIPPED and f.line_count]
    files = [f for f in files if f.language != "configuration"]
    chosen = module_folders(files, limit=limit)
    grouped: dict[str, list[SourceFile]] = defaultdict(list)
    for file in files:
        grouped[_module_of(file.path, chosen)].append(file)
    edges = _ModuleEdges(store, tree, {f.path: _module_of(f.path, chosen) for f in files})
    main = _main(grouped)
    return tuple(
        _module(folder, inside, edges, root=root, is_main=folder == main)
        for folder, inside in sorted(grouped.items(), key=_order)
    )


def _order(module: tuple[str, Sequence[SourceFile]]) -> tuple[bool, str]:
    """Modules by folder; those that tools made come last."""
    folder, files = module
    return all(is_generated(file.path) for file in files), folder


def _main(grouped: Mapping[str, Sequence[SourceFile]]) -> str:
    """The outermost module with most of the code."""
    lines: Counter[str] = Counter()
    for folder, files in grouped.items():
        outermost = [above for above in (folder, *ancestors(folder)) if above in grouped][-1]
        own = sum(file.line_count for file in files if not file.is_test)
        lines[outermost] += 0 if is_test(folder) else own
    return max(lines, key=lambda folder: lines[folder], default="")


def _module(
    folder: str, files: Sequence[SourceFile], edges: _ModuleEdges, *, root: Path, is_main: bool
) -> CodeModule:
    paths = tuple(sorted((file.path for file in files), key=lambda p: (is_generated(p), p)))
    used = edges.used_files(folder)
    by_use = sorted(paths, key=lambda p: (is_generated(p), -used[p], p))
    purpose, read_from = purpose_of(root, folder, by_use, is_main=is_main)
    languages = Counter(file.language for file in files)
    return CodeModule(
        folder=f"{folder}/" if folder else "./",
        name=_name(folder),
        languages=tuple(name for name, _ in languages.most_common()),
        files=paths,
        lines=sum(file.line_count for file in files),
        is_test=is_test(folder) or all(file.is_test for file in files),
        depends_on=edges.links(folder, leaving=True),
        used_by=edges.links(folder, leaving=False),
        gives=edges.exports(folder),
        entry_points=tuple(p for p in paths if _ENTRY_NAMES.match(basename(p)))[:_MAX_EXPORTS],
        tests=edges.tests(folder),
        purpose=purpose,
        read_from=read_from,
    )


# -- Which folders are modules --------------------------------------------------------------------


class _Folder(NamedTuple):
    """Total lines of a folder, whether it has files of its own, and its subfolders."""

    lines: int
    has_files: bool
    children: frozenset[str]


def module_folders(files: Iterable[SourceFile], *, limit: int) -> frozenset[str]:
    """The folders that become modules; the root is the empty string."""
    folders = _folders(files)
    enough = folders[""].lines * _SPLIT_SHARE if "" in folders else 0
    chosen = {""} & folders.keys()
    waiting = [(-folders[name].lines, name) for name in chosen]
    heapify(waiting)
    while waiting:
        _, name = heappop(waiting)
        folder = folders[name]
        after = len(chosen) + len(folder.children) - (not folder.has_files)
        is_chain = len(folder.children) == 1 and not folder.has_files
        is_worth = folder.lines >= enough and not is_test(name) and after <= limit
        if not folder.children or not (is_chain or is_worth):
            continue
        if not folder.has_files:
            chosen.discard(name)
        for child in folder.children:
            chosen.add(child)
            heappush(waiting, (-folders[child].lines, child))
    return frozenset(chosen)


def _folders(files: Iterable[SourceFile]) -> dict[str, _Folder]:
    lines: Counter[str] = Counter()
    direct: set[str] = set()
    children: dict[str, set[str]] = defaultdict(set)
    for file in files:
        direct.add(dirname(file.path))
        for folder in ancestors(file.path):
            lines[folder] += file.line_count
            if folder:
                children[dirname(folder)].add(folder)
    return {
        folder: _Folder(count, folder in direct, frozenset(children[folder]))
        for folder, count in lines.items()
    }


def _module_of(path: str, chosen: frozenset[str]) -> str:
    """The module that a file belongs to."""
    return next((folder for folder in ancestors(path) if folder in chosen), "")


def _name(folder: str) -> str:
    parts = [part for part in folder.split("/") if part]
    if len(parts) > 1 and parts[0] in ("src", "lib"):
        parts = parts[1:]
    return ".".join(parts) or "."


# -- Dependencies ---------------------------------------------------------------------------------


class _ModuleEdges:
    """Edges between modules, counted once for all."""

    def __init__(self, store: GraphStore, tree: str, modules: Mapping[str, str]) -> None:
        self._store = store
        self._tree = tree
        snapshot = GraphSnapshot(store.edge_table(tree), store.node_table(tree))
        self._snapshot = snapshot
        self._folders = sorted(set(modules.values()))
        self._indices = {folder: index for index, folder in enumerate(self._folders)}
        of_file = [self._indices.get(modules.get(path, ""), -1) if path in modules else -1
                   for path in snapshot.paths]  # fmt: skip
        # The last entry is for nodes without a file, whose index is -1.
        module = np.array([*of_file, -1], dtype=np.int64)[snapshot.files]
        sources, targets = snapshot.edges()
        crossing = (
            (module[sources] != module[targets]) & (module[sources] >= 0) & (module[targets] >= 0)
        )
        self._sources, self._targets = sources[crossing], targets[crossing]
        self._from, self._to = module[self._sources], module[self._targets]

    def links(self, folder: str, *, leaving: bool) -> tuple[ModuleLink, ...]:
        """Modules that a module depends on, or that depend on it, most edges first."""
        own, other = (self._from, self._to) if leaving else (self._to, self._from)
        found, counts = np.unique(other[own == self._indices[folder]], return_counts=True)
        named = [
            ModuleLink(f"{self._folders[index]}/" if self._folders[index] else "./", int(count))
            for index, count in zip(found.tolist(), counts.tolist(), strict=True)
        ]
        return tuple(sorted(named, key=lambda link: (-link.edges, link.folder)))

    def used_files(self, folder: str) -> Counter[str]:
        """How often other modules use each file of a module."""
        files = self._snapshot.files[self._targets[self._to == self._indices[folder]]]
        return Counter(self._snapshot.paths[int(index)] for index in files if index >= 0)

    def exports(self, folder: str) -> tuple[str, ...]:
        """Names of symbols that other modules use, most used first."""
        targets = self._targets[self._to == self._indices[folder]]
        symbols = self._most(targets, 4 * _MAX_EXPORTS)
        nodes = self._store.nodes_by_number(
            self._tree, [int(self._snapshot.numbers[p]) for p in symbols]
        )
        named = [nodes[int(self._snapshot.numbers[p])] for p in symbols]
        kinds = (NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.FUNCTION)
        named.sort(key=lambda node: is_generated(node.path or ""))
        names = [n.qualname for n in named if n.kind in kinds and not n.is_test]
        outer = (name for name in names if "." not in name and not name.startswith("_"))
        return tuple(dict.fromkeys(outer))[:_MAX_EXPORTS]

    def tests(self, folder: str) -> tuple[str, ...]:
        """Test files outside a module that use it directly."""
        files = np.unique(self._snapshot.files[self._sources[self._to == self._indices[folder]]])
        paths = [self._snapshot.paths[int(index)] for index in files if index >= 0]
        return tuple(path for path in paths if self._snapshot.is_test_file(path))[:_MAX_TESTS]

    @staticmethod
    def _most(indices: Ints, limit: int) -> list[int]:
        found, counts = np.unique(indices, return_counts=True)
        return found[np.lexsort((found, -counts))][:limit].tolist()
