"""What an exit code means: the one table from errors to codes. A test checks it is complete."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from wellkept.core import errors

OK: Final = 0
NOTHING: Final = 1
USAGE: Final = 2
CRASHED: Final = 70
SYSTEM_REFUSED: Final = 74
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

EXIT_CODES: Final[Mapping[type[errors.WellkeptError], int]] = MappingProxyType(
    {
        errors.UsageError: USAGE,
        errors.NotFoundError: 3,
        errors.ConflictError: 4,
        errors.StoreError: 5,
        errors.ProviderError: 6,
        errors.PluginError: 7,
        errors.WellkeptError: 8,
        errors.StoreBusyError: 51,
        errors.StoreReadOnlyError: 52,
        errors.StoreFullError: 53,
        errors.StoreCorruptError: 54,
        errors.StoreVersionError: 55,
    }
)

OTHER_CODES: Final[Mapping[int, str]] = MappingProxyType(
    {
        OK: "done",
        NOTHING: "a search found nothing, or there was nothing to do; a check (`doctor`,"
        " `skill validate`) found an error; a question was answered with no; a part of what"
        " was given was refused or set aside and the rest done (`import`, `spool`)",
        CRASHED: "a mistake in Wellkept itself; the traceback is on standard error",
        SYSTEM_REFUSED: "the system refused something, such as writing the output to a full disk",
        INTERRUPTED: "stopped with Ctrl-C",
        BROKEN_PIPE: "the reader of the output went away",
    }
)


def exit_code(error: errors.WellkeptError) -> int:
    """The code of an error: its own, or that of its nearest ancestor in the table."""
    return next(EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES)
