"""Copies a whole database atomically, readable only by its owner.

Two processes may copy to the same target: each writes a temporary file, and the last to finish
wins. Temporary files of killed processes are removed by the next copy into the same folder once
they are an hour old.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from time import time

from wellkept.core.errors import StoreError, StoreFullError
from wellkept.store.spool import sync_folder
from wellkept.store.sqlite.connection.database import Connection, translated

_PAGES = 2_048
# A suffix nobody else uses, so such files may be removed.
_SUFFIX = ".wellkept.partial"
_ABANDONED_AFTER_S = 3_600
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def copy_database(
    db: Connection, target: Path, *, progress: Callable[[int, int, int], None] | None = None
) -> None:
    """Copy the database of a connection into a file."""
    remove_unfinished(target.parent)
    partial = _new_file(target)
    try:
        with translated(target), closing(sqlite3.connect(partial)) as copy:
            db.backup(copy, pages=_PAGES, progress=progress)
        partial.replace(target)
        sync_folder(str(target.parent))
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def copy_bytes(source: Path, target: Path) -> None:
    """Copy a file that SQLite cannot read, byte by byte."""
    from shutil import copyfileobj

    partial = _new_file(target)
    try:
        with source.open("rb") as read, partial.open("wb") as written:
            copyfileobj(read, written)
            written.flush()
            os.fsync(written.fileno())
        partial.replace(target)
        sync_folder(str(target.parent))
    except OSError as error:
        partial.unlink(missing_ok=True)
        kind = StoreFullError if error.errno in _NO_ROOM else StoreError
        raise kind(
            f"{source} cannot be copied to {target}: {error.strerror}.",
            hint="Free some disk space, or check the permissions of the folder.",
        ) from error


def staging_name(target: Path) -> Path:
    """Path of a temporary file beside the target; abandoned ones are removed later."""
    return target.with_name(f"{target.name}.{os.getpid()}{_SUFFIX}")


def unfinished(folder: Path) -> list[Path]:
    """Temporary files of killed processes in a folder, WAL files included."""
    found: list[Path] = []
    for path in folder.glob(f"*{_SUFFIX}*"):
        with suppress(FileNotFoundError):
            if time() - path.stat().st_mtime >= _ABANDONED_AFTER_S:
                found.append(path)
    return found


def remove_unfinished(folder: Path) -> None:
    """Remove abandoned temporary files; errors are ignored."""
    for path in unfinished(folder):
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _new_file(target: Path) -> Path:
    """An empty file beside the target that only its owner can read."""
    from tempfile import mkstemp

    try:
        handle, name = mkstemp(prefix=f"{target.name}.", suffix=_SUFFIX, dir=target.parent)
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written: {error.strerror}.",
            hint="Choose a folder that you may write to.",
        ) from error
    os.close(handle)
    return Path(name)
