"""Access control for the HTTP servers: token, `Host` and `Origin`, size and time, request log.

Loopback alone does not keep out other users of the machine or web pages in a browser. So every
request needs the token, an allowed `Host` (against DNS rebinding), and no foreign `Origin`. A
browser brings the token once and then a cookie (`page_session`). All
HTTP requests pass through `guarded`. Logs contain request ids, never contents.
"""

from __future__ import annotations

import hmac
import logging
import os
import re
import secrets
import stat
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from pathlib import Path
from time import perf_counter
from traceback import format_tb
from typing import Any, Final, TypeAlias

import anyio

from wellkept.app.settings.paths import make_private_folder
from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.server.http_errors import MEDIA_TYPE, Problem, headers_of, problem
from wellkept.server.limits import BODY_LIMIT_S, SEND_LIMIT_S, ClientLimits
from wellkept.server.page_session import has_session, is_own_page, set_cookie, token_in

TOKEN_NAME: Final = "server.token"
LOOPBACK_HOSTS: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
MAX_BODY_BYTES: Final = 8 << 20
REQUEST_ID: Final = "wellkept.request_id"
"""Key of the request id in the ASGI scope."""

_TOKEN_BYTES = 32
_PLAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LOG = logging.getLogger("wellkept.server")

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


# -- The token ------------------------------------------------------------------------------------


def token_of(folder: Path) -> str:
    """The token of this data folder, created on first use."""
    path = folder / TOKEN_NAME
    try:
        make_private_folder(folder)
        _make(path)
        _require_private(path)
        token = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The token file {path} cannot be used: {error}.") from None
    if len(token) < _TOKEN_BYTES:
        raise UsageError(f"The token file {path} holds no token.", hint="Remove it.")
    return token


