"""Draws the edges of one file from its facts and what can be seen of the tree.

Deterministic: the same facts in the same tree give the same edges, in whatever order files are
drawn. An edge that is found twice keeps the surer reading and the first line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from posixpath import commonprefix, dirname

from wellkept.codegraph.parse.file_facts import STAR, UNKNOWN, ExportedNames, FileUses, Import
from wellkept.codegraph.parse.language import ImportTarget, Language, ResolvedImport
from wellkept.codegraph.parse.resolver_context import ResolverContext, stem
from wellkept.codegraph.resolve.scopes import ResolvedName, Scopes, widest
from wellkept.core.graph import SYMBOL_MARK, Edge, EdgeKind, NodeKind
from wellkept.core.ports.graph import FileEdges

_BY_MEMBER = 0.4
"""A method on a value of unknown type, when only one class in sight has such a method."""
_BY_TEST_NAME = 0.8
_BY_OVERRIDE = 0.4
"""A call of a method may run one that overrides it."""
_DECLARED = frozenset({NodeKind.CLASS, NodeKind.INTERFACE})

Methods = dict[str, list[tuple[str, str]]]
"""(file, class) of methods, by their name."""


def node_id(target: ImportTarget) -> str:
    """The id of what a name stands for."""
    return f"{target.path}{SYMBOL_MARK}{target.qualname}" if target.qualname else target.path


class EdgeBuilder:
    """Draws the edges of files, one at a time."""

    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._scopes = Scopes(context)

    def build(self, path: str, uses: FileUses) -> FileEdges:
        """The edges of one file and the questions they rest on."""
        self._context.taken()
        names, language = self._context.names(path), self._context.language_of(path)
        sheet = _Sheet(path)
        if names is not None and language is not None:
            self._imports(sheet, names, uses)
            self._exports(sheet, names)
            self._bases(sheet, names)
            self._calls(sheet, names, uses)
            self._tested(sheet, language)
        return FileEdges(path=path, edges=sheet.edges(), lookups=self._context.taken())

    def _imports(self, sheet: _Sheet, names: ExportedNames, uses: FileUses) -> None:
        for place, item in enumerate(names.imports):
            found = self._context.found(sheet.path, place)
            line = uses.import_lines[place] if place < len(uses.import_lines) else 0
            for file in found.files:
                sheet.add(sheet.path, file, EdgeKind.IMPORTS, found.confidence, line)
            for target in self._bound(item, found):
                # Neither a whole file that another one passes on is imported, nor what is here.
                is_meant = target.qualname or target.path in found.files
                if is_meant and target.path != sheet.path:
                    sheet.add(sheet.path, node_id(target), EdgeKind.IMPORTS, found.confidence, line)

    def _bound(self, item: Import, found: ResolvedImport) -> Iterator[ImportTarget]:
        """What the names of an import stand for, as far as it is there."""
        for name, targets in found.binds:
            if not name or item.form == "top":
                continue
            met = (self._scopes.descend(target, (), 0) for target in targets)
            meaning = next((m for m in met if m is not None), None)
            if meaning is not None and not meaning.target.is_package:
                yield meaning.target

    def _exports(self, sheet: _Sheet, names: ExportedNames) -> None:
        """What a file gives away: what it defines at its top, and what it passes on."""
        for qualname in sheet.exported(names):
            sheet.add(sheet.path, f"{sheet.path}{SYMBOL_MARK}{qualname}", EdgeKind.EXPORTS)
        for place, item in enumerate(names.imports):
            if item.form == "export":
                for target in self._bound(item, self._context.found(sheet.path, place)):
                    sheet.add(sheet.path, node_id(target), EdgeKind.EXPORTS)
        for outer, inner in names.exports:
            if inner not in names.symbols and outer != STAR:
                given = self._scopes.given(ImportTarget(sheet.path), outer)
                if given is not None and self._scopes.is_node(given):
                    sheet.add(sheet.path, node_id(given), EdgeKind.EXPORTS)

    def _bases(self, sheet: _Sheet, names: ExportedNames) -> None:
        for owner, name, implements in names.bases:
            outer = owner.rpartition(".")[0]
            meaning = self._scopes.resolve(sheet.path, outer, name.split("."))
            kind = self._scopes.kind(meaning.target) if meaning is not None else None
            if meaning is None or kind not in _DECLARED:
                continue
            owner_id = sheet.id_of(owner, names) or self._elsewhere(sheet.path, owner)
            own = names.symbols.get(owner)
            promised = implements or (kind is NodeKind.INTERFACE and own is NodeKind.CLASS)
            edge = EdgeKind.IMPLEMENTS if promised else EdgeKind.EXTENDS
            if owner_id is not None:
                sheet.add(owner_id, node_id(meaning.target), edge, meaning.confidence)
                self._overrides(sheet, names, owner, meaning, edge)

    def _overrides(
        self, sheet: _Sheet, names: ExportedNames, owner: str, base: ResolvedName, edge: EdgeKind
    ) -> None:
        """A method follows the one above it, and may be what runs when that one is called. What
        tests override says nothing about the rest."""
        file = self._context.tree_index.files.get(sheet.path)
        for name in names.methods_of.get(owner, ()):
            above = None if name.startswith("__") else self._scopes.member(base.target, (name,), 0)
            if above is None or self._scopes.kind(above.target) is not NodeKind.FUNCTION:
                continue
            own, other = f"{sheet.path}{SYMBOL_MARK}{owner}.{name}", node_id(above.target)
            sheet.add(own, other, edge, base.confidence * above.confidence)
            if file is not None and not file.is_test:
                sheet.add(other, own, EdgeKind.CALLS, _BY_OVERRIDE * base.confidence)

    def _elsewhere(self, path: str, owner: str) -> str | None:
        """The id of a class that is extended here but declared in another file."""
        meaning = self._scopes.resolve(path, "", owner.split("."))
        return node_id(meaning.target) if meaning is not None else None

    def class_named(self, path: str, name: str) -> str | None:
        """The id of the class or interface that a name means in a file."""
        meaning = self._scopes.resolve(path, "", name.split("."))
        is_class = meaning is not None and self._scopes.kind(meaning.target) in _DECLARED
        return node_id(meaning.target) if meaning is not None and is_class else None

    def call_targets(self, path: str, uses: FileUses) -> dict[tuple[str, str], tuple[str, float]]:
        """Who is called in a file and how sure that is, by the scope and the callee as written."""
        names = self._context.names(path)
        if names is None:
            return {}
        called = self._called(_Sheet(path), names, uses)
        return {(scope, callee): (target, sure) for scope, callee, _, target, sure in called}

    def _calls(self, sheet: _Sheet, names: ExportedNames, uses: FileUses) -> None:
        for scope, _, line, target, confidence in self._called(sheet, names, uses):
            source = sheet.id_of(scope, names) or sheet.path
            sheet.add(source, target, EdgeKind.CALLS, confidence, line)

    def _called(
        self, sheet: _Sheet, names: ExportedNames, uses: FileUses
    ) -> Iterator[tuple[str, str, int, str, float]]:
        """Scope, callee as written, line, who that is and how sure, for the calls that mean
        something in this tree."""
        language, bindings = self._context.language_of(sheet.path), uses.bindings
        if language is None:
            return
        known = self._heads(sheet.path, language, names, uses)
        resolved: dict[tuple[str, str], ResolvedName | None] = {}
        for caller, callee, line in uses.calls:
            scope = uses.callers[caller] if caller >= 0 else ""
            parts = callee.split(".")
            meaning = None
            if parts[0] != UNKNOWN and (known is None or parts[0] in known):
                # Many functions of a file call the same, which is looked up once for all of them.
                outer = widest(scope, parts[0], names, bindings, language)
                spot = (outer, callee)
                if spot not in resolved:
                    resolved[spot] = self._scopes.resolve(sheet.path, outer, parts, bindings)
                meaning = resolved[spot]
            if meaning is not None and meaning.target.qualname:
                yield scope, callee, line, node_id(meaning.target), meaning.confidence
            elif meaning is None and len(parts) > 1:
                target = self._by_member(sheet, parts, names)
                if target is not None:
                    yield scope, callee, line, target, _BY_MEMBER

    def _heads(
        self, path: str, language: Language, names: ExportedNames, uses: FileUses
    ) -> frozenset[str] | None:
        """Names that can mean anything in a file at all, to pass over the many that cannot, such
        as built-in functions; None where names may also come from outside the file's text."""
        if language.implicit_self or language.scope_of or language.autoload:
            return None
        if self._scopes.stars(path):
            return None
        bound = {name for _, name in uses.bindings}
        return (
            names.last_names
            | names.imported.keys()
            | bound
            | language.self_names
            | language.super_names
        )

    def _by_member(self, sheet: _Sheet, parts: list[str], names: ExportedNames) -> str | None:
        """A method of a value whose type is unknown: only where one class in sight has it."""
        name = parts[-1]
        if name in _EVERYWHERE or parts[0] in names.imported or name.startswith("__"):
            return None
        owners = sheet.owners(name, lambda: self._in_sight(sheet.path, names))
        if len(owners) != 1:
            return None
        path, owner = owners[0]
        return f"{path}{SYMBOL_MARK}{owner}.{name}"

    def _in_sight(self, path: str, names: ExportedNames) -> Methods:
        """Methods of the classes of a file and of those it imports, by name."""
        files = {path: None}
        for place in range(len(names.imports)):
            files.update(dict.fromkeys(self._context.found(path, place).files))
        methods: Methods = {}
        for file in files:
            seen = self._context.names(file)
            for name, owners in (seen.members if seen is not None else {}).items():
                methods.setdefault(name, []).extend((file, owner) for owner in owners)
        return methods

    def _tested(self, sheet: _Sheet, language: Language) -> None:
        """A test file depends on the file it is named after."""
        file = self._context.tree_index.files.get(sheet.path)
        if file is None or not file.is_test:
            return
        for pattern in language.tested_stems:
            match = pattern.match(stem(sheet.path))
            if match is None:
                continue
            candidates = [
                path
                for extension in language.extensions
                for path in self._context.named(f"{match.group(1)}{extension}")
                if path != sheet.path
            ]
            if candidates:
                best = max(candidates, key=lambda path: (_nearness(path, sheet.path), path))
                sheet.add(sheet.path, best, EdgeKind.DEPENDS_LOGICALLY, _BY_TEST_NAME)
            return


