"""The SDKs' errors as ours: what went wrong, whether another attempt may help, when.

Both SDKs name their errors alike, so one table serves both without importing either: each takes
half a second to load. Invariant: no message carries the API key.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, cast

import httpx2

from wellkept.core.errors import ContextTooLongError, ProviderCause, ProviderError
from wellkept.core.records import record

_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_RETRIED_TYPES = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
_MAX_DETAIL_CHARS = 400
_TOO_LONG = re.compile(
    r"prompt is too long|input is too long|too many (input )?tokens|context[ _]length"
    r"|context[ _]window|context size|maximum context|max(imum)?[ _]prompt[ _]length"
    r"|maximum[ _]input[ _]length|range of input length|input token count|exceeds the (available )?"
    r"context|exceeds? the (maximum|model'?s?)[^.]{0,40}(token|length|context)"
    r"|exceed context limit|reduce the length of|token limit exceeded|request[ _]too[ _]large"
    r"|prompt exceeds max length",
    re.IGNORECASE,
)
_WEB_PAGE = re.compile(r"\s*<(!doctype|html)\b", re.IGNORECASE)
_NOT_TOO_LONG = re.compile(r"rate limit|tokens per min|TPM|quota", re.IGNORECASE)

TRANSPORT_ERRORS = (
    httpx2.HTTPError,
    httpx2.InvalidURL,
    httpx2.StreamError,
    json.JSONDecodeError,
    UnicodeDecodeError,
)
"""What comes through the SDKs from below."""


@record(kw_only=True)
class Failure:
    """One failed attempt. `rejected` names what the server did not take, in its words."""

    error: ProviderError
    may_retry: bool = False
    retry_after_s: float | None = None
    rejected: str = ""


def failure_of(error: BaseException, *, what: str, api_key: str | None) -> Failure:
    """Read an SDK's error; `what` names model and server for the message."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "APIStatusError" in kinds:
        return _status_failure(error, what=what, api_key=api_key)
    if "APITimeoutError" in kinds or isinstance(error, httpx2.TimeoutException):
        return _busy(f"{what} did not answer in time.")
    if "APIConnectionError" in kinds or isinstance(error, httpx2.TransportError):
        return _unreachable(error, what=what)
    if "APIError" in kinds:
        return _in_stream(error, what=what, api_key=api_key)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return Failure(
            error=ProviderError(
                f"{what} sent something that is not valid JSON.",
                hint="Check that the address is that of a model server.",
                cause="answer",
            )
        )
    detail = _shown(str(error), api_key)
    return Failure(error=ProviderError(f"{what} failed: {type(error).__name__}: {detail}."))


def cut_off(what: str) -> Failure:
    """A stream that ended before the answer did."""
    return _busy(f"{what} broke off in the middle of the answer.")


def no_stream(what: str, *, status: int, content_type: str) -> Failure | None:
    """Why an answer that is no error is no stream either; None when it may be one."""
    if 300 <= status < 400:
        error = ProviderError(f"{what} failed: HTTP {status}.", hint=_hint(status))
        return Failure(error=error)
    if content_type.startswith("text/html"):
        return Failure(
            error=ProviderError(
                f"{what} answered with a web page.",
                hint="Check that the address is that of a model server.",
                cause="answer",
            )
        )
    return None


def _busy(message: str, *, retry_after_s: float | None = None) -> Failure:
    error = ProviderError(message, hint="Try again.", cause="busy")
    return Failure(error=error, may_retry=True, retry_after_s=retry_after_s)


def _unreachable(error: BaseException, *, what: str) -> Failure:
    below = error.__cause__ or error
    name = type(below).__name__
    if isinstance(below, httpx2.ConnectError):
        is_local = "127.0.0.1" in what or "localhost" in what
        problem = ProviderError(
            f"{what} cannot be reached ({name}).",
            hint="Check that the server is running and that the address is right.",
            cause="busy",
        )
        return Failure(error=problem, may_retry=not is_local)
    return _busy(f"The connection to {what} broke ({name}).")


