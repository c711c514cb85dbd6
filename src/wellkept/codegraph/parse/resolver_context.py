"""What can be seen of a tree while the edges of one file are drawn.

Every question that could be answered differently after a change is noted, so that `taken()` gives
the keys on which the edges rest. Answers are cached together with their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from posixpath import basename, dirname
from typing import TYPE_CHECKING, TypeVar, cast

from wellkept.codegraph.parse.file_facts import ExportedNames, names_from_bytes
from wellkept.codegraph.parse.language import NOTHING, ResolvedImport
from wellkept.codegraph.parse.tree_index import TreeIndex, key

if TYPE_CHECKING:
    from wellkept.codegraph.parse.language import Language

_Answer = TypeVar("_Answer")
LoadNames = Callable[[Collection[str]], Mapping[str, bytes]]


class ResolverContext:
    """Answers about the tree, with a record of what was asked."""

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
        """What the folder of the tree is called: it may be a package itself."""
        self.language_of = language_of
        self._load = load
        self._names: dict[str, tuple[int, ExportedNames | None]] = {}
        self._documents: dict[str, object] = {}
        self._found: dict[tuple[str, int], tuple[ResolvedImport, frozenset[int]]] = {}
        self._known: dict[tuple[str, ...], tuple[object, frozenset[int]]] = {}
        self._under_way: set[tuple[str, ...]] = set()
        self._in_circle = False
        self._asked: set[int] = set()

    def taken(self) -> frozenset[int]:
        """The keys asked since the last time, leaving none."""
        asked, self._asked = self._asked, set()
        return frozenset(asked)

    def preload(self, paths: Collection[str]) -> None:
        """Read the names of many files at once."""
        missing = [path for path in paths if path not in self._names]
        for path, data in self._load(missing).items():
            names = names_from_bytes(data) if data else None
            self._names[path] = (key("names", path), names)

    # -- Questions --------------------------------------------------------------------------------

    def has(self, path: str) -> bool:
        """Whether the tree has that file."""
        self._asked.add(key("path", path))
        return path in self.tree_index

    def has_folder(self, folder: str) -> bool:
        """Whether there is any file below that folder."""
        self._asked.add(key("below", folder))
        return folder in self.tree_index.all_folders

    def folder(self, folder: str, *, language: str) -> tuple[str, ...]:
        """Files of a language that are directly in a folder."""
        self._asked.add(key("folder", folder))
        files = self.tree_index.files
        paths = self.tree_index.folders.get(folder, ())
        return tuple(p for p in paths if files[p].language == language)

    def named(self, name: str) -> tuple[str, ...]:
        """Files with that name, anywhere."""
        self._asked.add(key("named", name))
        return tuple(self.tree_index.basenames.get(name, ()))

    def package(self, language: str, name: str) -> tuple[str, ...]:
        """Files that say they belong to a package."""
        self._asked.add(key("package", language, name))
        return tuple(self.tree_index.packages.get((language, name), ()))

    def python_top(self, name: str) -> tuple[str, ...]:
        """Roots that have a top-level module of that name."""
        self._asked.add(key("top", name))
        return self.tree_index.python_tops.get(name, ())

    def names(self, path: str) -> ExportedNames | None:
        """What a file gives away; None for one that was not analysed."""
        known = self._names.get(path)
        if known is None:
            known = self._names[path] = (key("names", path), self._read_names(path))
        self._asked.add(known[0])
        return known[1]

    def _read_names(self, path: str) -> ExportedNames | None:
        # A configuration file is kept as it is: it has no names.
        if path not in self.tree_index or self.language_of(path) is None:
            return None
        data = self._load([path]).get(path, b"")
        return names_from_bytes(data) if data else None

    def document(self, path: str, parse: Callable[[bytes], object]) -> object:
        """A configuration file, parsed once; None where there is none.

        Not noted: a changed configuration file makes every edge be drawn again.
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
    def is_working(self) -> bool:
        """Whether something is being worked out that will be remembered."""
        return bool(self._under_way)

    def remembered(
        self, spot: tuple[str, ...], work: Callable[[], _Answer], default: _Answer
    ) -> _Answer:
        """The result of some work, done once; its questions are noted each time it is used.

        Work that comes back to itself, as circles of imports do, gets the default.
        """
        known = self._known.get(spot)
        if known is None:
            if spot in self._under_way:
                self._in_circle = True
                return default
            outer, self._asked = self._asked, set()
            circled, self._in_circle = self._in_circle, False
            self._under_way.add(spot)
            answer = work()
            self._under_way.discard(spot)
            # What was worked out inside a circle is only right from where the circle was entered.
            known = (answer, frozenset(self._asked))
            if not self._under_way or not self._in_circle:
                self._known[spot] = known
            self._in_circle = bool(self._under_way) and (circled or self._in_circle)
            self._asked = outer
        self._asked |= known[1]
        return cast("_Answer", known[0])

    def found(self, path: str, place: int) -> ResolvedImport:
        """What an import of a file means. Finding that never asks what another import means, so
        the answer is right wherever it was worked out first."""
        known = self._found.get((path, place))
        if known is None:
            outer, self._asked = self._asked, set()
            answer = self._find(path, place)
            known = self._found[path, place] = (answer, frozenset(self._asked))
            self._asked = outer
        self._asked |= known[1]
        return known[0]

    def _find(self, path: str, place: int) -> ResolvedImport:
        names, language = self.names(path), self.language_of(path)
        if names is None or language is None:
            return NOTHING
        return language.find_import(names.imports[place], path, self)


def stem(path: str) -> str:
    """A file's name without folder and last extension."""
    return basename(path).rpartition(".")[0]
