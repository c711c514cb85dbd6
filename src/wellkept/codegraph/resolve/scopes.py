"""What a name means where it is written: by scope, by import, by type; never by bare spelling.

A name is looked up as its language does: variables and definitions from the inside out, then the
file, its imports, what its package shares, and last what star imports bring. Behind a dot it goes
on in a module, a class with its bases, or the type of a variable or field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from wellkept.codegraph.parse.file_facts import RETURNED, STAR, ExportedNames
from wellkept.codegraph.parse.language import ImportTarget, Language
from wellkept.codegraph.parse.resolver_context import ResolverContext
from wellkept.core.graph import NodeKind

_TYPES = frozenset({NodeKind.CLASS, NodeKind.INTERFACE})
_FARTHEST = 12
"""Steps after which a name is given up: circles of types and of re-exports end here."""
_BY_TYPE = 0.9
_TABLES = 16
Bindings = Mapping[tuple[str, str], str]
NO_BINDINGS: Bindings = {}
Parts = Sequence[str]


class ResolvedName(NamedTuple):
    """What a name stands for, and how sure that is."""

    target: ImportTarget
    confidence: float = 1.0


class _Place(NamedTuple):
    """Where a name is written."""

    path: str
    names: ExportedNames
    language: Language
    bindings: Bindings


class Scopes:
    """Looks names up across the files of a tree."""

    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._tables: dict[str, dict[str, list[str]]] = {}

    def kind(self, target: ImportTarget) -> NodeKind | None:
        """The kind of a symbol."""
        names = self._context.names(target.path) if target.qualname else None
        return names.symbols.get(target.qualname) if names is not None else None

    def is_node(self, target: ImportTarget) -> bool:
        """Whether it is a file or a symbol, and neither a package nor a variable."""
        return not target.is_package and (not target.qualname or self.kind(target) is not None)

    def resolve(
        self, path: str, scope: str, parts: Parts, bindings: Bindings = NO_BINDINGS, steps: int = 0
    ) -> ResolvedName | None:
        """What a dotted name means inside a scope of a file."""
        names, language = self._context.names(path), self._context.language_of(path)
        if names is None or language is None or steps > _FARTHEST:
            return None
        place = _Place(path, names, language, bindings)
        if parts[0] in language.outer_names:
            scope, parts = _out_of_modules(place, scope, parts)
            if not parts:
                return ResolvedName(ImportTarget(path, scope))
        head = parts[0]
        if head in language.self_names or head in language.super_names:
            return self._on_self(place, scope, parts, steps)
        for inner in outward(scope):
            bound = bindings.get((inner, head))
            if bound is not None:
                return self._by_type(place, inner, bound, parts[1:], steps)
            met = self._inside(place, inner, parts, steps)
            if met is not None:
                return met
        met = self._in_file(place, parts, steps)
        bound = bindings.get(("", head))
        if met is None and bound:
            return self._by_type(place, "", bound, parts[1:], steps)
        return met

    # -- Inside a file ----------------------------------------------------------------------------

    def _on_self(self, place: _Place, scope: str, parts: Parts, steps: int) -> ResolvedName | None:
        """`self.x`, `this.x`, `super.x`."""
        owner = self._class_around(place, scope, steps)
        if owner is None:
            return None
        above = parts[0] in place.language.super_names
        starts = self.bases(owner) if above else (owner,)
        if len(parts) == 1:
            return ResolvedName(starts[0]) if starts else None
        return _first(self.member(start, parts[1:], steps + 1) for start in starts)

    def _class_around(self, place: _Place, scope: str, steps: int) -> ImportTarget | None:
        """The class that a scope belongs to, which another file may declare."""
        for inner in outward(scope):
            kind = place.names.symbols.get(inner)
            if kind in _TYPES:
                return ImportTarget(place.path, inner)
            if kind is None:
                met = self._in_file(place, inner.split("."), steps + 1)
                return met.target if met is not None else ImportTarget(place.path, inner)
        return None

    def _inside(self, place: _Place, scope: str, parts: Parts, steps: int) -> ResolvedName | None:
        """A name among what is defined in a scope."""
        kind = place.names.symbols.get(scope)
        if kind in _TYPES or kind is None:
            if not place.language.implicit_self:
                return None
            owner = self._class_around(place, scope, steps)
            return self.member(owner, parts, steps + 1) if owner is not None else None
        inner = f"{scope}.{parts[0]}"
        if inner not in place.names.symbols:
            return None
        return self.descend(ImportTarget(place.path, inner), parts[1:], steps + 1)

    def _in_file(self, place: _Place, parts: Parts, steps: int) -> ResolvedName | None:
        path, names, language, _ = place
        if parts[0] in names.symbols:
            return self.descend(ImportTarget(path, parts[0]), parts[1:], steps + 1)
        if parts[0] in names.imported:
            return self._imported(place, parts, steps)
        if language.scope_of is not None:
            shared = language.scope_of(path, names, self._context)
            met = _first(self._given_then(target, parts, steps) for target in shared)
            if met is not None:
                return met
        met = _first(
            self.descend(given, parts[1:], steps + 1)
            for file in self._givers(path, parts[0])
            if (given := self._own_given(file, parts[0], steps)) is not None
        )
        if met is None and language.autoload is not None:
            loaded = language.autoload(parts[0], path, self._context)
            met = _first(self.descend(target, parts[1:], steps + 1) for target in loaded)
        if met is None and language.skips_namespaces and len(parts) > 1 and steps <= _FARTHEST:
            return self._in_file(place, parts[1:], steps + 1)
        return met

    def _imported(self, place: _Place, parts: Parts, steps: int) -> ResolvedName | None:
        found = self._context.found(place.path, place.names.imported[parts[0]])
        targets = next((targets for name, targets in found.binds if name == parts[0]), ())
        met = _first(self.descend(target, parts[1:], steps + 1) for target in targets)
        return met and met._replace(confidence=met.confidence * found.confidence)

    def _given_then(self, target: ImportTarget, parts: Parts, steps: int) -> ResolvedName | None:
        given = self.given(target, parts[0], steps + 1)
        return None if given is None else self.descend(given, parts[1:], steps + 1)

    # -- Types ------------------------------------------------------------------------------------

    def _by_type(
        self, place: _Place, scope: str, type_: str, parts: Parts, steps: int
    ) -> ResolvedName | None:
        """A member of a variable, by the type that was written for it or made it."""
        if not type_ or not parts:
            return None
        meant = [self._type(place, scope, written, steps) for written in type_.split("|")]
        owner = meant[0]
        if owner is None or any(m is None or m.target != owner.target for m in meant):
            return None
        return self._of_type(owner, parts, steps)

    def _type(self, place: _Place, scope: str, written: str, steps: int) -> ResolvedName | None:
        """The class that a written type means, or that something called gives."""
        meant = self.resolve(place.path, scope, written.split("."), place.bindings, steps + 2)
        if meant is None or self.kind(meant.target) in _TYPES:
            return meant
        return self._returned(meant, steps + 1)

    def _of_type(self, owner: ResolvedName, parts: Parts, steps: int) -> ResolvedName | None:
        """A member of what is known to be of a class."""
        met = self.member(owner.target, parts, steps + 1)
        return met and met._replace(confidence=met.confidence * owner.confidence * _BY_TYPE)

    def _returned(self, function: ResolvedName, steps: int) -> ResolvedName | None:
        """The class of what a function says it returns."""
        path, qualname = function.target
        names = self._context.names(path) if qualname and steps <= _FARTHEST else None
        type_ = names.attribute_types.get((qualname, RETURNED)) if names is not None else None
        if type_ is None:
            return None
        met = self.resolve(path, qualname.rpartition(".")[0], type_.split("."), steps=steps + 1)
        return met if met is not None and self.kind(met.target) in _TYPES else None

    def bases(self, owner: ImportTarget) -> tuple[ImportTarget, ...]:
        """The classes that a class extends or implements, where they are known."""
        spot = ("bases", *owner)
        return self._context.remembered(spot, lambda: self._find_bases(owner), ())

    def _find_bases(self, owner: ImportTarget) -> tuple[ImportTarget, ...]:
        names = self._context.names(owner.path)
        if names is None:
            return ()
        outer = owner.qualname.rpartition(".")[0]
        found: list[ImportTarget] = []
        for name in names.bases_of.get(owner.qualname, ()):
            met = self.resolve(owner.path, outer, name.split("."))
            if met is not None and met.target != owner:
                found.append(met.target)
        return tuple(found)

    def member(self, owner: ImportTarget, parts: Parts, steps: int) -> ResolvedName | None:
        """A member of a class, or of the nearest of its bases that has it."""
        if steps > _FARTHEST:
            return None
        for place, current in enumerate(self._lineage(owner)):
            met = self._own_member(current, parts, steps)
            if met is not None:
                return met if place == 0 else met._replace(confidence=met.confidence * 0.95)
        return None

    def _lineage(self, owner: ImportTarget) -> Iterable[ImportTarget]:
        """A class and its bases, nearest first. While bases are being worked out they come one by
        one, so that a class is asked for no more than is needed of it."""
        if self._context.is_working:
            return self._walked(owner)
        spot = ("lineage", *owner)
        return self._context.remembered(spot, lambda: tuple(self._walked(owner)), ())

    def _walked(self, owner: ImportTarget) -> Iterator[ImportTarget]:
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
        for path in (owner.path, *self._spread(owner.path)):
            names = self._context.names(path)
            if names is None:
                continue
            if qualname in names.symbols:
                return self.descend(ImportTarget(path, qualname), parts[1:], steps + 1)
            if len(parts) == 1:
                continue
            type_ = names.attribute_types.get((owner.qualname, parts[0]))
            language = self._context.language_of(path)
            if type_ is not None and language is not None:
                place = _Place(path, names, language, NO_BINDINGS)
                meant = self._type(place, owner.qualname, type_, steps)
                return meant and self._of_type(meant, parts[1:], steps)
        return None

    def _spread(self, path: str) -> tuple[str, ...]:
        """Other files that may hold members of the classes of a file."""
        language = self._context.language_of(path)
        if language is None or language.spread is None:
            return ()
        return language.spread(path, self._context)

    # -- Across files -----------------------------------------------------------------------------

    def descend(self, target: ImportTarget, parts: Parts, steps: int) -> ResolvedName | None:
        """What a dotted rest means below something."""
        if steps > _FARTHEST:
            return None
        kind = self.kind(target)
        if kind is None:
            settled = self._settled(target, steps)
            if settled is None:
                return None
            if self._variable(settled) is not None:
                return self._of_variable(settled, parts, steps) if parts else None
            target, kind = settled, self.kind(settled)
        if not parts:
            return ResolvedName(target)
        if not target.qualname:
            return self._given_then(target, parts, steps)
        if kind in _TYPES:
            return self.member(target, parts, steps + 1)
        if kind is NodeKind.MODULE:
            inner = ImportTarget(target.path, f"{target.qualname}.{parts[0]}")
            return self.descend(inner, parts[1:], steps + 1) if self.kind(inner) else None
        given = self._returned(ResolvedName(target), steps)
        return given and self._of_type(given, parts, steps)

    def _variable(self, target: ImportTarget) -> str | None:
        """The type of a variable at the top of a file, unless a symbol has that name."""
        names = self._context.names(target.path) if target.qualname else None
        if names is None or target.qualname in names.symbols:
            return None
        return names.attribute_types.get(("", target.qualname))

    def _of_variable(self, target: ImportTarget, parts: Parts, steps: int) -> ResolvedName | None:
        """A member of a variable that another file made."""
        path, type_ = target.path, self._variable(target)
        names, language = self._context.names(path), self._context.language_of(path)
        if names is None or language is None or type_ is None:
            return None
        return self._by_type(_Place(path, names, language, NO_BINDINGS), "", type_, parts, steps)

    def _settled(self, target: ImportTarget, steps: int) -> ImportTarget | None:
        """A target whose symbol is really there, found through whatever passes it on."""
        if not target.qualname or self.kind(target) is not None or self._variable(target):
            return target
        module, name = ImportTarget(target.path), target.qualname
        given = self.given(module, name, steps + 1) if "." not in name else None
        return None if given is None or given == target else given

    def given(self, target: ImportTarget, name: str, steps: int = 0) -> ImportTarget | None:
        """What a module or package gives under a name: its own, or what it passes on."""
        if steps > _FARTHEST:
            return None
        language = self._context.language_of(target.path)
        if language is None:
            return None
        if target.is_package:
            home = self._homes(target).get(name)
            if home is not None:
                return ImportTarget(home, name)
        else:
            met = self._given_by_file(target.path, name, steps)
            if met is not None:
                return met
        return language.submodule(target, name, self._context) if language.submodule else None

    def _given_by_file(self, path: str, name: str, steps: int) -> ImportTarget | None:
        own = self._own_given(path, name, steps)
        return own if own is not None else self._passed_on(path, name, steps)

    def _homes(self, package: ImportTarget) -> Mapping[str, str]:
        """The file of a package that gives a name, by that name. What a file of it imports is its
        own affair."""

        def look() -> dict[str, str]:
            language = self._context.language_of(package.path)
            homes: dict[str, str] = {}
            for path in self._files_of(package, language) if language is not None else ():
                names = self._context.names(path)
                for name in names.heads if names is not None else ():
                    if names is not None and names.gives(name):
                        homes.setdefault(name, path)
            return homes

        return self._context.remembered(("homes", package.path), look, {})

    def _files_of(self, target: ImportTarget, language: Language) -> tuple[str, ...]:
        if not target.is_package:
            return (target.path,)
        return language.files_of(target, self._context) if language.files_of is not None else ()

    def _passed_on(self, path: str, name: str, steps: int) -> ImportTarget | None:
        """A name that a file exports straight from another file, or sees by a star."""
        names = self._context.names(path)
        for place, item in enumerate(names.imports if names is not None else ()):
            if item.form == "export" and any(here == name for _, here in item.names):
                met = self._settle_bound(path, place, name, steps)
                if met is not None:
                    return met
        found = (self._own_given(file, name, steps) for file in self._givers(path, name))
        return next((target for target in found if target is not None), None)

    def _own_given(self, path: str, name: str, steps: int) -> ImportTarget | None:
        """What a file defines or imports by name."""
        names = self._context.names(path)
        if names is None:
            return None
        inner = names.exported.get(name, name)
        if names.gives(inner):
            return ImportTarget(path, inner)
        place = names.imported.get(inner)
        return None if place is None else self._settle_bound(path, place, inner, steps)

    def _settle_bound(self, path: str, place: int, name: str, steps: int) -> ImportTarget | None:
        for bound, targets in self._context.found(path, place).binds:
            if bound == name:
                settled = (self._settled(target, steps + 1) for target in targets)
                return next((target for target in settled if target is not None), None)
        return None

    def _givers(self, path: str, name: str) -> Sequence[str]:
        """Files seen by star imports that may give a name, the nearest first. A file is mostly
        asked about many names in a row, so only the last few tables are kept."""
        files = self.stars(path)
        table = self._tables.get(path)
        if table is None:
            table = self._tables[path] = {}
            for file in files:
                names = self._context.names(file)
                for head in names.heads if names is not None else ():
                    table.setdefault(head, []).append(file)
            while len(self._tables) > _TABLES:
                del self._tables[next(iter(self._tables))]
        return table.get(name, ())

    def stars(self, path: str) -> tuple[str, ...]:
        """Files whose names a file sees by star imports or includes, also through others."""
        return self._context.remembered(("stars", path), lambda: self._star_files(path), ())

    def _star_files(self, path: str) -> tuple[str, ...]:
        seen: dict[str, None] = {}
        waiting, asked = [path], {path}
        while waiting:
            for file, goes_on in self._next_stars(waiting.pop(0)):
                if file != path:
                    seen[file] = None
                if goes_on and file not in asked:
                    asked.add(file)
                    waiting.append(file)
        return tuple(seen)

    def _next_stars(self, path: str) -> tuple[tuple[str, bool], ...]:
        """Files whose names come by one step, and whether what they see comes as well: it does
        from a file that is taken in, not from a package, nor from the source of a header."""

        def look() -> tuple[tuple[str, bool], ...]:
            names, found = self._context.names(path), list[tuple[str, bool]]()
            for place, item in enumerate(names.imports if names is not None else ()):
                if item.names and item.names[0][0] == STAR:
                    met = self._context.found(path, place)
                    for target in met.stars:
                        language = self._context.language_of(target.path)
                        if language is not None:
                            files = self._files_of(target, language)
                            goes_on = not target.is_package and target.path in met.files
                            found.extend((file, goes_on) for file in files)
            return tuple(found)

        return self._context.remembered(("next stars", path), look, ())


def _out_of_modules(place: _Place, scope: str, parts: Parts) -> tuple[str, Parts]:
    """A scope and what is left of a name when each word for what is around it was followed; the
    word stays where no module of the same file is around."""
    while parts and parts[0] in place.language.outer_names:
        modules = (s for s in outward(scope) if place.names.symbols.get(s) is NodeKind.MODULE)
        module = next(modules, None)
        if module is None:
            break
        scope, parts = module.rpartition(".")[0], parts[1:]
    return scope, parts


def outward(scope: str) -> Iterator[str]:
    """A scope and those around it, the innermost first, without the file itself."""
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]


def widest(
    scope: str, head: str, names: ExportedNames, bindings: Bindings, language: Language
) -> str:
    """The outermost scope in which a name means the same as in this one: a function around it
    that neither binds nor defines it has no say, nor has a class whose members need a `self`."""
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
