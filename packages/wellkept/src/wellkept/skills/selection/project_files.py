"""The file paths of a project, and reading of single files, for skill detection.

The walk is limited in depth and number, nearest files first; it skips generated folders and follows
no links to folders. Invariant: nothing outside the project is read, and a file that cannot be read
counts as empty.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from wellkept.skills.globs import PathTable
from wellkept.skills.safe_paths import is_inside

MAX_FILES = 5_000
MAX_DEPTH = 6
MAX_READ_BYTES = 256 << 10
IGNORED = frozenset(
    """.git .hg .svn target node_modules .next dist build out coverage __pycache__ vendor venv
    site-packages bower_components Pods DerivedData""".split()
)
_SCANNED_HIDDEN = frozenset((".github", ".gitlab", ".gitlab-ci", ".circleci", ".storybook"))


class ProjectFiles:
    """Paths relative to the project's folder, with forward slashes, nearest first; and a reader.

    `is_cut` means there were more files than the limit.
    """

    def __init__(
        self, paths: Sequence[str], read: Callable[[str], str], *, is_cut: bool = False
    ) -> None:
        self.paths = tuple(paths)
        self.read = read
        self.is_cut = is_cut

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> ProjectFiles:
        """An in-memory project: file names with their texts."""
        return cls(tuple(texts), lambda path: texts.get(path, ""))

    @cached_property
    def table(self) -> PathTable:
        """The paths, indexed for patterns."""
        return PathTable(self.paths)


def scan_project(root: Path, *, max_files: int = MAX_FILES) -> ProjectFiles:
    """Scan a project's folder; one that cannot be read has no files."""
    paths: list[str] = []
    for path in _walk(root):
        if len(paths) == max_files:
            return ProjectFiles(tuple(paths), _reader(root), is_cut=True)
        paths.append(path)
    return ProjectFiles(tuple(paths), _reader(root))


def _walk(root: Path) -> Iterator[str]:
    """Level by level, sorted by name."""
    level = [""]
    for _ in range(MAX_DEPTH):
        below: list[str] = []
        for folder in level:
            names, folders = _listed(root / folder)
            yield from (f"{folder}{name}" for name in names)
            below += (f"{folder}{name}/" for name in folders)
        level = below


def _listed(folder: Path) -> tuple[list[str], list[str]]:
    """The names of files (and of folders that act as files, like `App.xcodeproj`), and folders."""
    names: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
                elif _is_scanned(entry.name):
                    folders.append(entry.name)
                    names += [entry.name] if "." in entry.name[1:] else []
    except OSError:
        return [], []
    return sorted(names), sorted(folders)


def _is_scanned(name: str) -> bool:
    return name not in IGNORED and (not name.startswith(".") or name in _SCANNED_HIDDEN)


def _reader(root: Path) -> Callable[[str], str]:
    def read(path: str) -> str:
        file = root / path
        if not is_inside(file, root):
            return ""
        try:
            if not file.is_file():  # a pipe or a device would block
                return ""
            with file.open("rb") as opened:
                return opened.read(MAX_READ_BYTES).decode("utf-8", errors="replace")
        except OSError:
            return ""

    return read
