"""Index of the files of a tree, for resolving imports.

Every lookup has a key. `changed_keys` returns the keys whose answers may differ after files were
added or deleted, so that exactly the affected edges are rebuilt.
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
def lookup_key(*parts: str) -> int:
    """The hash of a lookup."""
    digest = blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=6).digest()
    return int.from_bytes(digest, "big")


def join(folder: str, name: str) -> str:
    """A path below a folder; the root is the empty string."""
    return f"{folder}/{name}" if folder else name


def contains(folder: str, path: str) -> bool:
    """Whether a path is below a folder."""
    return not folder or path.startswith(f"{folder}/")


def module_by_folder(path: str) -> str:
    """The module name from a file's folder, for languages without package declarations."""
    parts = [part for part in dirname(path).split("/") if part]
    if parts and parts[0] in (SOURCES, "lib"):
        parts = parts[1:]
    return ".".join(parts)


def ancestors(path: str) -> Iterable[str]:
    """The folders above a path, nearest first, the root ("") last."""
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
        """Python source roots: the root, folders that contain a package without being one, and
        `src`, since a package need not have an `__init__`."""
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
    """Keys of lookups whose answers may differ between two trees."""
    moved = before.files.keys() ^ after.files.keys()
    found: set[int] = set()
    for path in moved:
        found |= {lookup_key("names", path), lookup_key("path", path)}
        found |= {lookup_key("named", basename(path)), lookup_key("folder", dirname(path))}
        file = before.files.get(path) or after.files[path]
        if file.module:
            found.add(lookup_key("package", file.language, file.module))
    if any(path.endswith(_PYTHON_SUFFIXES) for path in moved):
        found |= {
            lookup_key("top", name)
            for name in before.python_tops.keys() | after.python_tops.keys()
            if before.python_tops.get(name) != after.python_tops.get(name)
        }
    if moved:
        found |= {lookup_key("below", folder) for folder in before.all_folders ^ after.all_folders}
    return found


def containers(files: Sequence[SourceFile]) -> tuple[set[str], set[tuple[str, str]]]:
    """The folders of files, and their modules with the language of each."""
    folders = set(TreeIndex(files).all_folders) if files else set[str]()
    return folders, {(f.language, f.module) for f in files if f.module}
