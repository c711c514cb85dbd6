"""Checks whether the files of memories exist.

Only paths inside the project root are checked. A path that leads outside (`..`, absolute, or
through a link) never counts as missing. Imports little, because every recall uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path, PurePosixPath

from wellkept.core.errors import UsageError

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
