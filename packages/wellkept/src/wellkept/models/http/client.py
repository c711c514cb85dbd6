"""JSON-over-HTTP client for every remote model, on httpx2.

Invariants: a call returns the decoded response or raises `ProviderError`; the API key is in no
message, log or repr; redirects are refused, so the key is never sent elsewhere; no proxy is used
for loopback addresses. Knows nothing of embeddings, chat or reranking.

httpx2 comes with the extra `remote` and is imported at the first request.
"""

from __future__ import annotations

import ipaddress
import json
import time
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from wellkept.core.errors import ProviderCause, ProviderError, UsageError
from wellkept.core.records import field, record
from wellkept.models.http.real_requests import check_allowed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx2

_RETRIED_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_MAX_RESPONSE_BYTES = 64 << 20
_MAX_DETAIL_CHARS = 200


@record
class Retries:
    """How often to try, and how long to wait in between."""

    attempts: int = 4
    first_wait_s: float = 0.25
    longest_wait_s: float = 8.0
    sleep: Callable[[float], None] = time.sleep

    def pause_before(self, attempt: int, *, retry_after_s: float | None) -> None:
        """Wait twice as long each time, or as long as the server says, up to the longest wait."""
        backoff_s = self.first_wait_s * 2 ** (attempt - 1)
        wait_s = backoff_s if retry_after_s is None else retry_after_s
        self.sleep(min(max(wait_s, 0.0), self.longest_wait_s))


NO_RETRIES = Retries(attempts=1)


@record
class Endpoint:
    """A model server: its address, API key, time limit and retries.

    The key is a bearer token, or the value of `key_header`.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 30.0
    retries: Retries = field(default_factory=Retries)
    key_header: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UsageError(
                f"{_shown_url(self.base_url)!r} is not an http(s) address of a model server.",
                hint="Use http://host:port or https://host/v1.",
            )
        if self.timeout_s <= 0:
            raise UsageError(f"A time-out of {self.timeout_s} s is not positive.")

    @property
    def shown_url(self) -> str:
        """The address without credentials, for messages."""
        return _shown_url(self.base_url)

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        if host == "localhost":
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False


@record
class _Failure:
    """Why one attempt failed, and whether another may succeed."""

    reason: str
    may_retry: bool
    status: int | None = None
    retry_after_s: float | None = None


def get_json(endpoint: Endpoint, path: str) -> object:
    """GET `path` under the endpoint's address."""
    return _request(endpoint, path, body=None)


def post_json(endpoint: Endpoint, path: str, body: Mapping[str, object]) -> object:
    """POST `body` as JSON to `path` under the endpoint's address."""
    return _request(endpoint, path, body=json.dumps(body).encode("ascii"))


def _request(endpoint: Endpoint, path: str, *, body: bytes | None) -> object:
    check_allowed(endpoint)
    headers = _headers(endpoint, has_body=body is not None)
    attempt = 1
    with _client(endpoint) as client:
        while True:
            answer = _attempt(client, endpoint, path, body=body, headers=headers)
            if not isinstance(answer, _Failure):
                return _decoded(endpoint, path, answer)
            if not answer.may_retry or attempt >= endpoint.retries.attempts:
                raise _error(endpoint, path, answer, attempts=attempt)
            endpoint.retries.pause_before(attempt, retry_after_s=answer.retry_after_s)
            attempt += 1


def _client(endpoint: Endpoint) -> httpx2.Client:
    try:
        import httpx2
    except ModuleNotFoundError:
        raise ProviderError(
            f"{endpoint.shown_url} cannot be reached: the package httpx2 is not installed.",
            hint="Run: pip install 'wellkept[remote]'",
        ) from None
    return httpx2.Client(
        timeout=endpoint.timeout_s,
        follow_redirects=False,
        trust_env=not endpoint.is_loopback,
        # Loading CA certificates takes 30 ms, which plain http does not need.
        verify=endpoint.base_url.startswith("https:"),
    )


