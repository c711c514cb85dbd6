"""The flows of the functions of a tree, read from their files when they are asked for.

A file is parsed in this process only when its bytes are the very ones that a worker has already
parsed without harm; one that changed since is named as stale instead. Who is called is found by
what draws the edges of the graph, so that both always agree.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from wellkept.codegraph.index.fingerprints import hash_of, marked
from wellkept.codegraph.languages import language_of
from wellkept.codegraph.parse.extract import OpenedFile, opened
from wellkept.codegraph.parse.file_facts import uses_from_bytes
from wellkept.codegraph.parse.language import Language
from wellkept.codegraph.parse.resolver_context import ResolverContext
from wellkept.codegraph.parse.tree_index import TreeIndex
from wellkept.codegraph.query.dataflow import FunctionFlow, read_flow
from wellkept.codegraph.query.dataflow_syntax import (
    ASSIGNMENTS,
    NESTED,
    given_type,
    names_in,
    sides,
)
from wellkept.codegraph.resolve.edges import EdgeBuilder
from wellkept.core.graph import SYMBOL_MARK, FileState
from wellkept.core.ports.graph import GraphStore
from wellkept.core.records import record

_READ = (FileState.ANALYSED, FileState.PARTLY)
_TYPE_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_TOP_LEVELS = 3
"""A variable of a file is at most so deep in its syntax: declaration, declarator, export."""


@record(kw_only=True)
class _File:
    source: bytes
    language: Language
    opened: OpenedFile
    variables: frozenset[str]
    meant: dict[tuple[str, str], tuple[str, float]]


class FlowFiles:
    """Flows of one tree, as its graph is now; `stale` gathers files that changed since."""

    def __init__(self, store: GraphStore, tree: str, root: Path) -> None:
        self._store = store
        self._tree = tree
        self._root = root
        self._files: dict[str, _File | None] = {}
        self._flows: dict[tuple[str, str], FunctionFlow | None] = {}
        self._drawer: EdgeBuilder | None = None
        self.stale: set[str] = set()

    @property
    def count(self) -> int:
        """How many functions were looked into."""
        return len(self._flows)

    def flow(self, node_id: str, *, watched: str = "") -> FunctionFlow | None:
        """The flow of a function, or of the top level of a file; None where it cannot be read."""
        if watched:
            return self._read(node_id, watched)
        if (node_id, "") not in self._flows:
            self._flows[(node_id, "")] = self._read(node_id, "")
        return self._flows[(node_id, "")]

    def called(self, node_id: str, callee: str) -> tuple[str, float] | None:
        """Who is meant by a callee as written in a function, and how sure that is."""
        path, _, scope = node_id.partition(SYMBOL_MARK)
        file = self._file(path)
        return None if file is None else file.meant.get((scope, callee))

    def given_class(self, node_id: str) -> str | None:
        """The class of what a function says it gives back; the first of the tree's own in it."""
        path, _, qualname = node_id.partition(SYMBOL_MARK)
        file = self._file(path)
        node = file.opened.functions.get(qualname) if file is not None else None
        if node is None:
            return None
        named = _TYPE_NAME.findall(given_type(node))
        found = (self._draws().class_named(path, name) for name in named)
        return next((one for one in found if one is not None), None)

    def readers(self, path: str, name: str, *, inside: str = "") -> Iterator[str]:
        """Functions of a file whose text has a name; only those inside a class, if one is given."""
        file = self._file(path)
        if file is None:
            return
        word = name.encode()
        for qualname, node in file.opened.functions.items():
            is_inside = not inside or qualname.rpartition(".")[0] == inside
            if is_inside and word in file.source[node.start_byte : node.end_byte]:
                yield f"{path}{SYMBOL_MARK}{qualname}"

    def has(self, node_id: str) -> bool:
        """Whether there is such a function."""
        path, _, qualname = node_id.partition(SYMBOL_MARK)
        file = self._file(path)
        return file is not None and qualname in file.opened.functions

    def _read(self, node_id: str, watched: str) -> FunctionFlow | None:
        path, _, qualname = node_id.partition(SYMBOL_MARK)
        file = self._file(path)
        if file is None:
            return None
        node = file.opened.functions.get(qualname) if qualname else file.opened.root
        if node is None:
            return None
        try:
            return read_flow(
                node,
                language=file.language,
                calls=file.opened.calls,
                globals_=file.variables if qualname else frozenset(),
                watched=watched,
            )
        except RecursionError:  # an expression nested thousands of times, which no person wrote
            return None

    def _file(self, path: str) -> _File | None:
        if path not in self._files:
            self._files[path] = self._opened(path)
        return self._files[path]

    def _opened(self, path: str) -> _File | None:
        known, language = self._store.file(self._tree, path), language_of(path)
        if known is None or known.state not in _READ or language is None:
            return None
        try:
            source = (self._root / path).read_bytes()
        except OSError:
            source = b""
        if marked(hash_of(source)) != known.content_hash:
            self.stale.add(path)
            return None
        if language.dialect is not None:
            language = language.dialect(source) or language
        found = opened(source, language)
        return _File(
            source=source,
            language=language,
            opened=found,
            variables=_variables(found),
            meant=self._meant(path),
        )

    def _meant(self, path: str) -> dict[tuple[str, str], tuple[str, float]]:
        facts = self._store.facts(self._tree, [path]).get(path)
        return self._draws().meant(path, uses_from_bytes(facts)) if facts else {}

    def _draws(self) -> EdgeBuilder:
        if self._drawer is None:
            layout = TreeIndex(self._store.files(self._tree))
            outlook = ResolverContext(
                layout,
                load=self._names,
                language_of=language_of,
                root_name=self._root.resolve().name,
            )
            self._drawer = EdgeBuilder(outlook)
        return self._drawer

    def _names(self, paths: Collection[str]) -> dict[str, bytes]:
        return self._store.names(self._tree, paths)


def _variables(file: OpenedFile) -> frozenset[str]:
    """Names of the variables at the top of a file."""
    found: set[str] = set()
    waiting = [(child, 1) for child in file.root.named_children]
    while waiting:
        node, depth = waiting.pop()
        if node.type in ASSIGNMENTS:
            target = sides(node)[0]
            found.update(names_in(target) if target is not None else ())
        elif depth < _TOP_LEVELS and node.type not in NESTED:
            waiting.extend((child, depth + 1) for child in node.named_children)
    return frozenset(found)
