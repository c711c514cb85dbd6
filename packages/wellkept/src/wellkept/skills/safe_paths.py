"""Paths named in documents: they must stay inside their folder, links included."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath


def _is_plain_relative(text: str) -> bool:
    """Whether a path only goes downwards, on every system."""
    if not text.strip() or any(ord(c) < 32 for c in text):
        return False
    windows, posix = PureWindowsPath(text), PurePosixPath(text)
    is_rooted = bool(windows.drive or windows.root) or posix.is_absolute() or text.startswith("~")
    return not is_rooted and ".." not in windows.parts


def path_inside(folder: Path, text: str) -> Path | None:
    """The path below a folder that a text names; None when it leads outside, links resolved."""
    if not _is_plain_relative(text):
        return None
    path = folder / text.replace("\\", "/")
    return path if is_inside(path, folder) else None


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path, with links resolved, is the folder or inside it."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False