def _headers(endpoint: Endpoint, *, has_body: bool) -> dict[str, str]:
    headers = {"Accept": "application/json", "User-Agent": "wellkept"}
    if has_body:
        headers["Content-Type"] = "application/json"
    if endpoint.api_key:
        if not endpoint.api_key.isascii() or not endpoint.api_key.isprintable():
            raise UsageError(
                "The API key has characters that cannot be sent in a header.",
                hint="Copy it again without spaces or line ends.",
            )
        if endpoint.key_header:
            headers[endpoint.key_header] = endpoint.api_key
        else:
            headers["Authorization"] = f"Bearer {endpoint.api_key}"
    return headers | dict(endpoint.headers)


def _attempt(
    client: httpx2.Client,
    endpoint: Endpoint,
    path: str,
    *,
    body: bytes | None,
    headers: Mapping[str, str],
) -> bytes | _Failure:
    import httpx2

    url = endpoint.base_url.rstrip("/") + path
    method = "GET" if body is None else "POST"
    try:
        with client.stream(method, url, content=body, headers=headers) as response:
            content = _content(response)
    except httpx2.ConnectTimeout:
        return _Failure(f"no connection within {endpoint.timeout_s:g} s", may_retry=True)
    except httpx2.TimeoutException:
        return _Failure(f"no answer within {endpoint.timeout_s:g} s", may_retry=True)
    except httpx2.ConnectError as error:
        # On this machine it means that no server is running: waiting does not help.
        return _Failure(f"no connection ({error})", may_retry=not endpoint.is_loopback)
    except httpx2.RequestError as error:
        return _Failure(f"the connection broke ({type(error).__name__})", may_retry=True)
    except httpx2.InvalidURL as error:
        return _Failure(f"the address is not valid ({error})", may_retry=False)
    if not response.is_success:
        return _refusal(endpoint, response, content)
    if len(content) > _MAX_RESPONSE_BYTES:
        return _Failure("the answer is larger than 64 MB", may_retry=False)
    return content


def _content(response: httpx2.Response) -> bytes:
    """The decoded body, up to the first chunk beyond the size limit."""
    chunks: list[bytes] = []
    size = 0
    for chunk in response.iter_bytes():
        chunks.append(chunk)
        size += len(chunk)
        if size > _MAX_RESPONSE_BYTES:
            break
    return b"".join(chunks)


def _refusal(endpoint: Endpoint, response: httpx2.Response, content: bytes) -> _Failure:
    detail = _detail(content)
    if endpoint.api_key:
        detail = detail.replace(endpoint.api_key, "***")
    return _Failure(
        f"HTTP {response.status_code}" + (f": {detail}" if detail else ""),
        may_retry=response.status_code in _RETRIED_STATUSES,
        status=response.status_code,
        retry_after_s=_seconds(response.headers.get("Retry-After")),
    )


def _detail(content: bytes) -> str:
    """The message in the usual shapes of an error body."""
    try:
        body: object = json.loads(content)
    except ValueError:
        return ""
    for _ in range(2):
        if isinstance(body, dict):
            table = cast("dict[str, object]", body)
            body = table.get("error") or table.get("message") or table.get("detail")
    return body[:_MAX_DETAIL_CHARS] if isinstance(body, str) else ""


def _seconds(header: str | None) -> float | None:
    try:
        return float(header) if header else None
    except ValueError:  # a date, the other legal form, is rare: use our own backoff
        return None


def _decoded(endpoint: Endpoint, path: str, content: bytes) -> object:
    try:
        return cast("object", json.loads(content))
    except ValueError:
        raise ProviderError(
            f"{endpoint.shown_url}{path} answered with something that is not JSON.",
            hint="Check that the address is that of a model server.",
            cause="answer",
        ) from None


def _error(endpoint: Endpoint, path: str, failure: _Failure, *, attempts: int) -> ProviderError:
    tries = "" if attempts == 1 else f" after {attempts} attempts"
    message = f"{endpoint.shown_url}{path} failed{tries}: {failure.reason}."
    return ProviderError(
        message,
        hint=_hint(failure.status),
        cause=_cause(failure),
        status=failure.status,
        retry_after_s=failure.retry_after_s,
    )


def _cause(failure: _Failure) -> ProviderCause:
    if failure.status in (401, 403):
        return "login"
    return "busy" if failure.may_retry or failure.status is None else "other"


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
