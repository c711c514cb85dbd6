"""Exit codes: the table from error types to codes. A test checks that it is complete."""

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
        errors.ForbiddenError: 9,
        errors.WellkeptError: 8,
        errors.MemoryChangedError: 41,
        errors.ContextTooLongError: 61,
        errors.StoreBusyError: 51,
        errors.StoreReadOnlyError: 52,
        errors.StoreFullError: 53,
        errors.StoreCorruptError: 54,
        errors.StoreVersionError: 55,
        errors.StoreAwayError: 56,
    }
)

OTHER_CODES: Final[Mapping[int, str]] = MappingProxyType(
    {
        OK: "done",
        NOTHING: "no result or nothing to do; a check (`doctor`, `skill validate`) found an"
        " error; a confirmation was declined; part of the input was rejected and the rest"
        " processed (`import`, `spool`)",
        CRASHED: "internal error; the traceback is on standard error",
        SYSTEM_REFUSED: "the operating system reported an error, for example a full disk",
        INTERRUPTED: "stopped with Ctrl-C",
        BROKEN_PIPE: "the reader of the output closed the pipe",
    }
)


def exit_code(error: errors.WellkeptError) -> int:
    """The exit code of an error type, or of its nearest ancestor in the table."""
    return next(EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES)
