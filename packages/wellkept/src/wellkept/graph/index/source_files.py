"""Lists the files of a source tree, with git if possible, else by walking the folders.

Symbolic links are never followed, so there are no loops and nothing outside the tree is read.
Submodules and nested repositories are left out.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from wellkept.core.records import record

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\s",
    "xdigit": "0-9A-Fa-f",
}
_CLASS = re.compile(rf"\[:({'|'.join(_CLASSES)}):\]")
_SET = re.compile(r"\[([!^]?)(\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\]", re.DOTALL)
"""A bracket expression; its first character may be a closing bracket."""

_STAR = "[^/]*"
_FOLDERS = re.compile(r"\.\*")
"""Any number of folders, in an expression."""


@record
class IgnorePattern:
    """One line of an ignore file, for paths relative to its folder."""

    regex: re.Pattern[str]
    negated: bool
    folders_only: bool


def read_patterns(text: str) -> tuple[IgnorePattern, ...]:
    """The patterns of an ignore file."""
    found = (_pattern(line) for line in text.splitlines())
    return tuple(pattern for pattern in found if pattern is not None)


def is_ignored(
    path: str, *, is_folder: bool, levels: Sequence[tuple[str, tuple[IgnorePattern, ...]]]
) -> bool:
    """Whether ignore files exclude a path. `levels` are (folder, patterns), outermost first."""
    for folder, patterns in reversed(levels):
        below = path[len(folder) + 1 :] if folder else path
        for pattern in reversed(patterns):
            if (is_folder or not pattern.folders_only) and pattern.regex.fullmatch(below):
                return not pattern.negated
    return False


def is_below_ignored(path: str, patterns: tuple[IgnorePattern, ...]) -> bool:
    """Whether the ignore file of the root excludes a file or one of its folders."""
    levels = [("", patterns)]
    folder = ""
    for part in path.split("/")[:-1]:
        folder = f"{folder}/{part}" if folder else part
        if is_ignored(folder, is_folder=True, levels=levels):
            return True
    return is_ignored(path, is_folder=False, levels=levels)


def _pattern(line: str) -> IgnorePattern | None:
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    anchored = "/" in text
    return IgnorePattern(_compiled(text.lstrip("/"), anchored), negated, folders_only)


@lru_cache(maxsize=4096)
def _compiled(text: str, anchored: bool) -> re.Pattern[str]:
    parts: list[str] = []
    at = 0
    while at < len(text):
        part, at = _translated(text, at)
        parts.append(part)
    body = ("" if anchored else "(?:.*/)?") + _joined(parts)
    try:
        return re.compile(body, re.DOTALL)
    except re.error:  # a broken character class
        return re.compile(re.escape(text))


def _joined(parts: Sequence[str]) -> str:
    """The parts as one expression. What stands between two stars is found at its first place and
    kept there: another place never helps, and trying all of them takes forever on hostile names."""
    stars = [n for n, part in enumerate(parts) if part == _STAR]
    if not stars:
        return "".join(parts)
    body = "".join(parts[: stars[0]])
    for start, end in zip(stars, [*stars[1:], len(parts)], strict=True):
        between = "".join(parts[start + 1 : end])
        if end < len(parts) and not _FOLDERS.search(between):
            body += f"(?>[^/]*?{between})"
        else:
            body += _STAR + between
    return body


def _translated(text: str, at: int) -> tuple[str, int]:
    """The regular expression for the token at a position, and the position after it."""
    if text.startswith("**/", at) and (at == 0 or text[at - 1] == "/"):
        return "(?:.*/)?", at + 3
    if text.startswith("**", at) and at + 2 == len(text):
        return ".*", at + 2
    character = text[at]
    if character == "*":
        return _STAR, at + 1
    if character == "?":
        return "[^/]", at + 1
    if character == "\\" and at + 1 < len(text):
        return re.escape(text[at + 1]), at + 2
    if character == "[":
        found = _SET.match(text, at)
        if found is not None:
            named = _CLASS.sub(lambda name: _CLASSES[name[1]], found[2].replace("\\", ""))
            inner = re.sub(r"([\[\]&~|^])", r"\\\1", named)
            return f"(?!/)[{'^' if found[1] else ''}{inner}]", found.end()
    return re.escape(character), at + 1


# -- Listing --------------------------------------------------------------------------------------


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
