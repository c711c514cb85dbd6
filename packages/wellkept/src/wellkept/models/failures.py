"""Why a request to a model server failed, in our words, and whether another attempt may help.

Invariant: no message carries the API key.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, cast

from wellkept.core.errors import ProviderCause, ProviderError
from wellkept.core.records import record

_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_RETRIED_TYPES = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
_MAX_DETAIL_CHARS = 400
_WEB_PAGE = re.compile(r"\s*<(!doctype|html)\b", re.IGNORECASE)
_CHECK_ADDRESS = "Check that the address is that of a model server."


@record(kw_only=True)
class Failure:
    """One failed attempt. `detail` is what the server said, in its words."""

    reason: str
    hint: str | None = "Try again."
    cause: ProviderCause = "busy"
    may_retry: bool = True
    status: int | None = None
    retry_after_s: float | None = None
    detail: str = ""

    def error(self, what: str, *, attempts: int = 1) -> ProviderError:
        """The error for people; `what` names the server."""
        tries = "" if attempts == 1 else f" after {attempts} attempts"
        return ProviderError(
            f"{what} failed{tries}: {self.reason.rstrip('.')}.",
            hint=self.hint,
            cause=self.cause,
            status=self.status,
            retry_after_s=self.retry_after_s,
        )


CUT_OFF = Failure(reason="it broke off in the middle of the answer")
NOT_JSON = Failure(
    reason="it sent something that is not JSON",
    hint=_CHECK_ADDRESS,
    cause="answer",
    may_retry=False,
)
WEB_PAGE = Failure(
    reason="it answered with a web page", hint=_CHECK_ADDRESS, cause="answer", may_retry=False
)


def broken(error: Exception, *, timeout_s: float, is_loopback: bool) -> Failure:
    """What httpx2 raised before there was a whole answer."""
    import httpx2

    match error:
        case httpx2.ConnectTimeout():
            return Failure(reason=f"no connection within {timeout_s:g} s", hint=_hint(None))
        case httpx2.TimeoutException():
            return Failure(reason=f"no answer within {timeout_s:g} s", hint=_hint(None))
        case httpx2.ConnectError():
            # On this machine it means that no server is running: waiting does not help.
            reason = f"no connection ({error})"
            return Failure(reason=reason, hint=_hint(None), may_retry=not is_loopback)
        case httpx2.InvalidURL():
            reason = f"the address is not valid ({error})"
            return Failure(reason=reason, hint=_hint(None), may_retry=False)
        case _:
            reason = f"the connection broke ({type(error).__name__})"
            return Failure(reason=reason, hint=_hint(None))


def refused(
    status: int, headers: Mapping[str, str], content: bytes, *, api_key: str | None
) -> Failure:
    """An answer whose status says that it is none."""
    try:
        body: object = json.loads(content)
    except ValueError:
        body = content.decode("utf-8", "replace")
    detail, kind = _detail(body, api_key)
    may_retry = status in _RETRIED and "insufficient_quota" not in f"{kind} {detail}"
    login = status in (401, 403)
    return Failure(
        reason=f"HTTP {status}" + (f": {detail}" if detail else ""),
        hint=_hint(status),
        cause="login" if login else "busy" if may_retry else "other",
        may_retry=may_retry,
        status=status,
        retry_after_s=_retry_after(headers),
        detail=detail,
    )


def reported(body: object, *, api_key: str | None) -> Failure:
    """An error that came as part of a stream which had begun with status 200."""
    detail, kind = _detail(body, api_key)
    is_busy = kind in _RETRIED_TYPES or "server" in kind or "overloaded" in detail.lower()
    return Failure(
        reason=detail or kind or "an error",
        hint=None,
        cause="busy" if is_busy else "answer",
        may_retry=is_busy,
        detail=detail,
    )


def _detail(body: object, api_key: str | None) -> tuple[str, str]:
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
    if api_key:
        text = text.replace(api_key, "***")
    return " ".join(text.split())[:_MAX_DETAIL_CHARS], kind


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
            wait_s = parsedate_to_datetime(given).timestamp() - time.time()
        except (TypeError, ValueError):
            continue
        return wait_s if wait_s >= 0 else None
    return None


def _hint(status: int | None) -> str:
    match status:
        case None:
            return "Check that the server is running and that the address is right."
        case 401 | 403:
            return "Check the API key."
        case 402:
            return "Check the account's balance."
        case 404:
            return "Check the address and that the server has this model."
        case 429 | 529:
            return "The service limits the rate or is overloaded; try again later."
        case _ if 300 <= status < 400:
            return "The server redirects elsewhere; configure the final address."
        case _:
            return "Check the model's name and the server's log."
