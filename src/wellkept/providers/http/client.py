"""One JSON-over-HTTP client for every remote model, on the standard library.

Invariants: a call ends in a decoded answer or in `ProviderError`; the API key is in no message,
no log and no repr; a redirect is refused rather than followed with the key; a proxy is never
used for a loopback address. Knows nothing of embeddings, chat or reranking.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.records import field, record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_RETRIED_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_MAX_ANSWER_BYTES = 64 << 20
_MAX_DETAIL_CHARS = 200


@record
class Retries:
    """How often to try, and how long to wait in between."""

    attempts: int = 4
    first_wait_s: float = 0.25
    longest_wait_s: float = 8.0
    sleep: Callable[[float], None] = time.sleep

    def pause_before(self, attempt: int, *, asked_s: float | None) -> None:
        """Wait for twice as long each time, or for as long as the server asked, within reason."""
        wait_s = asked_s if asked_s is not None else self.first_wait_s * 2 ** (attempt - 1)
        self.sleep(min(max(wait_s, 0.0), self.longest_wait_s))


NO_RETRIES = Retries(attempts=1)


@record
class Endpoint:
    """Where a server is, how to speak to it, and for how long to wait for it."""

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 30.0
    retries: Retries = field(default_factory=Retries)

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UsageError(
                f"{_shown_url(self.base_url)!r} is not an http(s) address of a model server.",
                hint="Give it as http://host:port or https://host/v1.",
            )
        if self.timeout_s <= 0:
            raise UsageError(f"A time-out of {self.timeout_s} s makes no sense.")

    @property
    def shown_url(self) -> str:
        """The address without credentials, fit for messages."""
        return _shown_url(self.base_url)

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        return is_loopback(self.base_url)


@record
class _Failure:
    """Why one attempt did not bring an answer, and whether another may."""

    reason: str
    may_retry: bool
    status: int | None = None
    asked_wait_s: float | None = None


def get_json(endpoint: Endpoint, path: str) -> object:
    """Fetch `path` under the endpoint's address."""
    return _request(endpoint, path, body=None)


def post_json(endpoint: Endpoint, path: str, body: Mapping[str, object]) -> object:
    """Send `body` as JSON to `path` under the endpoint's address."""
    return _request(endpoint, path, body=json.dumps(body).encode("ascii"))


def is_loopback(url: str) -> bool:
    """Whether `url` points at this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _request(endpoint: Endpoint, path: str, *, body: bytes | None) -> object:
    request = _build(endpoint, path, body=body)
    attempt = 1
    while True:
        answer = _attempt(endpoint, request)
        if not isinstance(answer, _Failure):
            return _decoded(endpoint, path, answer)
        if not answer.may_retry or attempt >= endpoint.retries.attempts:
            raise _error(endpoint, path, answer, attempts=attempt)
        endpoint.retries.pause_before(attempt, asked_s=answer.asked_wait_s)
        attempt += 1


def _build(endpoint: Endpoint, path: str, *, body: bytes | None) -> urllib.request.Request:
    headers = {"Accept": "application/json", "User-Agent": "wellkept"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if endpoint.api_key:
        if not endpoint.api_key.isascii() or not endpoint.api_key.isprintable():
            raise UsageError(
                "The API key has characters that cannot be sent in a header.",
                hint="Copy it again without spaces or line ends.",
            )
        headers["Authorization"] = f"Bearer {endpoint.api_key}"
    url = endpoint.base_url.rstrip("/") + path
    return urllib.request.Request(url, data=body, headers=headers)


def _attempt(endpoint: Endpoint, request: urllib.request.Request) -> bytes | _Failure:
    try:
        with _opener(endpoint).open(request, timeout=endpoint.timeout_s) as response:
            answer = cast("bytes", response.read(_MAX_ANSWER_BYTES + 1))
    except urllib.error.HTTPError as error:
        with error:
            return _refusal(endpoint, error)
    except TimeoutError:
        return _Failure(f"no answer within {endpoint.timeout_s:g} s", may_retry=True)
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            return _Failure(f"no connection within {endpoint.timeout_s:g} s", may_retry=True)
        # On this machine a refused connection means that nobody listens: waiting is no use.
        refused = isinstance(error.reason, ConnectionRefusedError) and endpoint.is_loopback
        return _Failure(f"no connection ({error.reason})", may_retry=not refused)
    except (OSError, http.client.HTTPException) as error:
        return _Failure(f"the connection broke ({type(error).__name__})", may_retry=True)
    if len(answer) > _MAX_ANSWER_BYTES:
        return _Failure("the answer is larger than 64 MB", may_retry=False)
    return answer


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        """Refuse: the answer to a redirect would carry the API key to another address."""


def _opener(endpoint: Endpoint) -> urllib.request.OpenerDirector:
    handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
    if endpoint.is_loopback:
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers)


def _refusal(endpoint: Endpoint, error: urllib.error.HTTPError) -> _Failure:
    detail = _detail(error)
    if endpoint.api_key:
        detail = detail.replace(endpoint.api_key, "***")
    return _Failure(
        f"HTTP {error.code}" + (f": {detail}" if detail else ""),
        may_retry=error.code in _RETRIED_STATUSES,
        status=error.code,
        asked_wait_s=_seconds(error.headers.get("Retry-After")),
    )


def _detail(error: urllib.error.HTTPError) -> str:
    """Take the sentence out of the usual shapes of an error body."""
    try:
        body: object = json.loads(error.read(_MAX_DETAIL_CHARS * 20))
    except (ValueError, OSError, http.client.HTTPException):
        return ""
    for _ in range(2):
        if isinstance(body, dict):
            table = cast("dict[str, object]", body)
            body = table.get("error") or table.get("message") or table.get("detail")
    return body[:_MAX_DETAIL_CHARS] if isinstance(body, str) else ""


def _seconds(header: str | None) -> float | None:
    try:
        return float(header) if header else None
    except ValueError:  # the other legal form, a date, is rare: our own waiting time serves
        return None


def _decoded(endpoint: Endpoint, path: str, answer: bytes) -> object:
    try:
        return cast("object", json.loads(answer))
    except ValueError:
        raise ProviderError(
            f"{endpoint.shown_url}{path} answered with something that is not JSON.",
            hint="Check that the address is that of a model server.",
        ) from None


def _error(endpoint: Endpoint, path: str, failure: _Failure, *, attempts: int) -> ProviderError:
    tries = "" if attempts == 1 else f" after {attempts} attempts"
    message = f"{endpoint.shown_url}{path} failed{tries}: {failure.reason}."
    return ProviderError(message, hint=_hint(failure.status))


def _hint(status: int | None) -> str:
    match status:
        case None:
            return "Check that the server is running and that the address is right."
        case 401 | 403:
            return "Check the API key."
        case 404:
            return "Check the address and that the server has this model."
        case 429:
            return "The server limits the rate; try again later."
        case _ if 300 <= status < 400:
            return "The server redirects elsewhere; configure the final address."
        case _:
            return "Check the model's name and the server's log."


def _shown_url(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")
