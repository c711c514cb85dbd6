"""Atomic file writes: no reader sees half a file, and `write_new` never overwrites."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from wellkept.core.errors import ConflictError


def write_atomically(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace a file in one step; with `mode` it gets those permissions."""
    with NamedTemporaryFile(dir=path.parent, prefix=".new-", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if mode is not None:
                Path(file.name).chmod(mode)
            file.close()
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def write_new(path: Path, data: bytes) -> None:
    """Create a file that does not exist yet, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("xb") as file:
            try:
                file.write(data)
                file.flush()
            except BaseException:
                path.unlink()
                raise
    except FileExistsError:
        raise ConflictError(
            f"{path} already exists.", hint="Choose another name, or edit that one."
        ) from None
