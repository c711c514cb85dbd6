"""Atomic writes: the target is what was there or the complete new one, even after a crash."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from wellkept.core.errors import ConflictError, StoreError


@contextmanager
def new_file(path: Path, *, overwrite: bool = False) -> Generator[TextIO]:
    """A UTF-8 file to write into; renamed to its target when the block succeeds.

    ConflictError when the target exists and may not be overwritten.
    """
    if not overwrite:
        _refuse_existing(path)
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror}.") from error
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if not overwrite:
            _refuse_existing(path)
        # The mode of the replaced file; a new one is readable by its owner only.
        draft.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o600)
        draft.replace(path)
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror}.") from error
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Generator[Path]:
    """A folder to fill, renamed to its target when the block succeeds; the target must not exist.

    Its files reach the disk together, by one `sync`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"))
    except OSError as error:
        raise StoreError(f"Cannot make the folder {path}: {error.strerror}.") from error
    try:
        yield staged
        for empty in [one for one in staged.iterdir() if one.is_dir() and not any(one.iterdir())]:
            empty.rmdir()
        if hasattr(os, "sync"):
            os.sync()
        staged.rename(path)
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror}.") from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def write_text(path: Path, text: str, *, overwrite: bool = False) -> None:
    """Write a small file atomically; creates its folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"Cannot make the folder {path.parent}: {error.strerror}.") from error
    with new_file(path, overwrite=overwrite) as file:
        file.write(text)


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise ConflictError(
            f"{path} already exists.", hint="Choose another name, or overwrite it (--overwrite)."
        )
