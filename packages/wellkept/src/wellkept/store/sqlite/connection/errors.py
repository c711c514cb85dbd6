"""Translates `sqlite3.Error` into the `StoreError` family, with a hint what to do.

Invariant: no `sqlite3.Error` leaves the engine. Constraint violations that are expected are handled
by the code that writes, which knows their meaning.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from wellkept.core.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    UsageError,
)

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
# SQLite makes the file that readers share in steps of 32 KiB.
_NO_ROOM_BYTES = 128 << 10
_RESTORE = "Run `wellkept doctor`; if it cannot repair it, `wellkept restore` a backup."
_DEEP = "Run `wellkept doctor --deep`: it names the record."
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for errors of the driver itself."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def translate(error: sqlite3.Error, path: Path) -> StoreError | UsageError:
    """The Wellkept error for an SQLite error."""
    code = primary_code(error)
    if code in _BUSY:
        return StoreBusyError(
            f"The database {path} is locked by another process.",
            hint="Try again, end the process that holds it, or raise the busy time-out.",
        )
    # An existing file that cannot be opened lacks permission for its WAL files.
    if code == sqlite3.SQLITE_READONLY or (code == sqlite3.SQLITE_CANTOPEN and path.is_file()):
        return StoreReadOnlyError(
            f"The database {path} cannot be written.",
            hint="Check the permissions of the file and of its folder.",
        )
    if code == sqlite3.SQLITE_FULL or _hit_a_size_limit(error) or _is_full(code, path):
        return StoreFullError(
            f"No disk space left to write {path}; nothing of this change was stored.",
            hint="Free some disk space and try again.",
        )
    if code in _DAMAGED:
        return StoreCorruptError(
            f"{path} is damaged or is not a Wellkept database ({error}).", hint=_RESTORE
        )
    if "Could not decode to UTF-8" in str(error):
        # SQLite's message would quote the text.
        return StoreCorruptError(f"A text in {path} is damaged.", hint=_DEEP)
    return _less_common(error, code, path)


def _less_common(error: sqlite3.Error, code: int, path: Path) -> StoreError | UsageError:
    if code == sqlite3.SQLITE_CANTOPEN:
        return StoreError(
            f"The database {path} cannot be opened.",
            hint="Check that its folder exists and that you may use it.",
        )
    if code == sqlite3.SQLITE_TOOBIG:
        return UsageError("The text is too large to be stored.", hint="Split it.")
    return StoreError(
        f"The database {path} reported an error: {error}.", hint="Run `wellkept doctor`."
    )


def _hit_a_size_limit(error: sqlite3.Error) -> bool:
    """A file-size limit shows as a failed write, not as a full disk."""
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_WRITE


def _is_full(code: int, path: Path) -> bool:
    """No room for the files beside the database shows as an error of input or output."""
    if code != sqlite3.SQLITE_IOERR:
        return False
    from shutil import disk_usage

    try:
        return disk_usage(path.parent).free < _NO_ROOM_BYTES
    except OSError:
        return False


@contextmanager
def translated(path: Path) -> Generator[None, None, None]:
    """Translate SQLite errors raised inside the block."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        # Whoever writes something that may break a rule handles it; this one was not to be.
        raise StoreCorruptError(f"A record in {path} is damaged ({error}).", hint=_DEEP) from error
    except sqlite3.Error as error:
        raise translate(error, path) from error
    except UnicodeDecodeError as error:
        # The names in SQLite's own message are damaged.
        raise StoreCorruptError(f"{path} is damaged.", hint=_RESTORE) from error
    except UnicodeEncodeError as error:
        raise UsageError(
            f"A text contains a character that cannot be stored: {error.reason}.",
            hint="Clean it with wellkept.core.text.clean first.",
        ) from error
    except OverflowError as error:
        raise UsageError("A number is too large to be stored.") from error


@contextmanager
def readable_index(path: Path) -> Generator[None, None, None]:
    """Report values of a search index that cannot be: a damaged page gives nonsense, not an
    error of SQLite."""
    try:
        yield
    except (ArithmeticError, IndexError, ValueError, TypeError) as error:
        raise StoreCorruptError(
            f"The search index in {path} is damaged.",
            hint="Run `wellkept doctor --repair`: it makes the index anew from the memories.",
        ) from error
