"""Lists the files of a source tree, with git if possible, else by walking the folders.

Symbolic links are never followed, so there are no loops and nothing outside the tree is read.
Submodules and nested repositories are left out.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from wellkept.graph.index.gitignore import (
    IgnorePattern,
    is_below_ignored,
    is_ignored,
    read_patterns,
)

_IGNORE_FILES = (".gitignore", ".ignore", ".wellkeptignore")
_NEVER = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox"})
_GIT_TIMEOUT_S = 60.0
_FOLDER_LIMIT = 200
"""Protects against broken file systems."""


class ListedFile(NamedTuple):
    """A file with its size and modification time."""

    path: str
    size_bytes: int
    mtime_ns: int


def list_files(root: Path) -> list[ListedFile]:
    """All files of the tree that are not ignored, by path."""
    names = _by_git(root)
    if names is None:
        names = list(_walked(root))
    own = _read(root / ".wellkeptignore")  # git does not know this file
    found: list[ListedFile] = []
    for name in sorted(set(names)):
        if own and is_below_ignored(name, own):
            continue
        listed = stat_file(root, name)
        if listed is not None:
            found.append(listed)
    return found


def stat_file(root: Path, name: str) -> ListedFile | None:
    """Size and time of a file; None if it is missing, not a regular file, or not accessible."""
    try:
        found = os.lstat(f"{root}/{name}")
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return ListedFile(name, found.st_size, found.st_mtime_ns)


def _by_git(root: Path) -> list[str] | None:
    """Tracked files, and untracked ones that are not ignored; None without git.

    Also None if git lists nothing: then an outer repository ignores the folder, but the user named
    it.
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
    # A submodule is listed as a folder; `stat_file` leaves it out.
    return [name for name in names if name and not _NEVER.intersection(name.split("/")[:-1])]


def _walked(root: Path) -> Iterator[str]:
    """Files below a folder, without those that ignore files exclude."""
    waiting: list[tuple[str, tuple[tuple[str, tuple[IgnorePattern, ...]], ...]]] = [("", ())]
    while waiting:
        folder, levels = waiting.pop()
        entries = _entries(f"{root}/{folder}")
        if folder and ".git" in entries:  # a nested repository
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
    """Names in a folder, and whether each is a folder; without symbolic links."""
    try:
        with os.scandir(folder) as entries:
            return {
                entry.name: entry.is_dir(follow_symlinks=False)
                for entry in entries
                if not entry.is_symlink()
            }
    except OSError:  # unreadable folder
        return {}


def _read(path: Path) -> tuple[IgnorePattern, ...]:
    try:
        return read_patterns(path.read_text("utf-8", errors="replace"))
    except OSError:
        return ()
