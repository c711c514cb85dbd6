"""A copy of a whole database beside others: whole or not there, and for its owner alone.

Two processes may copy to the same place at once: each works on a file of its own name, and the
last one to finish gives the target its content. What a killed process has left unfinished is
removed by the next copy into the same folder, once nobody has written to it for an hour.
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
from wellkept.store.sqlite.connection.database import Connection
from wellkept.store.sqlite.connection.errors import translated

_PAGES = 2_048
# Nobody else names files like this, so what bears it may be removed.
_SUFFIX = ".wellkept.partial"
_LEFT_ALONE_S = 3_600
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def copy_database(
    db: Connection, target: Path, *, progress: Callable[[int, int, int], None] | None = None
) -> None:
    """Copy what a connection sees into a file."""
    remove_unfinished(target.parent)
    partial = _new_file(target)
    try:
        with translated(target), closing(sqlite3.connect(partial)) as copy:
            db.backup(copy, pages=_PAGES, progress=progress)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def copy_bytes(source: Path, target: Path) -> None:
    """Copy a file that SQLite cannot read, as it is."""
    from shutil import copyfileobj

    partial = _new_file(target)
    try:
        with source.open("rb") as read, partial.open("wb") as written:
            copyfileobj(read, written)
            written.flush()
            os.fsync(written.fileno())
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        kind = StoreFullError if error.errno in _NO_ROOM else StoreError
        raise kind(
            f"{source} cannot be copied to {target}: {error.strerror}.",
            hint="Free some disk space, or check the permissions of the folder.",
        ) from error


def staging_name(target: Path) -> Path:
    """A name beside a file for what shall take its place; what is left there is removed later."""
    return target.with_name(f"{target.name}.{os.getpid()}{_SUFFIX}")


def unfinished(folder: Path) -> list[Path]:
    """What killed processes have left of their copies to a folder, side files included."""
    found: list[Path] = []
    for path in folder.glob(f"*{_SUFFIX}*"):
        with suppress(FileNotFoundError):
            if time() - path.stat().st_mtime >= _LEFT_ALONE_S:
                found.append(path)
    return found


def remove_unfinished(folder: Path) -> None:
    """Remove it, as far as one may: a copy does not fail because of an earlier one's remains."""
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
