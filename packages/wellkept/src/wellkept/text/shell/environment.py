"""Access to the machine: projects, git and files, as functions passed in by `api`.

`observe` never reads disks or runs git itself. All functions but `locate` are optional; without
them, names stay as the client gave them. Also maps paths into the project.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from functools import lru_cache

from wellkept.core.records import record
from wellkept.text.memory_commands.rules import NamedThings


@record
class ProjectLocation:
    """The project of a folder. Links can give its root several paths."""

    project: str
    roots: tuple[str, ...] = ()


@record
class GitState:
    """Branch and commit of a checkout; a detached one has no branch, an empty one no commit."""

    branch: str | None
    commit: str | None


def _no_git(folder: str) -> GitState | None:  # noqa: ARG001
    return None


def _no_file(path: str) -> str | None:  # noqa: ARG001
    return None


def _no_commit(folder: str, sha: str) -> tuple[str, ...]:  # noqa: ARG001
    return ()


def _nothing_named(root: str, text: str) -> NamedThings:  # noqa: ARG001
    return NamedThings()


@record
class Environment:
    """Functions that find a folder's project, its git state, a file's text, a commit's files, and
    what a text names below a root."""

    locate: Callable[[str | None], ProjectLocation]
    git: Callable[[str], GitState | None] = _no_git
    read_file: Callable[[str], str | None] = _no_file
    commit_files: Callable[[str, str], tuple[str, ...]] = _no_commit
    named: Callable[[str, str], NamedThings] = _nothing_named


@record
class ToolContext:
    """The environment as seen from one tool call: paths are relative to its working folder."""

    is_known: Callable[[str], bool]
    relative: Callable[[str], str | None]
    folder: Callable[[str | None], str | None]
    read_file: Callable[[str], str | None]
    commit_files: Callable[[str], tuple[str, ...]]


def absolute(path: str, *, cwd: str | None) -> str:
    """The normalised absolute path, with forward slashes."""
    plain = path.replace("\\", "/")
    is_absolute = plain.startswith("/") or plain[1:3] == ":/"
    whole = plain if is_absolute or not cwd else posixpath.join(cwd.replace("\\", "/"), plain)
    return posixpath.normpath(whole)


@lru_cache(maxsize=1024)
def relative(path: str, *, cwd: str | None, roots: tuple[str, ...]) -> str | None:
    """The path from the project's root; None when it lies outside."""
    whole = absolute(path, cwd=cwd)
    for root in roots or ((cwd,) if cwd else ()):
        base = root.replace("\\", "/").rstrip("/")
        if whole.startswith(f"{base}/"):
            return whole[len(base) + 1 :]
    is_relative = not (whole.startswith(("/", "..")) or whole[1:3] == ":/")
    return whole if is_relative else None


def relative_folder(folder: str | None, *, cwd: str | None, roots: tuple[str, ...]) -> str | None:
    """A folder from the project's root, "" for the root; None when outside or unknown."""
    if folder is None or not cwd:
        return None
    whole = absolute(folder or ".", cwd=cwd)
    if any(whole == root.replace("\\", "/").rstrip("/") for root in roots):
        return ""
    return relative(whole, cwd=cwd, roots=roots) if roots else None