class _Sheet:
    """The edges of one file as they come."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._edges: dict[tuple[str, str, EdgeKind], tuple[float, int]] = {}
        self._methods: Methods | None = None

    def add(
        self, source: str, target: str, kind: EdgeKind, confidence: float = 1.0, line: int = 0
    ) -> None:
        """One edge; nothing points to itself."""
        if source == target:
            return
        before = self._edges.get((source, target, kind))
        if before is not None:
            confidence = max(confidence, before[0])
            line = min(line, before[1]) or line or before[1]
        self._edges[(source, target, kind)] = (confidence, line)

    def edges(self) -> tuple[Edge, ...]:
        """All of them, in a fixed order."""
        return tuple(
            Edge(source=s, target=t, kind=kind, confidence=round(sure, 3), line=line)
            for (s, t, kind), (sure, line) in sorted(self._edges.items())
        )

    def id_of(self, qualname: str, names: ExportedNames) -> str | None:
        """The id of a symbol of this file, if it is one."""
        if qualname not in names.symbols:
            return None
        return f"{self.path}{SYMBOL_MARK}{qualname}"

    def exported(self, names: ExportedNames) -> list[str]:
        """Symbols at the top of the file that others may use."""
        if names.exports:
            return [inner for _, inner in names.exports if inner in names.symbols]
        return [q for q in names.symbols if "." not in q and not q.startswith("_")]

    def owners(self, name: str, look: Callable[[], Methods]) -> list[tuple[str, str]]:
        """Classes in sight that have a method of that name; looked for once."""
        if self._methods is None:
            self._methods = look()
        return self._methods.get(name, [])


def _nearness(path: str, other: str) -> int:
    """How many folders two paths share, by name and from either end."""
    mine, theirs = dirname(path).split("/"), dirname(other).split("/")
    return len(commonprefix([mine, theirs])) + len(set(mine) & set(theirs))


# Methods that values of every language's own types have: such a name alone tells nothing.
_EVERYWHERE = frozenset(
    "add append apply bind call clear close concat contains copy count create decode delete emit"
    " encode endswith entries equals every exists extend filter find first flush format get has"
    " hash index init insert is_empty items iter join keys last len length list load lower map"
    " match new next open pop push put read reduce remove replace reset reverse run save seek send"
    " set shift size slice some sort split start startswith stop strip sub substring test then"
    " toString to_s trim update upper values write".split()
)
