"""Lookups in a tree while the names of one file are resolved.

Records every lookup whose answer may change with the tree: `take_lookups()` returns the keys that
the edges depend on. Results are cached with their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from posixpath import basename, dirname
from typing import TYPE_CHECKING, TypeVar, cast

from wellkept.graph.parse.file_facts import ExportedNames, names_from_bytes
from wellkept.graph.parse.language import NOTHING, ImportTarget, ResolvedImport, package_target
from wellkept.graph.parse.tree_index import TreeIndex, lookup_key

if TYPE_CHECKING:
    from wellkept.graph.parse.language import Language

_Result = TypeVar("_Result")
LoadNames = Callable[[Collection[str]], Mapping[str, bytes]]


class ResolverContext:
    """Answers lookups and records them."""

    def __init__(
        self,
        tree_index: TreeIndex,
        *,
        load: LoadNames,
        language_of: Callable[[str], Language | None],
        root_name: str = "",
    ) -> None:
        self.tree_index = tree_index
        self.root_name = root_name
        """Name of the tree's folder, which may itself be a package."""
        self.language_of = language_of
        self._load = load
        self._names: dict[str, tuple[int, ExportedNames | None]] = {}
        self._documents: dict[str, object] = {}
        self._imports: dict[tuple[str, int], tuple[ResolvedImport, frozenset[int]]] = {}
        self._cache: dict[tuple[str, ...], tuple[object, frozenset[int]]] = {}
        self._in_progress: set[tuple[str, ...]] = set()
        self._in_cycle = False
        self._lookups: set[int] = set()

    def take_lookups(self) -> frozenset[int]:
        """The keys looked up since the last call; resets them."""
        lookups, self._lookups = self._lookups, set()
        return frozenset(lookups)

    def preload(self, paths: Collection[str]) -> None:
        """Read the names of many files at once."""
        missing = [path for path in paths if path not in self._names]
        for path, data in self._load(missing).items():
            names = names_from_bytes(data) if data else None
            self._names[path] = (lookup_key("names", path), names)

    # -- Lookups ----------------------------------------------------------------------------------

    def has(self, path: str) -> bool:
        """Whether the tree has that file."""
        self._lookups.add(lookup_key("path", path))
        return path in self.tree_index

    def has_folder(self, folder: str) -> bool:
        """Whether any file is below that folder."""
        self._lookups.add(lookup_key("below", folder))
        return folder in self.tree_index.all_folders

    def folder(self, folder: str, *, language: str) -> tuple[str, ...]:
        """Files of a language directly in a folder."""
        self._lookups.add(lookup_key("folder", folder))
        files = self.tree_index.files
        paths = self.tree_index.folders.get(folder, ())
        return tuple(p for p in paths if files[p].language == language)

    def files_named(self, name: str) -> tuple[str, ...]:
        """Files with that name, anywhere."""
        self._lookups.add(lookup_key("named", name))
        return tuple(self.tree_index.basenames.get(name, ()))

    def package(self, language: str, name: str) -> tuple[str, ...]:
        """Files that declare a package."""
        self._lookups.add(lookup_key("package", language, name))
        return tuple(self.tree_index.packages.get((language, name), ()))

    def python_top(self, name: str) -> tuple[str, ...]:
        """Roots that have a top-level module of that name."""
        self._lookups.add(lookup_key("top", name))
        return self.tree_index.python_tops.get(name, ())

    def names(self, path: str) -> ExportedNames | None:
        """Exported names of a file; None if it was not analysed."""
        entry = self._names.get(path)
        if entry is None:
            entry = self._names[path] = (lookup_key("names", path), self._read_names(path))
        self._lookups.add(entry[0])
        return entry[1]

    def _read_names(self, path: str) -> ExportedNames | None:
        # For a configuration file the store has its content instead of names.
        if path not in self.tree_index or self.language_of(path) is None:
            return None
        data = self._load([path]).get(path, b"")
        return names_from_bytes(data) if data else None

    def document(self, path: str, parse: Callable[[bytes], object]) -> object:
        """A configuration file, parsed once; None if it does not exist.

        Not recorded: a changed configuration file rebuilds all edges.
        """
        if path not in self._documents:
            data = self._load([path]).get(path, b"") if path in self.tree_index else b""
            self._documents[path] = parse(data) if data else None
        return self._documents[path]

    def nearest(self, path: str, name: str) -> str | None:
        """The file of that name in the nearest folder above a path."""
        folder = dirname(path)
        while name in self.tree_index.basenames:
            candidate = f"{folder}/{name}" if folder else name
            if candidate in self.tree_index:
                return candidate
            if not folder:
                return None
            folder = dirname(folder)
        return None

    # -- Imports ----------------------------------------------------------------------------------

    @property
    def is_resolving(self) -> bool:
        """Whether a cached computation is running."""
        return bool(self._in_progress)

    def cached(
        self, cache_key: tuple[str, ...], work: Callable[[], _Result], default: _Result
    ) -> _Result:
        """The result of `work`, computed once. Its lookups are recorded at each use.

        Work that depends on itself, as in import cycles, gets the default.
        """
        entry = self._cache.get(cache_key)
        if entry is None:
            if cache_key in self._in_progress:
                self._in_cycle = True
                return default
            outer, self._lookups = self._lookups, set()
            outer_cycle, self._in_cycle = self._in_cycle, False
            self._in_progress.add(cache_key)
            result = work()
            self._in_progress.discard(cache_key)
            # A result from inside a cycle is right only where the cycle was entered: no caching.
            entry = (result, frozenset(self._lookups))
            if not self._in_progress or not self._in_cycle:
                self._cache[cache_key] = entry
            self._in_cycle = bool(self._in_progress) and (outer_cycle or self._in_cycle)
            self._lookups = outer
        self._lookups |= entry[1]
        return cast("_Result", entry[0])

    def resolve_import(self, path: str, index: int) -> ResolvedImport:
        """Resolve an import of a file. Never resolves other imports, so the result does not depend
        on the order."""
        entry = self._imports.get((path, index))
        if entry is None:
            outer, self._lookups = self._lookups, set()
            result = self._resolve_import(path, index)
            entry = self._imports[path, index] = (result, frozenset(self._lookups))
            self._lookups = outer
        self._lookups |= entry[1]
        return entry[0]

    def _resolve_import(self, path: str, index: int) -> ResolvedImport:
        names, language = self.names(path), self.language_of(path)
        if names is None or language is None:
            return NOTHING
        return language.resolve_import(names.imports[index], path, self)


def stem(path: str) -> str:
    """A file name without folder and last extension."""
    return basename(path).rpartition(".")[0]


class PackageResolver:
    """Resolves packages of one language."""

    def __init__(self, language: str) -> None:
        self._language = language

    def package_files(self, target: ImportTarget, context: ResolverContext) -> tuple[str, ...]:
        """The files of a package."""
        return context.package(self._language, target.package)

    def implicit_scope(
        self, path: str, names: ExportedNames, context: ResolverContext
    ) -> tuple[ImportTarget, ...]:
        """A file sees its own package."""
        del path, context
        return (package_target(self._language, names.package),) if names.package else ()

    def companion_files(self, path: str, context: ResolverContext) -> tuple[str, ...]:
        """Other files of the package, where classes may continue."""
        file = context.tree_index.files.get(path)
        if file is None or not file.module:
            return ()
        return tuple(p for p in context.package(self._language, file.module) if p != path)

    def defining_file(self, package: str, name: str, context: ResolverContext) -> str | None:
        """The file of a package that defines a name; a file of that name first."""
        files = context.package(self._language, package)
        for path in sorted(files, key=lambda p: (stem(p) != name, p)):
            names = context.names(path)
            if names is not None and name in names.symbols:
                return path
        return None
