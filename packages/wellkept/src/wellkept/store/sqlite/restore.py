"""Restores a backup over a database, all or nothing.

SQLite's backup API writes the pages into the existing file as one transaction: after a kill or a
full disk the old content is still there, readers see either state, and processes with the file
open notice by the schema counter. A file that SQLite cannot open is replaced by a new one;
processes that still have it open must be restarted.

Invariant: the old content is first copied beside the file, with the lock held, so that nothing is
written in between. The backup is only read.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, NamedTuple

from wellkept.core.clock import Clock, from_ms
from wellkept.core.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    UsageError,
)
from wellkept.core.query import StoreContents
from wellkept.store.spool import sync_folder
from wellkept.store.sqlite.database import Connection, Database, translated
from wellkept.store.sqlite.migrations import APPLICATION_ID, pending, schema_version
from wellkept.store.sqlite.opening import open_file

if TYPE_CHECKING:
    from wellkept.core.types import Progress

_PAGES = 2_048
_LOGS = ("-wal", "-journal")
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_ANOTHER = "Choose another backup."
_NO_USE = f"Nothing was changed. {_ANOTHER}"


class ReplacedFile(NamedTuple):
    """Path of the copy of the old content, if there was any; whether the file itself stayed."""

    kept: Path | None
    in_place: bool


def inspect(path: Path) -> StoreContents:
    """Contents of a Wellkept file of any schema version. Changes nothing."""
    with _opened(path) as db:
        return _contents(db, path)


def verify(source: Path, path: Path) -> StoreContents:
    """Contents of a backup that can be restored to `path`. Reads all of it."""
    _require_another(source, path)
    try:
        with _opened(source) as backup:
            return _verified(backup, source)
    except StoreCorruptError as error:  # the hint must be about the backup, not the store
        raise StoreCorruptError(error.message, hint=_NO_USE) from error


def restore(
    source: Path,
    path: Path,
    *,
    busy_timeout_ms: int,
    clock: Clock,
    progress: Progress | None = None,
) -> ReplacedFile:
    """Restore a backup and migrate it to the current schema."""
    _require_another(source, path)
    stem = f"{path.name}.before-restore-{clock():%Y%m%dT%H%M%SZ}"
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    kept = next(free for name in names if not (free := path.with_name(name)).exists())
    with _opened(source) as backup:
        _verified(backup, source)
        database = Database(path, busy_timeout_ms=busy_timeout_ms)
        try:
            _require_readable(path)
            done = _restore_in_place(backup, database, kept, progress)
        except StoreCorruptError:
            database.close()
            for end in ("", *_LOGS):
                if (part := path.with_name(path.name + end)).exists():
                    copy_bytes(part, kept.with_name(kept.name + end))
            _replace_file(backup, path)
            done = ReplacedFile(kept, in_place=False)
        finally:
            database.close()
    open_file(
        path, busy_timeout_ms=busy_timeout_ms, clock=clock
    ).close()  # migrates an older backup
    return done


# -- The backup -----------------------------------------------------------------------------------


def _require_another(source: Path, path: Path) -> None:
    if path.exists() and source.exists() and path.samefile(source):
        raise UsageError(f"{source} is the database itself.", hint=_ANOTHER)


@contextmanager
def _opened(path: Path) -> Generator[Connection, None, None]:
    """One snapshot of a file. Without WAL files it is not in use, and none are created."""
    if not path.is_file():
        raise UsageError(f"There is no file {path}.", hint=_ANOTHER)
    in_use = any(path.with_name(path.name + end).exists() for end in (*_LOGS, "-shm"))
    query = "?mode=ro" if in_use else "?mode=ro&immutable=1"
    database = Database(path, busy_timeout_ms=1_000, uri_query=query)
    try:
        with database.snapshot() as db:
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # starts the snapshot
            yield db
    finally:
        database.close()


def _verified(db: Connection, path: Path) -> StoreContents:
    try:
        pending(db)  # raises for a newer schema
        (result,) = db.execute("PRAGMA integrity_check(1)").fetchone()
        contents = _contents(db, path)
    except (StoreCorruptError, sqlite3.DatabaseError) as error:
        reason = error.message if isinstance(error, StoreCorruptError) else str(error)
        raise _corrupt_backup(path, reason) from error
    if result != "ok":
        raise _corrupt_backup(path, f"SQLite found damage: {result}")
    return contents


def _corrupt_backup(path: Path, why: str) -> StoreCorruptError:
    return StoreCorruptError(f"The backup {path} is corrupt: {why.rstrip('.')}.", hint=_NO_USE)


def _contents(db: Connection, path: Path) -> StoreContents:
    version = schema_version(db)
    if version == 0:
        raise StoreCorruptError(f"{path} is empty.", hint=_ANOTHER)
    total, first, last = db.execute(
        "SELECT count(*), min(created_ms), max(created_ms) FROM memories"
    ).fetchone()
    projects = db.execute(
        "SELECT project, count(*) AS held FROM memories GROUP BY project"
        " ORDER BY held DESC, project"
    ).fetchall()
    return StoreContents(
        schema=version,
        size_bytes=path.stat().st_size,
        memories=total,
        oldest_at=None if first is None else from_ms(first),
        newest_at=None if last is None else from_ms(last),
        projects=tuple((name, held) for name, held in projects),
    )


# -- The database ---------------------------------------------------------------------------------


def _require_readable(path: Path) -> None:
    """Check by reading: opening a damaged file for writing deletes its WAL."""
    if not path.exists():
        return
    try:
        with _opened(path):
            pass
    except StoreCorruptError:
        raise
    except StoreError:
        return  # such as a hot journal, which opening for writing rolls back


def _restore_in_place(
    backup: Connection, database: Database, kept: Path, progress: Progress | None
) -> ReplacedFile:
    with database.alone() as db:
        has_content = _has_content(db, database.path)
        is_kept = not has_content
        _agree_on_pages(backup, db, database.path, is_new=not has_content)
        db.execute("PRAGMA journal_mode = WAL")
        total = int(backup.execute("PRAGMA page_count").fetchone()[0])

        def tell(status: int, remaining: int, total: int) -> None:
            nonlocal is_kept
            if status in _BUSY:  # after the busy time-out
                raise StoreBusyError(
                    f"The database {database.path} is locked by another process.",
                    hint="Nothing was changed. Try again, or end the process that holds it.",
                )
            if not is_kept:
                with database.reading() as former:
                    copy_database(former, kept)
                is_kept = True
            if progress is not None:
                progress(total - remaining, total)

        # The first step takes the lock and leaves one page, so that it is not the last step.
        backup.backup(db, pages=max(1, min(_PAGES, total - 1)), progress=tell)
    return ReplacedFile(kept if has_content else None, in_place=True)


def _has_content(db: Connection, path: Path) -> bool:
    (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    (owner,) = db.execute("PRAGMA application_id").fetchone()
    if tables and owner != APPLICATION_ID:
        raise UsageError(
            f"{path} is a database of another program. It was not changed.",
            hint="Choose another path for the database.",
        )
    return bool(tables)


def _agree_on_pages(backup: Connection, db: Connection, path: Path, *, is_new: bool) -> None:
    """SQLite cannot write pages of one size into a WAL of another."""
    (wanted,) = backup.execute("PRAGMA page_size").fetchone()
    if is_new:
        db.execute(f"PRAGMA page_size = {wanted}")
    elif db.execute("PRAGMA page_size").fetchone()[0] != wanted:
        raise StoreError(
            f"The backup has pages of {wanted} bytes, unlike {path}.",
            hint="End the processes that use the database, move it away and restore again.",
        )


def _replace_file(backup: Connection, path: Path) -> None:
    """Replace an unreadable file. Its WAL files are removed first: they belong to the old one."""
    staged = staging_name(path)
    copy_database(backup, staged)
    try:
        for end in (*_LOGS, "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        staged.replace(path)
    except OSError as error:
        with suppress(OSError):
            staged.unlink(missing_ok=True)
        raise StoreError(
            f"{path} cannot be replaced: {error.strerror}.",
            hint="End the processes that use it and check the permissions of its folder.",
        ) from error


# -- Backups --------------------------------------------------------------------------------------


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
