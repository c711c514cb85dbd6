"""JSON over HTTP to model servers, on httpx2; chat models stream over the same endpoints.

Invariants: a call returns the decoded response or raises `ProviderError`; the API key is in no
message, log or repr; redirects are refused, so the key is never sent elsewhere; no proxy is used
for loopback addresses. Knows nothing of embeddings, chat or reranking.

httpx2 comes with the extra `remote` and is imported at the first request.
"""

from __future__ import annotations

import ipaddress
import json
import math
import os
import ssl
import time
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.records import field, record
from wellkept.models.failures import NOT_JSON, Failure, broken, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import httpx2

T = TypeVar("T")
VARIABLE = "WELLKEPT_FORBID_REAL_REQUESTS"
_MAX_RESPONSE_BYTES = 64 << 20
_forbidding = 0


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


def forbid() -> None:
    """Forbid requests to other machines until `allow` is called as often; for tests. In a child
    process the variable does it."""
    global _forbidding  # noqa: PLW0603 - one switch for the whole process is the point
    _forbidding += 1


def allow() -> None:
    """Take one `forbid` back."""
    global _forbidding  # noqa: PLW0603
    _forbidding = max(0, _forbidding - 1)


def check_allowed(endpoint: Endpoint) -> None:
    """Raise when a request to this server is forbidden."""
    if (_forbidding or os.environ.get(VARIABLE)) and not endpoint.is_loopback:
        raise UsageError(
            f"Real requests are forbidden here, and {endpoint.shown_url} is another machine.",
            hint="Use a scripted model or a loopback server of wellkept.testing.",
        )


def get_json(endpoint: Endpoint, path: str) -> object:
    """GET `path` under the endpoint's address."""
    return _request(endpoint, path, body=None)


def post_json(endpoint: Endpoint, path: str, body: Mapping[str, object]) -> object:
    """POST `body` as JSON to `path` under the endpoint's address."""
    return _request(endpoint, path, body=json.dumps(body).encode("ascii"))


def client_options(endpoint: Endpoint) -> dict[str, Any]:
    """How a client of httpx2 is made for an endpoint; raises where requests are forbidden."""
    check_allowed(endpoint)
    return {
        "follow_redirects": False,
        "trust_env": not endpoint.is_loopback,
        "verify": _certificates() if endpoint.base_url.startswith("https:") else False,
    }


@cache
def _certificates() -> ssl.SSLContext:
    """Loading CA certificates takes 30 ms: once is enough, and plain http does not need it."""
    import httpx2

    return httpx2.create_ssl_context()


def request_headers(endpoint: Endpoint) -> dict[str, str]:
    """The headers of a request with a JSON body."""
    headers = {
        "Accept": "application/json",
        "Content-Type": "application/json",
        "User-Agent": "wellkept",
    }
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


def _request(endpoint: Endpoint, path: str, *, body: bytes | None) -> object:
    headers = request_headers(endpoint)
    attempt = 1
    with _client(endpoint) as client:
        while True:
            answer = _attempt(client, endpoint, path, body=body, headers=headers)
            if not isinstance(answer, Failure):
                return answer
            if not answer.may_retry or attempt >= endpoint.retries.attempts:
                raise answer.error(f"{endpoint.shown_url}{path}", attempts=attempt)
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
    return httpx2.Client(timeout=endpoint.timeout_s, **client_options(endpoint))


def _attempt(
    client: httpx2.Client,
    endpoint: Endpoint,
    path: str,
    *,
    body: bytes | None,
    headers: Mapping[str, str],
) -> object:
    """The decoded answer, or the failure."""
    import httpx2

    url = endpoint.base_url.rstrip("/") + path
    method = "GET" if body is None else "POST"
    content = bytearray()
    try:
        with client.stream(method, url, content=body, headers=headers) as response:
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > _MAX_RESPONSE_BYTES:
                    break
    except (httpx2.RequestError, httpx2.InvalidURL) as error:
        return broken(error, timeout_s=endpoint.timeout_s, is_loopback=endpoint.is_loopback)
    if not response.is_success:
        api_key = endpoint.api_key
        return refused(response.status_code, response.headers, bytes(content), api_key=api_key)
    if len(content) > _MAX_RESPONSE_BYTES:
        return Failure(
            reason="the answer is larger than 64 MB", hint=None, cause="other", may_retry=False
        )
    try:
        return cast("object", json.loads(content))
    except ValueError:
        return NOT_JSON


def _shown_url(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")


# -- Typed reading of what came -------------------------------------------------------------------


def table(value: object, name: str) -> dict[str, Any]:
    """The object under a name of an object; empty when there is none."""
    found: object = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def tables(value: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in the list under a name."""
    listed = value.get(name)
    known = cast("list[object]", listed) if isinstance(listed, list) else []
    return [cast("dict[str, Any]", one) for one in known if isinstance(one, dict)]


def string(value: Mapping[str, Any], name: str) -> str:
    """The string under a name; empty when there is none."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def json_object(value: object, *, what: str) -> dict[str, object]:
    """Expect a JSON object."""
    if not isinstance(value, dict):
        raise _wrong_type(what, "an object", value)
    return cast("dict[str, object]", value)


def json_array(value: object, *, what: str) -> list[object]:
    """Expect a JSON array."""
    if not isinstance(value, list):
        raise _wrong_type(what, "an array", value)
    return cast("list[object]", value)


def json_string(value: object, *, what: str) -> str:
    """Expect a JSON string."""
    if not isinstance(value, str):
        raise _wrong_type(what, "a string", value)
    return value


def number(value: object, *, what: str) -> float:
    """Expect a finite JSON number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _wrong_type(what, "a finite number", value)
    return float(value)


def numbers(value: object, *, what: str) -> list[float]:
    """Expect an array of finite numbers."""
    return [number(item, what=what) for item in json_array(value, what=what)]


def sort_by_index(items: Sequence[tuple[float, T]], *, count: int, what: str) -> list[T]:
    """Put items into the order of their `index`, which must run from 0 to `count` - 1."""
    by_index = {int(index): item for index, item in items}
    if len(items) != count or sorted(by_index) != list(range(count)):
        raise ProviderError(
            f"The server's {what} do not match the {count} texts sent.",
            hint="Check the address and the model's name.",
        )
    return [by_index[index] for index in range(count)]


def _wrong_type(what: str, expected: str, value: object) -> ProviderError:
    return ProviderError(
        f"The server's answer has {type(value).__name__} where {what} should be {expected}.",
        hint="Check the server's address.",
    )
