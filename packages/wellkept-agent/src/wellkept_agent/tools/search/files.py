"""The files that Glob and Grep look at: those of the project that no ignore file excludes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from wellkept.core.errors import UsageError
from wellkept.graph.index.source_files import ListedFile, list_files
from wellkept.skills.globs import MAX_GLOB_CHARS, path_matcher


def files_below(folder: Path, glob: str | None = None) -> list[ListedFile]:
    """Files below a folder, by path; only those that a pattern fits, if one is given."""
    fits = None if glob is None else path_filter(glob)
    return [one for one in list_files(folder) if fits is None or fits(one.path)]


def path_filter(glob: str) -> Callable[[str], bool]:
    """Whether a pattern fits a path: `*.py` at any depth, `src/**/*.{ts,tsx}` from the top."""
    if not glob.strip("/ ") or len(glob) > MAX_GLOB_CHARS:
        raise UsageError(f"{glob[:50]!r} is no usable file pattern.", hint="Such as src/**/*.py.")
    return path_matcher(glob)
