"""Loads a page over HTTP: bounded in time and size, only from public addresses.

The connection is made to the very address that was checked, so that a name cannot change its
meaning between check and use. A redirect to another host is not followed but reported: the person
allowed one host, not the other. Proxies of the environment are not used.
"""

from __future__ import annotations

import asyncio
import http.client
import ipaddress
import socket
import ssl
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol, TypeAlias
from urllib.parse import urljoin, urlsplit

from wellkept.core.errors import UsageError
from wellkept.core.records import record

# -- Which addresses an agent may load pages from: only those that everybody can reach ------------


Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve: TypeAlias = Callable[[str, int], list[str]]
"""The addresses of a host; raises OSError when there are none."""

_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
# Public by their number only: a cloud's own agent on each of its machines, relays to IPv6, and the
# site-local addresses of old.
_NOT_PUBLIC: Final = tuple(
    ipaddress.ip_network(one) for one in ("168.63.129.16/32", "192.88.99.0/24", "fec0::/10")
)
_MAX_URL_CHARS: Final = 2_000


@record
class _WebTarget:
    """A checked address of a page."""

    url: str
    scheme: str
    host: str
    port: int
    path: str


def parse_url(url: str) -> _WebTarget:
    """The parts of a URL; a UsageError when a page cannot be loaded from it."""
    text = url.strip()
    if len(text) > _MAX_URL_CHARS or any(ord(c) <= 32 or ord(c) == 127 for c in text):
        raise UsageError("The address is too long or contains blanks.", hint="Encode blanks: %20.")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{shown_url(text)} is no valid address: {error}.") from error
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(
            f"{shown_url(text)} is no web address.", hint="It must begin with https:// or http://."
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError("Addresses with a user name or password are not loaded.")
    try:
        ascii_host = host.encode("idna").decode("ascii") if not host.isascii() else host
    except UnicodeError as error:
        raise UsageError(f"{host} is no valid host name.") from error
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    default = 443 if parts.scheme == "https" else 80
    return _WebTarget(text, parts.scheme, ascii_host.lower(), port or default, path)


def shown_url(url: str) -> str:
    """An address short enough for a message."""
    return url if len(url) <= 200 else url[:200] + "…"


def is_public(address: Address) -> bool:
    """Whether an address is one that everybody can reach, whatever it is wrapped in."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return is_public(inner)
    if any(address in one for one in _NOT_PUBLIC if one.version == address.version):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address inside of an IPv6 one that only carries it on."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def resolve(host: str, port: int) -> list[str]:
    """Ask the system for the addresses of a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))


def public_addresses(
    target: _WebTarget, *, resolver: Resolve, allows: Callable[[Address], bool]
) -> list[str]:
    """The addresses to connect to. One that is private is reason enough to refuse the host."""
    try:
        found = resolver(target.host, target.port)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"The host {target.host} was not found: {error}.") from error
    for text in found:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            raise UsageError(f"The host {target.host} has no usable address.") from None
        if not allows(address):
            raise UsageError(
                f"{target.host} is an address of this machine or a private network ({address});"
                " pages are not loaded from there.",
                hint="Use Bash with curl if the person wants it.",
            )
    if not found:
        raise UsageError(f"The host {target.host} was not found.")
    return found


_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS: Final = 5
_CHUNK_BYTES: Final = 1 << 16
_AGENT: Final = "Mozilla/5.0 (compatible; Wellkept-Agent)"


@record(kw_only=True)
class WebPage:
    """What came back. `moved_to` is set when the page is at another host now."""

    url: str
    status: int
    media_type: str = ""
    charset: str = ""
    body: bytes = b""
    is_cut: bool = False
    moved_to: str | None = None


class WebClient(Protocol):
    """Loads pages. Raises UsageError for what may not or cannot be loaded."""

    async def fetch(self, url: str) -> WebPage: ...