class TokenFile:
    """The token of a data folder as it is now: a new one counts at once, the old one no longer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: tuple[int, int] | None = None
        self._token = ""

    def __call__(self) -> str:
        """The token; UsageError when its file cannot be used."""
        try:
            found = (self._folder / TOKEN_NAME).stat()
            now = (found.st_ino, found.st_mtime_ns)
        except OSError:
            now = None
        if now is None or now != self._seen:
            self._token, self._seen = token_of(self._folder), now
        return self._token


def rotate_token(folder: Path) -> Path:
    """Replace the token; returns its file. Servers that run take the new one at once."""
    path = folder / TOKEN_NAME
    draft = _draft(path)
    try:
        make_private_folder(folder)
        _write_token(draft)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"The token file {path} cannot be written: {error}.") from None
    return path


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")


def _write_token(path: Path) -> None:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(_TOKEN_BYTES) + "\n")


def _make(path: Path) -> None:
    """Create the token file; safe against concurrent processes."""
    if path.exists():
        return
    draft = _draft(path)
    _write_token(draft)
    try:
        # Linking fails if the file exists, so the first process wins.
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _require_private(path: Path) -> None:
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(
            f"Others on this machine may read the token file {path}.",
            hint="Remove it; a new token is made at the next start.",
        )


# -- The guard ------------------------------------------------------------------------------------


@record(kw_only=True)
class AccessPolicy:
    """Requirements for requests. Without a token, all local requests are allowed; a token may be
    looked up for each request. `open_paths` expose no memory content and need no token."""

    token: str | Callable[[], str] | None
    hosts: frozenset[str] = LOOPBACK_HOSTS
    open_paths: frozenset[str] = frozenset()
    open_folder: str | None = None
    """Paths that begin so are open too."""
    takes_cookies: bool = False
    """Whether a browser may come in with the token in the address, and by cookie then."""
    max_body_bytes: int = MAX_BODY_BYTES
    body_limit_s: float = BODY_LIMIT_S
    send_limit_s: float = SEND_LIMIT_S

    def refusal(self, scope: Scope) -> Problem | None:
        """Why a request is rejected, from its headers alone; None when it is allowed."""
        host = _only(scope, b"host").lower()
        if _name_of(host) not in self.hosts:
            hint = "`wellkept serve --allow-host NAME` lets it be called by another name."
            return problem(
                HTTPStatus.MISDIRECTED_REQUEST, "This server has another name.", hint=hint
            )
        own = {f"http://{host}", f"https://{host}"}
        if any(origin.lower() not in own for origin in _values(scope, b"origin")):
            return problem(HTTPStatus.FORBIDDEN, "Other web pages may not ask here.")
        if _length_of(scope) > self.max_body_bytes:
            return too_large(self.max_body_bytes)
        if self.token is None or self._is_open(scope["path"]) or self._has_token(scope):
            return None
        if self.takes_cookies and self._has_cookie(scope):
            if is_own_page(_headers(scope), method=scope["method"]):
                return None
            return problem(HTTPStatus.FORBIDDEN, "Only the page itself may ask by cookie.")
        return problem(
            HTTPStatus.UNAUTHORIZED,
            "This needs the server's token.",
            hint=f"Send the token in {TOKEN_NAME} as `Authorization: Bearer TOKEN`.",
        )

    def first_visit(self, scope: Scope) -> str | None:
        """The token that a browser brings in the address of the page; None for other requests."""
        if not self.takes_cookies or self.token is None or scope["path"] != "/":
            return None
        query = scope.get("query_string", b"").decode("latin-1")
        return token_in(query) if scope["method"] == "GET" else None

    def is_token(self, given: str) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._wanted().encode())

    def cookie(self) -> str:
        """The `Set-Cookie` header for a browser that brought the token."""
        return set_cookie(self._wanted())

    def _wanted(self) -> str:
        return (self.token() if callable(self.token) else self.token) or ""

    def _is_open(self, path: str) -> bool:
        folder = self.open_folder
        return path in self.open_paths or (folder is not None and path.startswith(folder))

    def _has_token(self, scope: Scope) -> bool:
        scheme, _, given = _only(scope, b"authorization").partition(" ")
        same = hmac.compare_digest(given.strip().encode("latin-1"), self._wanted().encode())
        return same and scheme.lower() == "bearer"

    def _has_cookie(self, scope: Scope) -> bool:
        return has_session(_headers(scope), self._wanted(), path=scope["path"])


def too_large(limit_bytes: int) -> Problem:
    """The problem for a body beyond the limit."""
    return problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"A request may hold {limit_bytes:,} bytes.",
        hint="Send less at once.",
    )


def too_late() -> Problem:
    """The problem for a body that did not come in time."""
    return problem(HTTPStatus.REQUEST_TIMEOUT, "The body of the request did not come in time.")


def internal_error(error: Exception, *, request_id: str = "") -> Problem:
    """The problem for an unexpected error: its type, not its message."""
    return problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        f"A mistake in Wellkept ({type(error).__name__}).",
        hint="The server's log tells where, under the id of this request.",
        request_id=request_id,
    )


def guarded(app: App, access: AccessPolicy, *, limits: ClientLimits | None = None) -> App:
    """The app behind access control; rejected requests get a problem response."""

    limits = limits or ClientLimits()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
        elif scope["type"] == "http":
            await _GuardedRequest(_trimmed(scope), receive, send, access, limits).run(app)
        else:
            await send({"type": "websocket.close", "code": 1008})

    return checked


class _GuardedRequest:
    """One request: its id, body size so far and response status."""

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        access: AccessPolicy,
        limits: ClientLimits,
    ) -> None:
        self._scope = scope
        self._limits = limits
        self._client = str((scope.get("client") or ("",))[0])
        self._deadline_s = perf_counter() + access.body_limit_s
        self._has_body = False
        self._is_late = False
        self._receive = receive
        self._send = send
        self._access = access
        self._id = scope[REQUEST_ID] = _request_id(scope)
        self._body_bytes = 0
        self._status: int | None = None
        self._is_too_large = False

    async def run(self, app: App) -> None:
        started = perf_counter()
        is_counted = self._limits.enter(self._client)
        refusal = self._refusal(is_counted=is_counted)
        try:
            visit = self._access.first_visit(self._scope) if refusal is None else None
            if refusal is not None:
                await self._refuse(refusal)
            elif visit is not None:
                await self._let_in(visit)
            else:
                await app(self._scope, self._receive_limited, self._send_with_id)
        except Exception as error:  # noqa: BLE001 - uvicorn would log the message
            # Log the traceback without the message: it may contain memory content.
            where = "".join(format_tb(error.__traceback__))
            _LOG.error("%s failed by %s\n%s", self._id, type(error).__name__, where)
            if self._status is None:
                await self._refuse(internal_error(error))
        finally:
            if is_counted:
                self._limits.leave(self._client)
            _LOG.info(
                "%s %s %s %s %.0f ms",
                self._id,
                self._scope["method"],
                _route_of(self._scope),
                self._status or "-",
                (perf_counter() - started) * 1000,
            )

    async def _let_in(self, token: str) -> None:
        """Answer a first visit: the cookie, and the address without the token."""
        if self._limits.guesses(self._client):
            await self._refuse(_guessing())
        elif not self._access.is_token(token):
            self._limits.wrong_token(self._client)
            await self._refuse(
                problem(
                    HTTPStatus.UNAUTHORIZED,
                    "This is not the server's token.",
                    hint="Open the address that `wellkept serve` prints.",
                )
            )
        else:
            self._status = HTTPStatus.SEE_OTHER
            headers = [
                (b"location", b"/"),
                (b"set-cookie", self._access.cookie().encode()),
                (b"cache-control", b"no-store"),
                (b"content-length", b"0"),
                *self._own_headers(),
            ]
            await self._send(
                {"type": "http.response.start", "status": self._status, "headers": headers}
            )
            await self._send({"type": "http.response.body", "body": b""})

    def _refusal(self, *, is_counted: bool) -> Problem | None:
        if not is_counted:
            return problem(HTTPStatus.TOO_MANY_REQUESTS, "You have too many requests under way.")
        refusal = self._access.refusal(self._scope)
        if refusal is None or refusal.status != HTTPStatus.UNAUTHORIZED:
            return refusal
        if self._limits.guesses(self._client):
            return _guessing()
        if _only(self._scope, b"authorization"):
            self._limits.wrong_token(self._client)
        return refusal

    async def _receive_limited(self) -> Message:
        """The next message; a body beyond the limits of size or time becomes a disconnect."""
        message: Message | None = None
        # Without a limit once the body is there: then this waits for the client to go.
        left_s = None if self._has_body else max(0.0, self._deadline_s - perf_counter())
        with anyio.move_on_after(left_s):
            message = await self._receive()
        if message is None:
            self._is_late = True
            return {"type": "http.disconnect"}
        self._has_body = not message.get("more_body", False)
        self._body_bytes += len(message.get("body", b""))
        if self._body_bytes > self._access.max_body_bytes:
            self._is_too_large = True
            return {"type": "http.disconnect"}
        return message

    async def _send_with_id(self, message: Message) -> None:
        """Send with the request id; after a body that was refused, always say so."""
        if message["type"] == "http.response.start":
            if self._is_refused and self._status is None:
                await self._refuse(
                    too_late() if self._is_late else too_large(self._access.max_body_bytes)
                )
                return
            self._status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self._own_headers()]
        elif self._is_refused:
            return
        # A client that does not read holds its connection, not the server.
        with anyio.fail_after(self._access.send_limit_s):
            await self._send(message)

    @property
    def _is_refused(self) -> bool:
        return self._is_too_large or self._is_late

    async def _refuse(self, details: Problem) -> None:
        named = details.model_copy(update={"request_id": self._id})
        body = named.model_dump_json().encode()
        own = [(name.encode(), value.encode()) for name, value in headers_of(details).items()]
        kind = (b"content-type", MEDIA_TYPE.encode())
        size = (b"content-length", str(len(body)).encode())
        self._status = details.status
        headers = [kind, size, *own, *self._own_headers()]
        await self._send(
            {"type": "http.response.start", "status": details.status, "headers": headers}
        )
        await self._send({"type": "http.response.body", "body": body})

    def _own_headers(self) -> Iterable[tuple[bytes, bytes]]:
        yield b"x-request-id", self._id.encode()
        yield b"x-content-type-options", b"nosniff"
        yield b"referrer-policy", b"no-referrer"


def _guessing() -> Problem:
    return problem(HTTPStatus.TOO_MANY_REQUESTS, "Too many wrong tokens; wait a minute.")


def _headers(scope: Scope) -> dict[str, str]:
    """Headers by name; of one that is repeated, all values in a row."""
    found: dict[str, str] = {}
    for key, value in scope["headers"]:
        name, text = key.decode("latin-1").lower(), value.decode("latin-1")
        found[name] = f"{found[name]}; {text}" if name in found else text
    return found


def _trimmed(scope: Scope) -> Scope:
    """Strip white space around header values, which not every server does."""
    headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
    return {**scope, "headers": headers}


def _request_id(scope: Scope) -> str:
    given = _only(scope, b"x-request-id")
    return given if _PLAIN_ID.fullmatch(given) else secrets.token_hex(8)


def _route_of(scope: Scope) -> str:
    """The route template: the path itself may contain memory keys."""
    return getattr(scope.get("route"), "path", "-")


def _name_of(host: str) -> str:
    """A host without its port."""
    if host.startswith("["):
        return host[: host.find("]") + 1]
    return host.partition(":")[0]


def _length_of(scope: Scope) -> int:
    given = _only(scope, b"content-length")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 16 else 0


def _only(scope: Scope, name: bytes) -> str:
    """The value of a single header; empty when missing or repeated."""
    found = _values(scope, name)
    return found[0] if len(found) == 1 else ""


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
