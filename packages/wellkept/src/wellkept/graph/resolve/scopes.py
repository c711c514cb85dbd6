"""Resolves names by scope, import and type; never by spelling alone.

Lookup order: variables and definitions from the inside out, the file, its imports, its package,
then star imports. After a dot it continues in a module, a class and its bases, or the type of a
variable or field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from wellkept.core.graph import NodeKind
from wellkept.graph.parse.file_facts import RETURNED, STAR, ExportedNames
from wellkept.graph.parse.language import ImportTarget, Language
from wellkept.graph.parse.resolver_context import ResolverContext

_TYPES = frozenset({NodeKind.CLASS, NodeKind.INTERFACE})
_MAX_STEPS = 12
"""Limit of resolution steps, against cycles of types and re-exports."""
_BY_TYPE = 0.9
_MAX_TABLES = 16
Bindings = Mapping[tuple[str, str], str]
NO_BINDINGS: Bindings = {}
Parts = Sequence[str]


class ResolvedName(NamedTuple):
    """The target of a name, and the confidence."""

    target: ImportTarget
    confidence: float = 1.0


class _Location(NamedTuple):
    """Where a name is used."""

    path: str
    names: ExportedNames
    language: Language
    bindings: Bindings


class NameResolver:
    """Resolves names across the files of a tree."""

    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._tables: dict[str, dict[str, list[str]]] = {}

    def kind(self, target: ImportTarget) -> NodeKind | None:
        """The kind of a symbol."""
        names = self._context.names(target.path) if target.qualname else None
        return names.symbols.get(target.qualname) if names is not None else None

    def is_node(self, target: ImportTarget) -> bool:
        """Whether the graph has a node for it: a file or a symbol, not a package or variable."""
        return not target.is_package and (not target.qualname or self.kind(target) is not None)

    def resolve(
        self, path: str, scope: str, parts: Parts, bindings: Bindings = NO_BINDINGS, steps: int = 0
    ) -> ResolvedName | None:
        """Resolve a dotted name in a scope of a file."""
        names, language = self._context.names(path), self._context.language_of(path)
        if names is None or language is None or steps > _MAX_STEPS:
            return None
        location = _Location(path, names, language, bindings)
        if parts[0] in language.outer_names:
            scope, parts = _leave_modules(location, scope, parts)
            if not parts:
                return ResolvedName(ImportTarget(path, scope))
        head = parts[0]
        if head in language.self_names or head in language.super_names:
            return self._on_self(location, scope, parts, steps)
        for inner in enclosing_scopes(scope):
            bound = bindings.get((inner, head))
            if bound is not None:
                return self._by_type(location, inner, bound, parts[1:], steps)
            result = self._inside(location, inner, parts, steps)
            if result is not None:
                return result
        result = self._in_file(location, parts, steps)
        bound = bindings.get(("", head))
        if result is None and bound:
            return self._by_type(location, "", bound, parts[1:], steps)
        return result

    # -- Inside a file ----------------------------------------------------------------------------

    def _on_self(
        self, location: _Location, scope: str, parts: Parts, steps: int
    ) -> ResolvedName | None:
        """`self.x`, `this.x`, `super.x`."""
        owner = self._class_around(location, scope, steps)
        if owner is None:
            return None
        above = parts[0] in location.language.super_names
        starts = self.bases(owner) if above else (owner,)
        if len(parts) == 1:
            return ResolvedName(starts[0]) if starts else None
        return _first(self.member(start, parts[1:], steps + 1) for start in starts)

    def _class_around(self, location: _Location, scope: str, steps: int) -> ImportTarget | None:
        """The enclosing class of a scope, possibly declared in another file."""
        for inner in enclosing_scopes(scope):
            kind = location.names.symbols.get(inner)
            if kind in _TYPES:
                return ImportTarget(location.path, inner)
            if kind is None:
                result = self._in_file(location, inner.split("."), steps + 1)
                return result.target if result is not None else ImportTarget(location.path, inner)
        return None

    def _inside(
        self, location: _Location, scope: str, parts: Parts, steps: int
    ) -> ResolvedName | None:
        """Resolve a name among the definitions of a scope."""
        kind = location.names.symbols.get(scope)
        if kind in _TYPES or kind is None:
            if not location.language.implicit_self:
                return None
            owner = self._class_around(location, scope, steps)
            return self.member(owner, parts, steps + 1) if owner is not None else None
        inner = f"{scope}.{parts[0]}"
        if inner not in location.names.symbols:
            return None
        return self.descend(ImportTarget(location.path, inner), parts[1:], steps + 1)

    def _in_file(self, location: _Location, parts: Parts, steps: int) -> ResolvedName | None:
        path, names, language, _ = location
        if parts[0] in names.symbols:
            return self.descend(ImportTarget(path, parts[0]), parts[1:], steps + 1)
        if parts[0] in names.imported:
            return self._imported(location, parts, steps)
        if language.implicit_scope is not None:
            shared = language.implicit_scope(path, names, self._context)
            result = _first(self._exported_member(target, parts, steps) for target in shared)
            if result is not None:
                return result
        result = _first(
            self.descend(exported, parts[1:], steps + 1)
            for file in self._star_exporters(path, parts[0])
            if (exported := self._own_export(file, parts[0], steps)) is not None
        )
        if result is None and language.autoload is not None:
            loaded = language.autoload(parts[0], path, self._context)
            result = _first(self.descend(target, parts[1:], steps + 1) for target in loaded)
        if result is None and language.skips_namespaces and len(parts) > 1 and steps <= _MAX_STEPS:
            return self._in_file(location, parts[1:], steps + 1)
        return result

    def _imported(self, location: _Location, parts: Parts, steps: int) -> ResolvedName | None:
        found = self._context.resolve_import(location.path, location.names.imported[parts[0]])
        targets = next((targets for name, targets in found.binds if name == parts[0]), ())
        result = _first(self.descend(target, parts[1:], steps + 1) for target in targets)
        return result and result._replace(confidence=result.confidence * found.confidence)

    def _exported_member(
        self, target: ImportTarget, parts: Parts, steps: int
    ) -> ResolvedName | None:
        exported = self.exported(target, parts[0], steps + 1)
        return None if exported is None else self.descend(exported, parts[1:], steps + 1)

    # -- Types ------------------------------------------------------------------------------------

    def _by_type(
        self, location: _Location, scope: str, type_: str, parts: Parts, steps: int
    ) -> ResolvedName | None:
        """A member of a variable, by its declared type or the call that created it."""
        if not type_ or not parts:
            return None
        resolved = [self._type(location, scope, written, steps) for written in type_.split("|")]
        owner = resolved[0]
        if owner is None or any(m is None or m.target != owner.target for m in resolved):
            return None
        return self._of_type(owner, parts, steps)

    def _type(
        self, location: _Location, scope: str, written: str, steps: int
    ) -> ResolvedName | None:
        """The class of a written type, or of what a called function returns."""
        resolved = self.resolve(
            location.path, scope, written.split("."), location.bindings, steps + 2
        )
        if resolved is None or self.kind(resolved.target) in _TYPES:
            return resolved
        return self._returned(resolved, steps + 1)

    def _of_type(self, owner: ResolvedName, parts: Parts, steps: int) -> ResolvedName | None:
        """A member of a value whose class is known."""
        result = self.member(owner.target, parts, steps + 1)
        return result and result._replace(
            confidence=result.confidence * owner.confidence * _BY_TYPE
        )

    def _returned(self, function: ResolvedName, steps: int) -> ResolvedName | None:
        """The class of a function's declared return type."""
        path, qualname = function.target
        names = self._context.names(path) if qualname and steps <= _MAX_STEPS else None
        type_ = names.attribute_types.get((qualname, RETURNED)) if names is not None else None
        if type_ is None:
            return None
        result = self.resolve(path, qualname.rpartition(".")[0], type_.split("."), steps=steps + 1)
        return result if result is not None and self.kind(result.target) in _TYPES else None

    def bases(self, owner: ImportTarget) -> tuple[ImportTarget, ...]:
        """The known classes that a class extends or implements."""
        cache_key = ("bases", *owner)
        return self._context.cached(cache_key, lambda: self._find_bases(owner), ())

    def _find_bases(self, owner: ImportTarget) -> tuple[ImportTarget, ...]:
        names = self._context.names(owner.path)
        if names is None:
            return ()
        outer = owner.qualname.rpartition(".")[0]
        found: list[ImportTarget] = []
        for name in names.bases_of.get(owner.qualname, ()):
            result = self.resolve(owner.path, outer, name.split("."))
            if result is not None and result.target != owner:
                found.append(result.target)
        return tuple(found)

    def member(self, owner: ImportTarget, parts: Parts, steps: int) -> ResolvedName | None:
        """A member of a class, or of the nearest of its bases that has it."""
        if steps > _MAX_STEPS:
            return None
        for index, current in enumerate(self._lineage(owner)):
            result = self._own_member(current, parts, steps)
            if result is not None:
                return (
                    result if index == 0 else result._replace(confidence=result.confidence * 0.95)
                )
        return None

    def _lineage(self, owner: ImportTarget) -> Iterable[ImportTarget]:
        """A class and its bases, nearest first. Lazy while bases are being resolved, so that no
        more is resolved than needed."""
        if self._context.is_resolving:
            return self._walk_bases(owner)
        cache_key = ("lineage", *owner)
        return self._context.cached(cache_key, lambda: tuple(self._walk_bases(owner)), ())

    def _walk_bases(self, owner: ImportTarget) -> Iterator[ImportTarget]:
        seen, waiting = {owner}, [owner]
        while waiting:
            current = waiting.pop(0)
            yield current
            for base in self.bases(current):
                if base not in seen and self.kind(base) in _TYPES:
                    seen.add(base)
                    waiting.append(base)

    def _own_member(self, owner: ImportTarget, parts: Parts, steps: int) -> ResolvedName | None:
        qualname = f"{owner.qualname}.{parts[0]}"
        language = self._context.language_of(owner.path)
        companions = language.companion_files if language is not None else None
        files = (owner.path, *(companions(owner.path, self._context) if companions else ()))
        for path in files:
            names = self._context.names(path)
            if names is None:
                continue
            if qualname in names.symbols:
                return self.descend(ImportTarget(path, qualname), parts[1:], steps + 1)
            if len(parts) == 1:
                continue
            type_ = names.attribute_types.get((owner.qualname, parts[0]))
            if type_ is not None and language is not None:
                location = _Location(path, names, language, NO_BINDINGS)
                resolved = self._type(location, owner.qualname, type_, steps)
                return resolved and self._of_type(resolved, parts[1:], steps)
        return None

    # -- Across files -----------------------------------------------------------------------------

    def descend(self, target: ImportTarget, parts: Parts, steps: int) -> ResolvedName | None:
        """Resolve the rest of a dotted name below a target."""
        if steps > _MAX_STEPS:
            return None
        kind = self.kind(target)
        if kind is None:
            resolved = self._follow_reexports(target, steps)
            if resolved is None:
                return None
            if self._variable(resolved) is not None:
                return self._of_variable(resolved, parts, steps) if parts else None
            target, kind = resolved, self.kind(resolved)
        if not parts:
            return ResolvedName(target)
        if not target.qualname:
            return self._exported_member(target, parts, steps)
        if kind in _TYPES:
            return self.member(target, parts, steps + 1)
        if kind is NodeKind.MODULE:
            inner = ImportTarget(target.path, f"{target.qualname}.{parts[0]}")
            return self.descend(inner, parts[1:], steps + 1) if self.kind(inner) else None
        exported = self._returned(ResolvedName(target), steps)
        return exported and self._of_type(exported, parts, steps)

    def _variable(self, target: ImportTarget) -> str | None:
        """The type of a top-level variable, unless a symbol has that name."""
        names = self._context.names(target.path) if target.qualname else None
        if names is None or target.qualname in names.symbols:
            return None
        return names.attribute_types.get(("", target.qualname))

    def _of_variable(self, target: ImportTarget, parts: Parts, steps: int) -> ResolvedName | None:
        """A member of another file's variable."""
        path, type_ = target.path, self._variable(target)
        names, language = self._context.names(path), self._context.language_of(path)
        if names is None or language is None or type_ is None:
            return None
        return self._by_type(_Location(path, names, language, NO_BINDINGS), "", type_, parts, steps)

    def _follow_reexports(self, target: ImportTarget, steps: int) -> ImportTarget | None:
        """The target where the symbol is defined, through re-exports."""
        if not target.qualname or self.kind(target) is not None or self._variable(target):
            return target
        module, name = ImportTarget(target.path), target.qualname
        exported = self.exported(module, name, steps + 1) if "." not in name else None
        return None if exported is None or exported == target else exported

    def exported(self, target: ImportTarget, name: str, steps: int = 0) -> ImportTarget | None:
        """What a module or package exports under a name: its own, or a re-export."""
        if steps > _MAX_STEPS:
            return None
        language = self._context.language_of(target.path)
        if language is None:
            return None
        if target.is_package:
            exporter = self._package_exports(target).get(name)
            if exporter is not None:
                return ImportTarget(exporter, name)
        else:
            own = self._own_export(target.path, name, steps)
            result = own if own is not None else self._reexport(target.path, name, steps)
            if result is not None:
                return result
        return language.submodule(target, name, self._context) if language.submodule else None

    def _package_exports(self, package: ImportTarget) -> Mapping[str, str]:
        """The defining file of each name of a package. Imports of its files do not count."""

        def collect() -> dict[str, str]:
            language = self._context.language_of(package.path)
            exports: dict[str, str] = {}
            for path in self._package_files(package, language) if language is not None else ():
                names = self._context.names(path)
                for name in names.visible_names if names is not None else ():
                    if names is not None and names.defines(name):
                        exports.setdefault(name, path)
            return exports

        return self._context.cached(("package exports", package.path), collect, {})

    def _package_files(self, target: ImportTarget, language: Language) -> tuple[str, ...]:
        if not target.is_package:
            return (target.path,)
        return (
            language.package_files(target, self._context)
            if language.package_files is not None
            else ()
        )

    def _reexport(self, path: str, name: str, steps: int) -> ImportTarget | None:
        """A name that a file re-exports, or sees through a star import."""
        names = self._context.names(path)
        for index, item in enumerate(names.imports if names is not None else ()):
            if item.form == "export" and any(here == name for _, here in item.names):
                result = self._imported_target(path, index, name, steps)
                if result is not None:
                    return result
        found = (self._own_export(file, name, steps) for file in self._star_exporters(path, name))
        return next((target for target in found if target is not None), None)

    def _own_export(self, path: str, name: str, steps: int) -> ImportTarget | None:
        """A name that a file defines or imports."""
        names = self._context.names(path)
        if names is None:
            return None
        inner = names.exported.get(name, name)
        if names.defines(inner):
            return ImportTarget(path, inner)
        index = names.imported.get(inner)
        return None if index is None else self._imported_target(path, index, inner, steps)

    def _imported_target(self, path: str, index: int, name: str, steps: int) -> ImportTarget | None:
        for bound, targets in self._context.resolve_import(path, index).binds:
            if bound == name:
                resolved = (self._follow_reexports(target, steps + 1) for target in targets)
                return next((target for target in resolved if target is not None), None)
        return None

    def _star_exporters(self, path: str, name: str) -> Sequence[str]:
        """Star-imported files that may export a name, nearest first. Files are resolved one after
        the other, so only the last few tables are cached."""
        files = self.stars(path)
        table = self._tables.get(path)
        if table is None:
            table = self._tables[path] = {}
            for file in files:
                names = self._context.names(file)
                for head in names.visible_names if names is not None else ():
                    table.setdefault(head, []).append(file)
            while len(self._tables) > _MAX_TABLES:
                del self._tables[next(iter(self._tables))]
        return table.get(name, ())

    def stars(self, path: str) -> tuple[str, ...]:
        """Files that a file sees through star imports or includes, directly or indirectly."""
        return self._context.cached(("stars", path), lambda: self._star_files(path), ())

    def _star_files(self, path: str) -> tuple[str, ...]:
        seen: dict[str, None] = {}
        waiting, queued = [path], {path}
        while waiting:
            for file, goes_on in self._next_stars(waiting.pop(0)):
                if file != path:
                    seen[file] = None
                if goes_on and file not in queued:
                    queued.add(file)
                    waiting.append(file)
        return tuple(seen)

    def _next_stars(self, path: str) -> tuple[tuple[str, bool], ...]:
        """Star imports of one file, and whether they are transitive: true for included files, not
        for packages or the source of a header."""

        def collect() -> tuple[tuple[str, bool], ...]:
            names, found = self._context.names(path), list[tuple[str, bool]]()
            for index, item in enumerate(names.imports if names is not None else ()):
                if item.names and item.names[0][0] == STAR:
                    result = self._context.resolve_import(path, index)
                    for target in result.stars:
                        language = self._context.language_of(target.path)
                        if language is not None:
                            files = self._package_files(target, language)
                            goes_on = not target.is_package and target.path in result.files
                            found.extend((file, goes_on) for file in files)
            return tuple(found)

        return self._context.cached(("next stars", path), collect, ())