def _status_failure(error: Any, *, what: str, api_key: str | None) -> Failure:
    detail, kind = _detail(error.body)
    detail = _shown(detail, api_key)
    status = int(error.status_code)
    headers = cast("Mapping[str, str]", error.response.headers)
    if _is_too_long(status, detail):
        return Failure(error=_too_long(what, detail))
    # A stream that had begun well fails with the status of its beginning.
    may_retry = status in _RETRIED or (status < 300 and kind in _RETRIED_TYPES)
    if status == 429 and "insufficient_quota" in f"{kind} {detail}":
        may_retry = False
    shown = f"HTTP {status}" if status >= 300 else kind or "an error"
    return Failure(
        error=ProviderError(
            f"{what} failed: {shown}{f': {detail}' if detail else ''}",
            hint=_hint(status),
            cause=_cause(status, may_retry=may_retry),
        ),
        may_retry=may_retry,
        retry_after_s=_retry_after(headers),
        rejected=detail if status in (400, 422) else "",
    )


def _in_stream(error: Any, *, what: str, api_key: str | None) -> Failure:
    """An error that came as part of a stream that had begun with status 200."""
    detail, kind = _detail(error.body)
    detail = _shown(detail or str(error), api_key)
    if _is_too_long(400, detail):
        return Failure(error=_too_long(what, detail))
    busy = kind in _RETRIED_TYPES or "server" in kind or "overloaded" in detail.lower()
    return Failure(
        error=ProviderError(f"{what} failed: {detail}", cause="busy" if busy else "answer"),
        may_retry=busy,
    )


def _is_too_long(status: int, detail: str) -> bool:
    if status == 413:
        return True
    is_refusal = status in (400, 422, 500, 200)
    return is_refusal and bool(_TOO_LONG.search(detail)) and not _NOT_TOO_LONG.search(detail)


def _too_long(what: str, detail: str) -> ContextTooLongError:
    return ContextTooLongError(
        f"The conversation does not fit into {what}: {detail or 'the request is too large'}",
        hint="Compact the conversation or choose a model with a larger window.",
        cause="other",
    )


def _detail(body: object) -> tuple[str, str]:
    """Message and type in the usual shapes of an error body."""
    kind = ""
    for _ in range(3):
        if isinstance(body, list) and body:
            body = cast("list[object]", body)[0]
        if not isinstance(body, dict):
            break
        table = cast("dict[str, Any]", body)
        for name in ("type", "code", "status"):
            if isinstance(table.get(name), str) and table[name] != "error":
                kind = kind or table[name]
        body = table.get("error") or table.get("message") or table.get("detail")
    text = body if isinstance(body, str) else ""
    if _WEB_PAGE.match(text):  # of something in between
        return "the answer is a web page, not one of a model server", kind
    return " ".join(text.split())[:_MAX_DETAIL_CHARS], kind


def _shown(detail: str, api_key: str | None) -> str:
    return detail.replace(api_key, "***") if api_key else detail


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server wants us to wait, in any of the three forms."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        given = headers.get(name)
        if not given:
            continue
        try:
            return max(0.0, float(given) * unit_s)
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
        except (TypeError, ValueError):
            continue
    return None


def _cause(status: int, *, may_retry: bool) -> ProviderCause:
    if status in (401, 403):
        return "login"
    return "busy" if may_retry else "other"


def _hint(status: int) -> str | None:
    match status:
        case 401 | 403:
            return "Check the API key."
        case 404:
            return "Check the model's name and the address."
        case 402:
            return "Check the account's balance."
        case 429 | 529:
            return "The service limits the rate or is overloaded; try again later."
        case _ if 300 <= status < 400:
            return "The server redirects elsewhere; configure the final address."
        case _:
            return None
