"""What SQLite says went wrong, in Wellkept's words.

Invariant: no `sqlite3.Error` leaves the engine; each becomes one of the `StoreError` family with
what to do about it. Constraint violations are not translated here: the code that writes knows
what they mean.
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
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code without the extended part; 0 when the driver itself complained."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def translate(error: sqlite3.Error, path: Path) -> StoreError | UsageError:
    """The Wellkept error that an SQLite error stands for."""
    code = primary_code(error)
    if code in _BUSY:
        return StoreBusyError(
            f"The database {path} is locked by another process.",
            hint="Try again, end the process that holds it, or raise the busy time-out.",
        )
    # A file that is there but cannot be opened lacks the permission for its side files.
    if code == sqlite3.SQLITE_READONLY or (code == sqlite3.SQLITE_CANTOPEN and path.is_file()):
        return StoreReadOnlyError(
            f"The database {path} cannot be written.",
            hint="Check the permissions of the file and of its folder.",
        )
    if code == sqlite3.SQLITE_FULL or _hit_a_size_limit(error):
        return StoreFullError(
            f"There is no room left to write {path}; nothing of this change was kept.",
            hint="Free some disk space and repeat the last action.",
        )
    if code in _DAMAGED:
        return StoreCorruptError(
            f"{path} is damaged or is not a Wellkept database ({error}).",
            hint="Run `wellkept doctor`; if it cannot mend it, `wellkept restore` a backup.",
        )
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
    """A file-size limit shows as a failed write rather than as a full disk."""
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_WRITE


@contextmanager
def translated(path: Path) -> Generator[None, None, None]:
    """Turn what SQLite raises inside into Wellkept's errors."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except sqlite3.Error as error:
        raise translate(error, path) from error
    except UnicodeEncodeError as error:
        raise UsageError(
            f"A text holds a character that cannot be stored: {error.reason}.",
            hint="Clean it with wellkept.core.text.clean first.",
        ) from error
    except OverflowError as error:
        raise UsageError("A number is too large to be stored.") from error
