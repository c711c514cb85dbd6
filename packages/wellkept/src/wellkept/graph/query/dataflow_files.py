"""Loads data flow of functions from source files on demand.

A file is parsed in this process only if its bytes are exactly those that a worker parsed safely
before; a changed file is reported as stale instead. Calls are resolved by the edge builder, so that
data flow and graph agree.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from wellkept.core.graph import SYMBOL_MARK, FileState
from wellkept.core.ports.graph import GraphStore
from wellkept.core.records import record
from wellkept.graph.index.parse_file import hash_of, versioned_hash
from wellkept.graph.languages import language_of
from wellkept.graph.parse.extract import ParsedSyntax, parse_syntax
from wellkept.graph.parse.file_facts import uses_from_bytes
from wellkept.graph.parse.language import Language
from wellkept.graph.parse.resolver_context import ResolverContext
from wellkept.graph.parse.tree_index import TreeIndex
from wellkept.graph.query.dataflow import FunctionFlow, read_flow
from wellkept.graph.query.dataflow_syntax import (
    ASSIGNMENTS,
    NESTED,
    assignment_sides,
    bound_names,
    return_type,
)
from wellkept.graph.resolve.edges import EdgeBuilder

_PARSED = (FileState.ANALYSED, FileState.PARTLY)
_TYPE_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_TOP_LEVELS = 3
"""Syntax depth of a file's variables: declaration, declarator, export."""


@record(kw_only=True)
class _File:
    source: bytes
    language: Language
    syntax: ParsedSyntax
    variables: frozenset[str]
    call_targets: dict[tuple[str, str], tuple[str, float]]


class DataflowFiles:
    """Data flow of one tree. `stale` collects files that changed since the last build."""

    def __init__(self, store: GraphStore, tree: str, root: Path) -> None:
        self._store = store
        self._tree = tree
        self._root = root
        self._files: dict[str, _File | None] = {}
        self._flows: dict[tuple[str, str], FunctionFlow | None] = {}
        self._edge_builder: EdgeBuilder | None = None
        self.stale: set[str] = set()

    @property
    def count(self) -> int:
        """Number of functions loaded."""
        return len(self._flows)

    def flow(self, node_id: str, *, watched: str = "") -> FunctionFlow | None:
        """The flow of a function or of a file's top level; None if it cannot be read."""
        if watched:
            return self._read(node_id, watched)
        if (node_id, "") not in self._flows:
            self._flows[(node_id, "")] = self._read(node_id, "")
        return self._flows[(node_id, "")]

    def called(self, node_id: str, callee: str) -> tuple[str, float] | None:
        """The target of a callee as written in a function, and the confidence."""
        path, _, scope = node_id.partition(SYMBOL_MARK)
        file = self._file(path)
        return None if file is None else file.call_targets.get((scope, callee))

    def returned_class(self, node_id: str) -> str | None:
        """The first class of this tree in a function's declared return type."""
        path, _, qualname = node_id.partition(SYMBOL_MARK)
        file = self._file(path)
        node = file.syntax.functions.get(qualname) if file is not None else None
        if node is None:
            return None
        named = _TYPE_NAME.findall(return_type(node))
        found = (self._edges().class_named(path, name) for name in named)
        return next((one for one in found if one is not None), None)

    def readers(self, path: str, name: str, *, inside: str = "") -> Iterator[str]:
        """Functions of a file that mention a name; with `inside`, only those of a class."""
        file = self._file(path)
        if file is None:
            return
        word = name.encode()
        for qualname, node in file.syntax.functions.items():
            is_inside = not inside or qualname.rpartition(".")[0] == inside
            if is_inside and word in file.source[node.start_byte : node.end_byte]:
                yield f"{path}{SYMBOL_MARK}{qualname}"

    def has(self, node_id: str) -> bool:
        """Whether the function exists."""
        path, _, qualname = node_id.partition(SYMBOL_MARK)
        file = self._file(path)
        return file is not None and qualname in file.syntax.functions

    def _read(self, node_id: str, watched: str) -> FunctionFlow | None:
        path, _, qualname = node_id.partition(SYMBOL_MARK)
        file = self._file(path)
        if file is None:
            return None
        node = file.syntax.functions.get(qualname) if qualname else file.syntax.root
        if node is None:
            return None
        try:
            return read_flow(
                node,
                language=file.language,
                calls=file.syntax.calls,
                globals_=file.variables if qualname else frozenset(),
                watched=watched,
            )
        except RecursionError:  # generated code, nested thousands of levels deep
            return None

    def _file(self, path: str) -> _File | None:
        if path not in self._files:
            self._files[path] = self._load(path)
        return self._files[path]

    def _load(self, path: str) -> _File | None:
        known, language = self._store.file(self._tree, path), language_of(path)
        if known is None or known.state not in _PARSED or language is None:
            return None
        try:
            source = (self._root / path).read_bytes()
        except OSError:
            source = b""
        if versioned_hash(hash_of(source)) != known.content_hash:
            self.stale.add(path)
            return None
        if language.dialect is not None:
            language = language.dialect(source) or language
        found = parse_syntax(source, language)
        return _File(
            source=source,
            language=language,
            syntax=found,
            variables=_variables(found),
            call_targets=self._call_targets(path),
        )

    def _call_targets(self, path: str) -> dict[tuple[str, str], tuple[str, float]]:
        facts = self._store.facts(self._tree, [path]).get(path)
        return self._edges().call_targets(path, uses_from_bytes(facts)) if facts else {}

    def _edges(self) -> EdgeBuilder:
        if self._edge_builder is None:
            tree_index = TreeIndex(self._store.files(self._tree))
            context = ResolverContext(
                tree_index,
                load=self._names,
                language_of=language_of,
                root_name=self._root.resolve().name,
            )
            self._edge_builder = EdgeBuilder(context)
        return self._edge_builder

    def _names(self, paths: Collection[str]) -> dict[str, bytes]:
        return self._store.names(self._tree, paths)


def _variables(file: ParsedSyntax) -> frozenset[str]:
    """Names of a file's top-level variables."""
    found: set[str] = set()
    waiting = [(child, 1) for child in file.root.named_children]
    while waiting:
        node, depth = waiting.pop()
        if node.type in ASSIGNMENTS:
            target = assignment_sides(node)[0]
            found.update(bound_names(target) if target is not None else ())
        elif depth < _TOP_LEVELS and node.type not in NESTED:
            waiting.extend((child, depth + 1) for child in node.named_children)
    return frozenset(found)
