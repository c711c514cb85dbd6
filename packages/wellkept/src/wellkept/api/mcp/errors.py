"""Errors over MCP: protocol errors, and error texts for models.

One table goes from error types to advice; a test checks that it is complete. The message and hint
of the error come first; the advice says whether a retry helps.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from wellkept.core import errors
from wellkept.text.secrets.redaction import redact

INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022


class RequestError(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


ADVICE: Final[Mapping[type[errors.WellkeptError], str]] = MappingProxyType(
    {
        errors.UsageError: "Mend the arguments and call again.",
        errors.ForbiddenError: "Go on without it and tell the person who may do it.",
        errors.NotFoundError: "Search for it, or go on without.",
        errors.ConflictError: "Look at what is there now, then call again with a full id.",
        errors.MemoryChangedError: "Read the memory again, then decide anew.",
        errors.StoreError: "Go on without memory; tell the person to run `wellkept admin doctor`.",
        errors.StoreAwayError: "Go on without memory and tell the person that it is away.",
        errors.StoreBusyError: "Another process is writing. Call again once; else go on without.",
        errors.StoreReadOnlyError: "Reading still works. Tell the person that nothing is kept.",
        errors.StoreFullError: "The disk is full. Tell the person that nothing is kept.",
        errors.StoreCorruptError: "Go on without memory and tell the person to run "
        "`wellkept admin doctor --repair`.",
        errors.StoreVersionError: "Go on without memory and tell the person to update Wellkept.",
        errors.ProviderError: "Call again with plain words, or go on without.",
        errors.ContextTooLongError: "Ask for less at once.",
        errors.PluginError: "Go on without it and tell the person which plugin failed.",
        errors.WellkeptError: "Go on without memory.",
    }
)


def error_text(error: errors.WellkeptError) -> str:
    """The text for a model: message and hint; advice where the hint does not say what to do."""
    if error.hint and isinstance(error, errors.UsageError | errors.NotFoundError):
        return str(error)
    advice = next(ADVICE[kind] for kind in type(error).__mro__ if kind in ADVICE)
    return f"{redact(str(error)).text} {advice}"