def _leave_modules(location: _Location, scope: str, parts: Parts) -> tuple[str, Parts]:
    """The scope and the rest of a name after following `super`-like words through the modules of a
    file. A word stays if there is no enclosing module."""
    while parts and parts[0] in location.language.outer_names:
        modules = (
            s for s in enclosing_scopes(scope) if location.names.symbols.get(s) is NodeKind.MODULE
        )
        module = next(modules, None)
        if module is None:
            break
        scope, parts = module.rpartition(".")[0], parts[1:]
    return scope, parts


def enclosing_scopes(scope: str) -> Iterator[str]:
    """A scope and its enclosing scopes, innermost first, without the file."""
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]


def widest_scope(
    scope: str, head: str, names: ExportedNames, bindings: Bindings, language: Language
) -> str:
    """The outermost scope in which a name resolves as in this one. Skips functions that neither
    bind nor define it, and classes whose members need a `self`."""
    symbols = names.symbols
    needs_class = head in language.self_names or head in language.super_names
    while scope and (scope, head) not in bindings:
        kind = symbols.get(scope)
        if kind is NodeKind.FUNCTION:
            has_say = f"{scope}.{head}" in symbols
        else:
            has_say = needs_class or language.implicit_self or kind not in _TYPES
        if has_say:
            break
        scope = scope.rpartition(".")[0]
    return scope


def _first(meanings: Iterable[ResolvedName | None]) -> ResolvedName | None:
    return next((meaning for meaning in meanings if meaning is not None), None)
