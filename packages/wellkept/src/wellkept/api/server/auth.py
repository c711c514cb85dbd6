"""Access control for the HTTP servers: token, `Host` and `Origin`, size and time, request log.

Loopback alone does not keep out other users of the machine or web pages in a browser. So every
request needs the token, an allowed `Host` (against DNS rebinding), and no foreign `Origin`. A
browser brings the token once and then a cookie (`page_session`). All
HTTP requests pass through `guarded`. Logs contain request ids, never contents.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from time import perf_counter
from traceback import format_tb
from typing import Any, Final, TypeAlias

import anyio
import anyio.to_thread

from wellkept.api.server.http_errors import MEDIA_TYPE, Problem, headers_of, problem, problem_of
from wellkept.api.server.limits import BODY_LIMIT_S, SEND_LIMIT_S, ClientLimits
from wellkept.api.server.page_session import has_session, is_own_page, set_cookie, token_in
from wellkept.api.server.peer_process import Peers
from wellkept.api.server.token_file import TOKEN_NAME, agent_token
from wellkept.api.telemetry.requests import LOGGER, FinishedRequest, OnFinished, log_request
from wellkept.api.verbs.as_json import encoded
from wellkept.clients.known import agent_of
from wellkept.core.errors import WellkeptError
from wellkept.core.records import field, record, replace
from wellkept.core.team.people import AGENT, LOCAL, PRINCIPAL, Principal

LOOPBACK_HOSTS: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
MAX_BODY_BYTES: Final = 8 << 20
REQUEST_ID: Final = "wellkept.request_id"
"""Key of the request id in the ASGI scope."""

# A name or address, and a port in digits: what a proxy joins with a comma is no host.
_HOST = re.compile(r"(?:\[[0-9a-f:.]+\]|[\w.-]+)(?::[0-9]{1,5})?", re.ASCII)
_PLAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


@record(kw_only=True)
class AccessPolicy:
    """Requirements for requests. Without a token, all local requests are allowed; a token may be
    looked up for each request. The one token of a machine is its administrator's; a team's server
    knows `people` by theirs. `open_paths` expose no memory content and need no token."""

    token: str | Callable[[], str] | None
    people: Callable[[str], Principal | None] | None = None
    """Looks up whose token this is, in a thread; with it, `token` is not asked."""
    hosts: frozenset[str] = LOOPBACK_HOSTS
    open_paths: frozenset[str] = frozenset()
    open_folder: str | None = None
    """Paths that begin so are open too."""
    takes_cookies: bool = False
    """Whether a browser may come in with the token in the address, and by cookie then."""
    max_body_bytes: int = MAX_BODY_BYTES
    body_limit_s: float = BODY_LIMIT_S
    send_limit_s: float = SEND_LIMIT_S
    peers: Peers = field(default_factory=Peers, compare=False, repr=False)

    def refusal(self, scope: Scope) -> Problem | None:
        """Why a request is rejected, from its headers alone; None when it is allowed."""
        host = _only(scope, b"host").lower()
        if _HOST.fullmatch(host) is None or _name_of(host) not in self.hosts:
            hint = "`wellkept serve --allow-host NAME` lets it be called by another name."
            return problem(
                HTTPStatus.MISDIRECTED_REQUEST, "This server has another name.", hint=hint
            )
        own = {f"http://{host}", f"https://{host}"}
        if any(origin.lower() not in own for origin in _values(scope, b"origin")):
            return problem(HTTPStatus.FORBIDDEN, "Other web pages may not ask here.")
        if _length_of(scope) > self.max_body_bytes:
            return too_large(self.max_body_bytes)
        if self.people is not None:
            return None  # a token is looked up where that may wait
        if self.token is None or self._is_open(scope["path"]):
            return None
        if self._has_token(scope) or self._has_agent_token(scope):
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

    async def principal(self, scope: Scope) -> Principal | Problem:
        """Who asks, or why nobody is known by this token. Of a request that `refusal` let pass."""
        if self._is_open(scope["path"]):
            return LOCAL
        if self.people is None:
            return await self._local_principal(scope)
        scheme, _, given = _only(scope, b"authorization").partition(" ")
        found = None
        if scheme.lower() == "bearer" and given.strip():
            found = await anyio.to_thread.run_sync(self.people, given.strip())
        return found or problem(
            HTTPStatus.UNAUTHORIZED,
            "This needs a token of yours that is valid.",
            hint="Send it as `Authorization: Bearer TOKEN`; an administrator issues another.",
        )

    async def _local_principal(self, scope: Scope) -> Principal:
        """The page is a person. So is the machine's token, but not from an agent's tool call; its
        agents have a token of their own."""
        if self.token is not None and self._has_agent_token(scope):
            return AGENT
        if "cookie" in _headers(scope) and self.takes_cookies and self._has_cookie(scope):
            return LOCAL
        if scope["method"] in ("GET", "HEAD"):
            return LOCAL
        theirs, ours = (scope.get(side) or ("", 0) for side in ("client", "server"))
        peer = await anyio.to_thread.run_sync(self.peers.environment, theirs, ours)
        return AGENT if agent_of(peer) else LOCAL

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
        given = self._bearer(scope).encode("latin-1")
        return hmac.compare_digest(given, self._wanted().encode())

    def _has_agent_token(self, scope: Scope) -> bool:
        given = self._bearer(scope).encode("latin-1")
        return hmac.compare_digest(given, agent_token(self._wanted()).encode())

    def _bearer(self, scope: Scope) -> str:
        scheme, _, given = _only(scope, b"authorization").partition(" ")
        return given.strip() if scheme.lower() == "bearer" else ""

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


def guarded(
    app: App,
    access: AccessPolicy,
    *,
    limits: ClientLimits | None = None,
    on_finished: Iterable[OnFinished] = (),
) -> App:
    """The app behind access control; rejected requests get a problem response. Every request is
    logged and told to `on_finished`."""

    limits = limits or ClientLimits()
    told = (log_request, *on_finished)

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
        elif scope["type"] == "http":
            await _GuardedRequest(
                _trimmed(scope), receive, send, access, limits=limits, on_finished=told
            ).run(app)
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
        *,
        limits: ClientLimits,
        on_finished: Iterable[OnFinished],
    ) -> None:
        self._scope = scope
        self._on_finished = on_finished
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
        try:
            refusal = await self._refusal(is_counted=is_counted)
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
            LOGGER.error("%s failed by %s\n%s", self._id, type(error).__name__, where)
            if self._status is None:
                await self._refuse(internal_error(error))
        finally:
            if is_counted:
                self._limits.leave(self._client)
            self._tell(perf_counter() - started)

    def _tell(self, seconds: float) -> None:
        done = FinishedRequest(
            id=self._id,
            method=self._scope["method"],
            route=route_of(self._scope),
            status=self._status,
            seconds=seconds,
        )
        for tell in self._on_finished:
            tell(done)

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

    async def _refusal(self, *, is_counted: bool) -> Problem | None:
        """Why the request is rejected; None when it is allowed, and who asks is known then."""
        if not is_counted:
            return problem(HTTPStatus.TOO_MANY_REQUESTS, "You have too many requests under way.")
        refusal = self._access.refusal(self._scope)
        if refusal is None:
            refusal = await self._find_principal()
        if refusal is None or refusal.status != HTTPStatus.UNAUTHORIZED:
            return refusal
        if self._limits.guesses(self._client):
            return _guessing()
        if _only(self._scope, b"authorization"):
            self._limits.wrong_token(self._client)
        return refusal

    async def _find_principal(self) -> Problem | None:
        try:
            found = await self._access.principal(self._scope)
        except WellkeptError as error:
            return problem_of(error)
        if isinstance(found, Problem):
            return found
        self._scope[PRINCIPAL] = found
        return None

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
        body = encoded(replace(details, request_id=self._id))
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


def route_of(scope: Scope) -> str:
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
