"""Which files a tree has, arranged for the questions that imports ask. Pure: paths in, tables out.

Every question has a key. `changed_keys` says which keys may be answered differently after files
came or went, so that exactly the edges that asked them are drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from posixpath import basename, dirname

from wellkept.core.graph import SourceFile

PYTHON = "python"
_PYTHON_SUFFIXES = (".py", ".pyi")
SOURCES = "src"


@lru_cache(maxsize=1 << 18)
def key(*parts: str) -> int:
    """A question as a number."""
    digest = blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=6).digest()
    return int.from_bytes(digest, "big")


def joined(folder: str, name: str) -> str:
    """A path below a folder, where the root is the empty text."""
    return f"{folder}/{name}" if folder else name


def holds(folder: str, path: str) -> bool:
    """Whether a path is below a folder."""
    return not folder or path.startswith(f"{folder}/")


def module_by_folder(path: str) -> str:
    """A module's name from where a file is, for languages whose files do not say it."""
    parts = [part for part in dirname(path).split("/") if part]
    if parts and parts[0] in (SOURCES, "lib"):
        parts = parts[1:]
    return ".".join(parts)


def ancestors(path: str) -> Iterable[str]:
    """The folders above a path, the nearest first, the root ("") last."""
    while path:
        path = dirname(path)
        yield path


class TreeIndex:
    """The files of a tree by path, folder, name and package."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        self.files = {file.path: file for file in files}

    def __contains__(self, path: str) -> bool:
        return path in self.files

    @cached_property
    def folders(self) -> dict[str, list[str]]:
        """Paths by folder."""
        return self._grouped(dirname)

    @cached_property
    def basenames(self) -> dict[str, list[str]]:
        """Paths by file name."""
        return self._grouped(basename)

    @cached_property
    def all_folders(self) -> frozenset[str]:
        """Every folder with a file somewhere below it."""
        found: set[str] = {""}
        for folder in self.folders:
            while folder not in found:
                found.add(folder)
                folder = dirname(folder)  # noqa: PLW2901 - climbing
        return frozenset(found)

    @cached_property
    def packages(self) -> dict[tuple[str, str], list[str]]:
        """Paths by language and package."""
        found: dict[tuple[str, str], list[str]] = {}
        for path, file in sorted(self.files.items()):
            if file.module:
                found.setdefault((file.language, file.module), []).append(path)
        return found

    @cached_property
    def python_roots(self) -> frozenset[str]:
        """Folders that Python modules may be imported from: the root, whatever folder holds a
        package without being one, and `src`, since a package need not have an `__init__`."""
        packages = {dirname(p) for p in self.basenames.get("__init__.py", ())}
        holders = {dirname(p) for p in packages}
        holders |= {folder for folder in self.all_folders if basename(folder) == SOURCES}
        return frozenset({""} | (holders - packages))

    @cached_property
    def python_tops(self) -> dict[str, tuple[str, ...]]:
        """Roots that have a top-level module or package, by its name."""
        found: dict[str, set[str]] = {}
        for folder, paths in self.folders.items():
            own = {basename(p).rpartition(".")[0] for p in paths if p.endswith(_PYTHON_SUFFIXES)}
            for root in (folder, *ancestors(folder)) if own else ():
                if root in self.python_roots:
                    below = folder[len(root) :].lstrip("/").partition("/")[0]
                    for name in own if root == folder else (below,):
                        found.setdefault(name, set()).add(root)
        return {name: tuple(sorted(roots)) for name, roots in found.items()}

    def _grouped(self, part: Callable[[str], str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self._ordered:
            found.setdefault(part(path), []).append(path)
        return found

    @cached_property
    def _ordered(self) -> list[str]:
        return sorted(self.files)


def changed_keys(before: TreeIndex, after: TreeIndex) -> set[int]:
    """Questions whose answers may differ now that files came or went."""
    moved = before.files.keys() ^ after.files.keys()
    found: set[int] = set()
    for path in moved:
        found |= {key("names", path), key("path", path)}
        found |= {key("named", basename(path)), key("folder", dirname(path))}
        file = before.files.get(path) or after.files[path]
        if file.module:
            found.add(key("package", file.language, file.module))
    if any(path.endswith(_PYTHON_SUFFIXES) for path in moved):
        found |= {
            key("top", name)
            for name in before.python_tops.keys() | after.python_tops.keys()
            if before.python_tops.get(name) != after.python_tops.get(name)
        }
    if moved:
        found |= {key("below", folder) for folder in before.all_folders ^ after.all_folders}
    return found


def containers(files: Sequence[SourceFile]) -> tuple[set[str], set[tuple[str, str]]]:
    """The folders of files, and their modules with the language of each."""
    folders = set(TreeIndex(files).all_folders) if files else set[str]()
    return folders, {(f.language, f.module) for f in files if f.module}
