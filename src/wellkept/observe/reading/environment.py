"""What the observer must be told about the machine it runs on, as functions.

Nothing in this package looks at disks or asks git by itself; `app` hands these in. A world that
knows nothing works too: names then stay as the client gave them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from functools import lru_cache

from wellkept.core.records import record


@record
class ProjectLocation:
    """The project of a folder. Its root may be reached by several paths (links)."""

    project: str
    roots: tuple[str, ...] = ()


@record
class GitState:
    """Where a checkout stands; a detached one has no branch, an empty one no commit."""

    branch: str | None
    commit: str | None


def _no_git(folder: str) -> GitState | None:  # noqa: ARG001
    return None


def _no_file(path: str) -> str | None:  # noqa: ARG001
    return None


def _no_commit(folder: str, sha: str) -> tuple[str, ...]:  # noqa: ARG001
    return ()


@record
class Environment:
    """Which project a folder belongs to, where git stands, what a file holds now, and which files a
    commit touched."""

    place: Callable[[str | None], ProjectLocation]
    git: Callable[[str], GitState | None] = _no_git
    read_file: Callable[[str], str | None] = _no_file
    commit_files: Callable[[str, str], tuple[str, ...]] = _no_commit


def absolute(path: str, *, cwd: str | None) -> str:
    """A path as seen from a folder, in forward slashes and without dots."""
    plain = path.replace("\\", "/")
    is_absolute = plain.startswith("/") or plain[1:3] == ":/"
    whole = plain if is_absolute or not cwd else posixpath.join(cwd.replace("\\", "/"), plain)
    return posixpath.normpath(whole)


@lru_cache(maxsize=1024)
def relative(path: str, *, cwd: str | None, roots: tuple[str, ...]) -> str | None:
    """A path as it is called in its project; None when it lies outside."""
    whole = absolute(path, cwd=cwd)
    for root in roots or ((cwd,) if cwd else ()):
        base = root.replace("\\", "/").rstrip("/")
        if whole.startswith(f"{base}/"):
            return whole[len(base) + 1 :]
    is_relative = not (whole.startswith(("/", "..")) or whole[1:3] == ":/")
    return whole if is_relative else None
