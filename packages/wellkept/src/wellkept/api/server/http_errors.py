"""HTTP errors: one table from error types to status codes. A test checks that it is complete.

Errors are sent as `application/problem+json` (RFC 9457).
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from wellkept.core import errors
from wellkept.core.memory import Memory
from wellkept.core.records import record
from wellkept.text.secrets.redaction import redact

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 1

STATUS: Final[Mapping[type[errors.WellkeptError], HTTPStatus]] = MappingProxyType(
    {
        errors.UsageError: HTTPStatus.BAD_REQUEST,
        errors.ForbiddenError: HTTPStatus.FORBIDDEN,
        errors.NotFoundError: HTTPStatus.NOT_FOUND,
        errors.ConflictError: HTTPStatus.CONFLICT,
        errors.MemoryChangedError: HTTPStatus.CONFLICT,
        errors.StoreError: HTTPStatus.INTERNAL_SERVER_ERROR,
        errors.StoreAwayError: HTTPStatus.SERVICE_UNAVAILABLE,
        errors.StoreBusyError: HTTPStatus.SERVICE_UNAVAILABLE,
        errors.StoreReadOnlyError: HTTPStatus.FORBIDDEN,
        errors.StoreFullError: HTTPStatus.INSUFFICIENT_STORAGE,
        errors.StoreCorruptError: HTTPStatus.INTERNAL_SERVER_ERROR,
        errors.StoreVersionError: HTTPStatus.NOT_IMPLEMENTED,
        errors.ProviderError: HTTPStatus.BAD_GATEWAY,
        errors.ContextTooLongError: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        errors.PluginError: HTTPStatus.INTERNAL_SERVER_ERROR,
        errors.WellkeptError: HTTPStatus.INTERNAL_SERVER_ERROR,
    }
)


@record(kw_only=True)
class Problem:
    """Why a request was not done, and what to do about it. `title` is the kind of problem, the same
    each time; `request_id` names this request in the server's log."""

    title: str
    status: int
    detail: str
    hint: str = ""
    request_id: str = ""


@record(kw_only=True)
class ConflictProblem(Problem):
    """A memory was changed since it was seen: how it stands, beside what was sent."""

    current: Memory
    yours: dict[str, Any]


def problem(status: HTTPStatus, detail: str, *, hint: str = "", request_id: str = "") -> Problem:
    """A problem of HTTP itself, such as an unknown route."""
    return Problem(
        title=status.phrase,
        status=status,
        detail=redact(detail).text,
        hint=hint,
        request_id=request_id,
    )


def problem_of(error: errors.WellkeptError, *, request_id: str = "") -> Problem:
    """The problem for an error."""
    kind = next(kind for kind in type(error).__mro__ if kind in STATUS)
    return Problem(
        title=kind.__name__.removesuffix("Error"),
        status=STATUS[kind],
        detail=redact(error.message).text,
        hint=error.hint or "",
        request_id=request_id,
    )


def headers_of(details: Problem) -> dict[str, str]:
    """The response headers of a problem."""
    if details.status == HTTPStatus.UNAUTHORIZED:
        return {"www-authenticate": "Bearer"}
    is_temporary = details.status in (
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.TOO_MANY_REQUESTS,
    )
    return {"retry-after": str(RETRY_AFTER_S)} if is_temporary else {}
