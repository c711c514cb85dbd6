"""Translates errors of psycopg and its pool into the `StoreError` family, with a hint.

Invariant: no error of the driver leaves the engine, and no message shows a password or a stored
text. Constraint violations that are expected are handled by the code that writes.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from wellkept.core.errors import (
    StoreAwayError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    UsageError,
    WellkeptError,
)

_BUSY = (pg.LockNotAvailable, pg.QueryCanceled, pg.DeadlockDetected, pg.SerializationFailure)
_FULL = (pg.DiskFull, pg.OutOfMemory)
_UNFIT = (
    pg.ProgramLimitExceeded,
    pg.NumericValueOutOfRange,
    pg.CharacterNotInRepertoire,
    pg.UntranslatableCharacter,
)
_DAMAGED = (pg.DataCorrupted, pg.IndexCorrupted, pg.UndefinedTable, pg.UndefinedColumn)
_AWAY = "Check that the server runs and that the address, user and password are right."


def away(place: str, reason: object) -> StoreAwayError:
    """The error for a server that cannot be reached."""
    text = str(reason).strip().splitlines()
    return StoreAwayError(
        f"PostgreSQL at {place} cannot be reached: {text[-1] if text else 'no answer'}.",
        hint=_AWAY,
    )


def translate(error: psycopg.Error, place: str) -> WellkeptError:
    """The Wellkept error for an error of the driver."""
    if isinstance(error, PoolClosed):
        return StoreError(f"The store {place} is closed.", hint="Open it again.")
    if isinstance(error, (PoolTimeout, TooManyRequests)):
        return StoreBusyError(
            f"PostgreSQL at {place} gave no connection in time.",
            hint=f"All connections are in use, or the server is away. {_AWAY}",
        )
    if isinstance(error, _BUSY):
        return StoreBusyError(
            f"PostgreSQL at {place} is busy with another write.", hint="Try again."
        )
    if isinstance(error, pg.ReadOnlySqlTransaction):
        return StoreReadOnlyError(
            f"PostgreSQL at {place} takes no writes now.",
            hint="It was opened for reading, or the server is a replica.",
        )
    if isinstance(error, _FULL):
        return StoreFullError(
            f"PostgreSQL at {place} has no room left; nothing of this change was stored.",
            hint="Free some disk space on the server and try again.",
        )
    return _less_common(error, place)


def _less_common(error: psycopg.Error, place: str) -> WellkeptError:
    if isinstance(error, pg.InsufficientPrivilege):
        return StoreReadOnlyError(
            f"The user of PostgreSQL at {place} lacks a permission: {_said(error)}.",
            hint="Let an administrator grant it, or use another user.",
        )
    if isinstance(error, _UNFIT) or (isinstance(error, psycopg.DataError) and not error.sqlstate):
        return UsageError(
            f"A value cannot be stored: {_said(error)}.",
            hint="Clean texts with wellkept.core.text.clean, and shorten what is very long.",
        )
    if isinstance(error, (*_DAMAGED, psycopg.IntegrityError)):
        return StoreCorruptError(
            f"The database at {place} is damaged or is not Wellkept's: {_said(error)}.",
            hint="Run `wellkept admin doctor`.",
        )
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return away(place, error)
    return StoreError(
        f"PostgreSQL at {place} failed: {_said(error)}.", hint="Run `wellkept admin doctor`."
    )


def _said(error: psycopg.Error) -> str:
    """The server's own sentence, without the statement and its values."""
    return error.diag.message_primary or str(error).splitlines()[0]


@contextmanager
def translated(place: str) -> Generator[None, None, None]:
    """Translate errors of the driver raised inside the block."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error, place) from error
    except UnicodeEncodeError as error:
        raise UsageError(
            f"A text contains a character that cannot be stored: {error.reason}.",
            hint="Clean it with wellkept.core.text.clean first.",
        ) from error
    except OverflowError as error:
        raise UsageError("A number is too large to be stored.") from error
