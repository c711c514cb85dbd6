"""Whether the files that memories speak of are there.

Only paths inside a project's root are ever looked at: a path that leads out of it, by `..`, by
being absolute elsewhere or through a link, is neither missing nor there. Knows nothing of memories,
and loads next to nothing: every answer asks this.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path, PurePosixPath

from wellkept.core.errors import UsageError

Exists = Callable[[str], bool]
"""Whether a project-relative path is there, or at least not known to be gone."""


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
    """A check of files below a root that looks at each path once and never outside the root."""
    if not root.is_dir():
        raise UsageError(
            f"The project root {str(root)!r} is not a folder.",
            hint="A refresh without it would take every file for deleted.",
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
            # A name too long or a folder we may not enter: not known to be gone.
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
