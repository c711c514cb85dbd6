"""Files that appear whole or not at all.

Invariant: whoever opens the target sees the old file or the complete new one, also after a crash.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from wellkept.core.errors import ConflictError, StoreError


@contextmanager
def new_file(path: Path, *, overwrite: bool = False) -> Generator[TextIO]:
    """A UTF-8 file to write into; it takes its name when the block ends well.

    ConflictError when the file is there and may not be overwritten.
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
        draft.chmod(_mode(path))
        draft.replace(path)
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror}.") from error
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: Path, text: str, *, overwrite: bool = False) -> None:
    """Write a whole small file; its folder is made if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"Cannot make the folder {path.parent}: {error.strerror}.") from error
    with new_file(path, overwrite=overwrite) as file:
        file.write(text)


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise ConflictError(
            f"{path} is already there.", hint="Choose another name, or overwrite it (--overwrite)."
        )


def _mode(path: Path) -> int:
    """The mode of the file that is replaced; a new one is readable by its owner alone."""
    return path.stat().st_mode & 0o777 if path.exists() else 0o600
