"""A copy of a whole database beside others: whole or not there, and for its owner alone.

Two processes may copy to the same place at once: each works on a file of its own name, and the
last one to finish gives the target its content.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from holdfast.core.errors import StoreError
from holdfast.store.sqlite.database import Connection
from holdfast.store.sqlite.faults import translated

_PAGES = 2_048


def copy_database(
    db: Connection, target: Path, *, progress: Callable[[int, int, int], None] | None = None
) -> None:
    """Copy what a connection sees into a file."""
    partial = _new_file(target)
    try:
        with translated(target), closing(sqlite3.connect(partial)) as copy:
            db.backup(copy, pages=_PAGES, progress=progress)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _new_file(target: Path) -> Path:
    """An empty file beside the target that only its owner can read."""
    from tempfile import mkstemp

    try:
        handle, name = mkstemp(prefix=f"{target.name}.", suffix=".partial", dir=target.parent)
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written: {error.strerror}.",
            hint="Choose a folder that you may write to.",
        ) from error
    os.close(handle)
    return Path(name)
