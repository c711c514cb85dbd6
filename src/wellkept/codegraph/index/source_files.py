"""The files of a source tree, by git where there is one, else by walking the folders.

Symbolic links are never followed, so a link that leads upwards cannot make a loop and nothing
outside the tree is read. Submodules and other repositories inside the tree are left to themselves.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from wellkept.codegraph.index.gitignore import (
    IgnorePattern,
    is_below_ignored,
    is_ignored,
    read_patterns,
)

_IGNORE_FILES = (".gitignore", ".ignore", ".wellkeptignore")
_NEVER = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox"})
_GIT_TIMEOUT_S = 60.0
_FOLDER_LIMIT = 200
"""No tree is that deep; a file system that goes on is broken."""


class ListedFile(NamedTuple):
    """A file as the file system shows it."""

    path: str
    size_bytes: int
    mtime_ns: int


def list_files(root: Path) -> list[ListedFile]:
    """Every file of the tree that is not ignored, by path."""
    names = _by_git(root)
    if names is None:
        names = list(_walked(root))
    own = _own_patterns(root)
    found: list[ListedFile] = []
    for name in sorted(set(names)):
        if own and is_below_ignored(name, own):
            continue
        listed = look(root, name)
        if listed is not None:
            found.append(listed)
    return found


def look(root: Path, name: str) -> ListedFile | None:
    """A file of the tree; None for what is gone, no plain file, or cannot be looked at."""
    try:
        found = os.lstat(f"{root}/{name}")
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return ListedFile(name, found.st_size, found.st_mtime_ns)


def _own_patterns(root: Path) -> tuple[IgnorePattern, ...]:
    """What only Wellkept is to leave out; git does not know this file."""
    return _read(root / ".wellkeptignore")


def _by_git(root: Path) -> list[str] | None:
    """Tracked files and new ones that are not ignored; None where git cannot tell.

    It cannot either when it lists nothing: then the folder is one that a repository around it
    ignores, and was named on purpose.
    """
    command = ("git", "-C", str(root), "ls-files", "-z", "--cached", "--others",
               "--exclude-standard")  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, timeout=_GIT_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0 or not done.stdout:
        return None
    names = os.fsdecode(done.stdout).split("\0")
    # A submodule is listed as one entry that is a folder; `look` leaves it out.
    return [name for name in names if name and not _NEVER.intersection(name.split("/")[:-1])]


def _walked(root: Path) -> Iterator[str]:
    """Files below a folder, ignore files honoured on the way down."""
    waiting: list[tuple[str, tuple[tuple[str, tuple[IgnorePattern, ...]], ...]]] = [("", ())]
    while waiting:
        folder, levels = waiting.pop()
        entries = _entries(f"{root}/{folder}")
        if folder and ".git" in entries:  # another repository
            continue
        ignoring = [name for name in _IGNORE_FILES if name in entries]
        patterns = tuple(p for name in ignoring for p in _read(root / folder / name))
        levels = (*levels, (folder, patterns)) if patterns else levels
        for name, is_folder in entries.items():
            path = f"{folder}/{name}" if folder else name
            if name in _NEVER or is_ignored(path, is_folder=is_folder, levels=levels):
                continue
            if not is_folder:
                yield path
            elif path.count("/") < _FOLDER_LIMIT:
                waiting.append((path, levels))


def _entries(folder: str) -> dict[str, bool]:
    """What is in a folder, and whether it is a folder itself; links are left out."""
    try:
        with os.scandir(folder) as entries:
            return {
                entry.name: entry.is_dir(follow_symlinks=False)
                for entry in entries
                if not entry.is_symlink()
            }
    except OSError:  # a folder that may not be read is passed over
        return {}


def _read(path: Path) -> tuple[IgnorePattern, ...]:
    try:
        return read_patterns(path.read_text("utf-8", errors="replace"))
    except OSError:
        return ()
