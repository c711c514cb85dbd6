"""Builds the edges of one file from its facts and the rest of the tree.

Deterministic: the same facts in the same tree give the same edges, in any order of files. A
duplicate edge keeps the higher confidence and the first line.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import commonprefix, dirname

from wellkept.core.graph import SYMBOL_MARK, Edge, EdgeKind, NodeKind
from wellkept.core.ports.graph import FileEdges
from wellkept.graph.parse.file_facts import HANDED, STAR, UNKNOWN, ExportedNames, FileUses, Import
from wellkept.graph.parse.language import ImportTarget, Language, ResolvedImport
from wellkept.graph.parse.resolver_context import ResolverContext, stem
from wellkept.graph.resolve.scopes import NameResolver, ResolvedName, widest_scope

_BY_MEMBER = 0.4
"""A method on a value of unknown type, if only one visible class has such a method."""
_BY_HAND = 0.9
"""A function that is handed on, by name or bound to its object: whoever gets it may call it."""
_BY_TEST_NAME = 0.8
_BY_OVERRIDE = 0.4
"""A call of a method may run an override."""
_DECLARED = frozenset({NodeKind.CLASS, NodeKind.INTERFACE})


def node_id(target: ImportTarget) -> str:
    """The node id of a target."""
    return f"{target.path}{SYMBOL_MARK}{target.qualname}" if target.qualname else target.path


class EdgeBuilder:
    """Builds the edges of files, one at a time."""

    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._resolver = NameResolver(context)

    def build(self, path: str, uses: FileUses) -> FileEdges:
        """The edges of one file and the lookups they depend on."""
        self._context.take_lookups()
        names, language = self._context.names(path), self._context.language_of(path)
        edge_set = _EdgeSet(path)
        if names is not None and language is not None:
            self._imports(edge_set, names, uses)
            self._exports(edge_set, names)
            self._bases(edge_set, names)
            self._calls(edge_set, names, uses)
            self._link_tested_file(edge_set, language)
        return FileEdges(path=path, edges=edge_set.edges(), lookups=self._context.take_lookups())

    def _imports(self, edge_set: _EdgeSet, names: ExportedNames, uses: FileUses) -> None:
        for index, item in enumerate(names.imports):
            found = self._context.resolve_import(edge_set.path, index)
            line = uses.import_lines[index] if index < len(uses.import_lines) else 0
            for file in found.files:
                edge_set.add(edge_set.path, file, EdgeKind.IMPORTS, found.confidence, line)
            for target in self._imported_targets(item, found):
                # Not a whole file reached through a re-export, nor the file itself.
                is_direct = target.qualname or target.path in found.files
                if is_direct and target.path != edge_set.path:
                    id_ = node_id(target)
                    edge_set.add(edge_set.path, id_, EdgeKind.IMPORTS, found.confidence, line)

    def _imported_targets(self, item: Import, found: ResolvedImport) -> Iterator[ImportTarget]:
        """Targets of imported names that exist."""
        for name, targets in found.binds:
            if not name or item.form == "top":
                continue
            candidates = (self._resolver.descend(target, (), 0) for target in targets)
            resolved = next((m for m in candidates if m is not None), None)
            if resolved is not None and not resolved.target.is_package:
                yield resolved.target

    def _exports(self, edge_set: _EdgeSet, names: ExportedNames) -> None:
        """Exports: top-level symbols and re-exports."""
        for qualname in edge_set.public_symbols(names):
            edge_set.add(edge_set.path, f"{edge_set.path}{SYMBOL_MARK}{qualname}", EdgeKind.EXPORTS)
        for index, item in enumerate(names.imports):
            if item.form == "export":
                found = self._context.resolve_import(edge_set.path, index)
                for target in self._imported_targets(item, found):
                    edge_set.add(edge_set.path, node_id(target), EdgeKind.EXPORTS)
        for outer, inner in names.exports:
            if inner not in names.symbols and outer != STAR:
                exported = self._resolver.exported(ImportTarget(edge_set.path), outer)
                if exported is not None and self._resolver.is_node(exported):
                    edge_set.add(edge_set.path, node_id(exported), EdgeKind.EXPORTS)

    def _bases(self, edge_set: _EdgeSet, names: ExportedNames) -> None:
        for owner, name, implements in names.bases:
            outer = owner.rpartition(".")[0]
            resolved = self._resolver.resolve(edge_set.path, outer, name.split("."))
            kind = self._resolver.kind(resolved.target) if resolved is not None else None
            if resolved is None or kind not in _DECLARED:
                continue
            owner_id = edge_set.id_of(owner, names) or self._declared_elsewhere(
                edge_set.path, owner
            )
            own = names.symbols.get(owner)
            promised = implements or (kind is NodeKind.INTERFACE and own is NodeKind.CLASS)
            edge = EdgeKind.IMPLEMENTS if promised else EdgeKind.EXTENDS
            if owner_id is not None:
                edge_set.add(owner_id, node_id(resolved.target), edge, resolved.confidence)
                self._overrides(edge_set, names, owner, resolved, edge)

    def _overrides(
        self,
        edge_set: _EdgeSet,
        names: ExportedNames,
        owner: str,
        base: ResolvedName,
        edge: EdgeKind,
    ) -> None:
        """An override depends on the base method, and may run when that is called. Overrides in
        tests do not count for the latter."""
        file = self._context.tree_index.files.get(edge_set.path)
        for name in names.methods_of.get(owner, ()):
            above = (
                None if name.startswith("__") else self._resolver.member(base.target, (name,), 0)
            )
            if above is None or self._resolver.kind(above.target) is not NodeKind.FUNCTION:
                continue
            own, other = f"{edge_set.path}{SYMBOL_MARK}{owner}.{name}", node_id(above.target)
            edge_set.add(own, other, edge, base.confidence * above.confidence)
            if file is not None and not file.is_test:
                edge_set.add(other, own, EdgeKind.CALLS, _BY_OVERRIDE * base.confidence)

    def _declared_elsewhere(self, path: str, owner: str) -> str | None:
        """The id of a class that is extended here but declared elsewhere."""
        resolved = self._resolver.resolve(path, "", owner.split("."))
        return node_id(resolved.target) if resolved is not None else None

    def class_named(self, path: str, name: str) -> str | None:
        """The id of the class or interface with a name in a file."""
        resolved = self._resolver.resolve(path, "", name.split("."))
        is_class = resolved is not None and self._resolver.kind(resolved.target) in _DECLARED
        return node_id(resolved.target) if resolved is not None and is_class else None

    def call_targets(self, path: str, uses: FileUses) -> dict[tuple[str, str], tuple[str, float]]:
        """Targets of calls and their confidence, by scope and callee as written."""
        names = self._context.names(path)
        if names is None:
            return {}
        resolved_calls = self._resolved_calls(_EdgeSet(path), names, uses)
        return {
            (scope, callee): (target, confidence)
            for scope, callee, _, target, confidence in resolved_calls
        }

    def _calls(self, edge_set: _EdgeSet, names: ExportedNames, uses: FileUses) -> None:
        for scope, _, line, target, confidence in self._resolved_calls(edge_set, names, uses):
            source = edge_set.id_of(scope, names) or edge_set.path
            edge_set.add(source, target, EdgeKind.CALLS, confidence, line)

    def _resolved_calls(
        self, edge_set: _EdgeSet, names: ExportedNames, uses: FileUses
    ) -> Iterator[tuple[str, str, int, str, float]]:
        """Scope, callee as written, line, target and confidence of calls that can be resolved."""
        language, bindings = self._context.language_of(edge_set.path), uses.bindings
        if language is None:
            return
        known = self._resolvable_names(edge_set.path, language, names, uses)
        cache: dict[tuple[str, str], ResolvedName | None] = {}
        for caller, callee, line in uses.calls:
            scope = uses.callers[caller] if caller >= 0 else ""
            handed = callee[0] == HANDED
            name = callee[1:] if handed else callee
            head, _, rest = name.partition(".")
            resolved = None
            if head != UNKNOWN and (known is None or head in known):
                # Functions of a file often call the same names: resolve each once.
                outer = widest_scope(scope, head, names, bindings, language)
                cache_key = (outer, callee)
                if cache_key not in cache:
                    parts = name.split(".")
                    cache[cache_key] = self._resolver.resolve(edge_set.path, outer, parts, bindings)
                resolved = cache[cache_key]
            if handed:
                if resolved and self._resolver.kind(resolved.target) is NodeKind.FUNCTION:
                    sure = _BY_HAND * resolved.confidence
                    yield scope, callee, line, node_id(resolved.target), sure
            elif resolved is not None and resolved.target.qualname:
                yield scope, callee, line, node_id(resolved.target), resolved.confidence
            elif resolved is None and rest:
                target = self._by_member(edge_set, head, rest.rpartition(".")[2], names)
                if target is not None:
                    yield scope, callee, line, target, _BY_MEMBER

    def _resolvable_names(
        self, path: str, language: Language, names: ExportedNames, uses: FileUses
    ) -> frozenset[str] | None:
        """Names that can resolve in a file, to skip others such as built-ins. None if names may
        also come from outside the file's text."""
        if language.implicit_self or language.implicit_scope or language.autoload:
            return None
        if self._resolver.stars(path):
            return None
        bound = {name for _, name in uses.bindings}
        return (
            names.simple_names
            | names.imported.keys()
            | bound
            | language.self_names
            | language.super_names
        )

    def _by_member(
        self, edge_set: _EdgeSet, head: str, name: str, names: ExportedNames
    ) -> str | None:
        """A method of a value of unknown type, if exactly one visible class has it."""
        if name in _COMMON_METHODS or head in names.imported or name.startswith("__"):
            return None
        if edge_set.visible is None:
            edge_set.visible = [*self._visible_methods(edge_set.path, names)]
        owners = [
            f"{path}{SYMBOL_MARK}{owner}.{name}"
            for path, methods in edge_set.visible
            for owner in methods.get(name, ())
        ]
        return owners[0] if len(owners) == 1 else None

    def _visible_methods(
        self, path: str, names: ExportedNames
    ) -> Iterator[tuple[str, dict[str, list[str]]]]:
        """A file and its imports, each with its classes by method name."""
        files = {path: None}
        for index in range(len(names.imports)):
            files.update(dict.fromkeys(self._context.resolve_import(path, index).files))
        for file in files:
            seen = self._context.names(file)
            if seen is not None and seen.members:
                yield file, seen.members

    def _link_tested_file(self, edge_set: _EdgeSet, language: Language) -> None:
        """A test file depends on the file it is named after."""
        file = self._context.tree_index.files.get(edge_set.path)
        if file is None or not file.is_test:
            return
        for pattern in language.tested_stems:
            match = pattern.match(stem(edge_set.path))
            if match is None:
                continue
            candidates = [
                path
                for extension in language.facts.extensions
                for path in self._context.files_named(f"{match.group(1)}{extension}")
                if path != edge_set.path
            ]
            if candidates:
                best = max(
                    candidates, key=lambda path: (_shared_folders(path, edge_set.path), path)
                )
                edge_set.add(edge_set.path, best, EdgeKind.DEPENDS_LOGICALLY, _BY_TEST_NAME)
            return


