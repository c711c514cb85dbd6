"""Rows that cannot be turned into records any more: the error names the record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from wellkept.core.errors import StoreCorruptError, UsageError

_Rest = ParamSpec("_Rest")
_Record = TypeVar("_Record")
# What damaged text, numbers and names raise when they are read.
DAMAGE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, UsageError)


def damaged(what: str, name: object) -> StoreCorruptError:
    """The error for a record that cannot be read."""
    return StoreCorruptError(
        f"The {what} {name} is damaged.",
        hint="Run `wellkept doctor --deep`; `wellkept restore` puts a backup back.",
    )


def names_damage(
    what: str,
) -> Callable[
    [Callable[Concatenate[Sequence[Any], _Rest], _Record]],
    Callable[Concatenate[Sequence[Any], _Rest], _Record],
]:
    """For a function that makes a record of a row, whose first column names it."""

    def decorate(
        read: Callable[Concatenate[Sequence[Any], _Rest], _Record],
    ) -> Callable[Concatenate[Sequence[Any], _Rest], _Record]:
        @wraps(read)
        def named(row: Sequence[Any], *args: _Rest.args, **kwargs: _Rest.kwargs) -> _Record:
            try:
                return read(row, *args, **kwargs)
            except DAMAGE as error:
                raise damaged(what, row[0]) from error

        return named

    return decorate