class PublicWeb:
    """The web as everybody sees it. `resolver` and `allows` exist for tests."""

    def __init__(
        self,
        *,
        timeout_s: float = 30.0,
        max_bytes: int = 5_000_000,
        resolver: Resolve = resolve,
        allows: Callable[[Address], bool] = is_public,
    ) -> None:
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._resolver = resolver
        self._allows = allows

    async def fetch(self, url: str) -> WebPage:
        """Load a page within the time limit."""
        load = _Load(self._timeout_s, self._max_bytes, self._resolver, self._allows)
        try:
            return await asyncio.wait_for(asyncio.to_thread(load.run, url), self._timeout_s)
        except TimeoutError:
            raise UsageError(
                f"{shown_url(url)} did not answer within {self._timeout_s:g} s."
            ) from None
        except (OSError, http.client.HTTPException, zlib.error) as error:
            raise UsageError(f"{shown_url(url)} could not be loaded: {error}.") from error
        finally:
            load.close()


class _Load:
    """One page and its redirects, in a thread. `close` from outside ends it."""

    def __init__(
        self,
        timeout_s: float,
        max_bytes: int,
        resolver: Resolve,
        allows: Callable[[Address], bool],
    ) -> None:
        self._deadline = time.monotonic() + timeout_s
        self._max_bytes = max_bytes
        self._resolver = resolver
        self._allows = allows
        self._socket: socket.socket | None = None
        self._is_closed = False

    def close(self) -> None:
        self._is_closed = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def run(self, url: str) -> WebPage:
        target = parse_url(url)
        for _ in range(_MAX_REDIRECTS + 1):
            page = self._one(target)
            if page.moved_to is None:
                return page
            moved = parse_url(page.moved_to)
            is_downgrade = target.scheme == "https" and moved.scheme == "http"
            if _plain_host(moved) != _plain_host(target) or is_downgrade:
                return page
            target = moved
        raise UsageError(f"{shown_url(url)} redirects more than {_MAX_REDIRECTS} times.")

    def _one(self, target: _WebTarget) -> WebPage:
        connection = self._connected(target)
        try:
            connection.request(
                "GET",
                target.path,
                headers={
                    "User-Agent": _AGENT,
                    "Accept": "text/html, text/markdown, text/plain, application/json, */*;q=0.5",
                    "Accept-Encoding": "gzip, identity",
                },
            )
            response = connection.getresponse()
            location = response.getheader("Location")
            if response.status in _REDIRECTS and location:
                moved = urljoin(target.url, location)
                return WebPage(url=target.url, status=response.status, moved_to=moved)
            body, is_cut = self._body(response)
            return WebPage(
                url=target.url,
                status=response.status,
                media_type=response.headers.get_content_type(),
                charset=response.headers.get_content_charset() or "",
                body=body,
                is_cut=is_cut,
            )
        finally:
            connection.close()

    def _connected(self, target: _WebTarget) -> http.client.HTTPConnection:
        addresses = public_addresses(target, resolver=self._resolver, allows=self._allows)
        problem: OSError | None = None
        for address in addresses[:4]:
            try:
                found = socket.create_connection((address, target.port), self._left())
            except OSError as error:
                problem = error
                continue
            self._socket = found
            if target.scheme == "https":
                secure = ssl.create_default_context()
                found = secure.wrap_socket(found, server_hostname=target.host)
                self._socket = found
            connection = http.client.HTTPConnection(_bracketed(target.host), target.port)
            connection.sock = found
            return connection
        raise problem or OSError("no address")

    def _body(self, response: http.client.HTTPResponse) -> tuple[bytes, bool]:
        unzip = None
        if (response.getheader("Content-Encoding") or "").lower() in ("gzip", "x-gzip"):
            unzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
        body = bytearray()
        while len(body) <= self._max_bytes:
            if self._socket is not None:
                self._socket.settimeout(self._left())
            chunk = response.read1(_CHUNK_BYTES)
            if not chunk:
                return bytes(body), False
            body += unzip.decompress(chunk, self._max_bytes + 1 - len(body)) if unzip else chunk
        return bytes(body[: self._max_bytes]), True

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0 or self._is_closed:
            raise TimeoutError("no time left")
        return left


def _plain_host(target: _WebTarget) -> str:
    return target.host.removeprefix("www.")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
