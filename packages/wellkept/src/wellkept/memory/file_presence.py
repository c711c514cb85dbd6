"""Paths of a project's files: relative to its root, inside it, and whether they exist.

Only paths inside the project root are checked. A path that leads outside (`..`, absolute, or
through a link) never counts as missing. Imports little, because every recall uses it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from wellkept.core.errors import UsageError
from wellkept.core.text import shorten

Exists = Callable[[str], bool]
"""Whether a project-relative path exists, or is at least not known to be missing."""


def project_path(path: str) -> str | None:
    """A stored path as a project-relative one with forward slashes; None when it leads outside."""
    plain = path.replace("\\", "/")
    if plain.startswith("/") or "\0" in plain:
        return None
    parts: list[str] = []
    for part in PurePosixPath(plain).parts:
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            return None
    inside = "/".join(parts)
    on_a_drive = inside[1:2] == ":"
    return inside if inside.strip() and not on_a_drive else None


def exists_below(root: Path) -> Exists:
    """A cached check of files below a root."""
    if not root.is_dir():
        raise UsageError(
            f"The project root {str(root)!r} is not a folder.",
            hint="Without it every file would count as deleted.",
        )
    real_root = root.resolve()

    @cache
    def exists(path: str) -> bool:
        relative = project_path(_below(root, path))
        if relative is None:
            return True
        try:
            real = (real_root / relative).resolve()
            return not real.is_relative_to(real_root) or real.exists()
        except OSError:
            # A name too long or a folder without access: not known to be missing.
            return True

    return exists


def _below(root: Path, path: str) -> str:
    """An absolute path inside the root as a relative one; others as they are."""
    if not Path(path).is_absolute():
        return path
    for base in (root, root.resolve()):
        if Path(path).is_relative_to(base):
            return Path(path).relative_to(base).as_posix()
    return path


def relative_path(root: Path, path: str | Path) -> str:
    """A file of the project relative to its root, with forward slashes.

    Relative paths start at the root. UsageError for anything that leads outside, also by a link.
    """
    text = os.fspath(path)
    if not text or "\0" in text:
        raise UsageError(f"{text!r} is not a file path.")
    given = _native(root, text)
    real_root, real = real_path(root), real_path(root / given)
    if _is_foreign(text) or not real.is_relative_to(real_root):
        raise UsageError(
            f"The path {text!r} is outside the project {real_root}.",
            hint="Name a file inside the project.",
        )
    plain = root / given
    # A path that is clearly inside stays as given, so that a linked file keeps its name.
    if ".." not in plain.parts and plain.is_relative_to(root):
        return plain.relative_to(root).as_posix()
    return real.relative_to(real_root).as_posix()


def path_exists(path: Path) -> bool:
    """Whether a file exists; False for an impossible name (too long, a NUL)."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _is_foreign(text: str) -> bool:
    """Whether a path is absolute on Windows only, seen from another system."""
    return os.name != "nt" and not text.startswith("/") and PureWindowsPath(text).is_absolute()


def _native(root: Path, text: str) -> PurePath:
    """A path as this system writes it; a Windows-style relative path is understood anywhere."""
    if os.name == "nt" or "\\" not in text or path_exists(root / text):
        return PurePath(text)
    return PurePosixPath(PureWindowsPath(text).as_posix())


def real_path(path: Path) -> Path:
    """The path with links followed; UsageError when that is impossible."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        raise UsageError(
            f"The path {shorten(str(path), limit=200)!r} cannot be followed.",
            hint="Check its characters, its length and its links.",
        ) from None