class _EdgeSet:
    """Collects the edges of one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._edges: dict[tuple[str, str, EdgeKind], tuple[float, int]] = {}
        self.visible: list[tuple[str, dict[str, list[str]]]] | None = None
        """The files whose classes are visible, each with its classes by method name."""

    def add(
        self, source: str, target: str, kind: EdgeKind, confidence: float = 1.0, line: int = 0
    ) -> None:
        """Add an edge, unless it points to itself."""
        if source == target:
            return
        before = self._edges.get((source, target, kind))
        if before is not None:
            confidence = max(confidence, before[0])
            line = min(line, before[1]) or line or before[1]
        self._edges[(source, target, kind)] = (confidence, line)

    def edges(self) -> tuple[Edge, ...]:
        """All edges, in a fixed order."""
        return tuple(
            Edge(source=s, target=t, kind=kind, confidence=round(confidence, 3), line=line)
            for (s, t, kind), (confidence, line) in sorted(self._edges.items())
        )

    def id_of(self, qualname: str, names: ExportedNames) -> str | None:
        """The id of a symbol of this file, or None."""
        if qualname not in names.symbols:
            return None
        return f"{self.path}{SYMBOL_MARK}{qualname}"

    def public_symbols(self, names: ExportedNames) -> list[str]:
        """Top-level symbols that other files may use."""
        if names.exports:
            return [inner for _, inner in names.exports if inner in names.symbols]
        return [q for q in names.symbols if "." not in q and not q.startswith("_")]


def _shared_folders(path: str, other: str) -> int:
    """How many folders two paths share, from the start and by name."""
    mine, theirs = dirname(path).split("/"), dirname(other).split("/")
    return len(commonprefix([mine, theirs])) + len(set(mine) & set(theirs))


# Methods of built-in types: the name alone does not identify a class.
_COMMON_METHODS = frozenset(
    "add append apply bind call clear close concat contains copy count create decode delete emit"
    " encode endswith entries equals every exists extend filter find first flush format get has"
    " hash index init insert is_empty items iter join keys last len length list load lower map"
    " match new next open pop push put read reduce remove replace reset reverse run save seek send"
    " set shift size slice some sort split start startswith stop strip sub substring test then"
    " toString to_s trim update upper values write".split()
)
