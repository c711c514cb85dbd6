"""Which addresses an agent may load pages from: only those that everybody can reach.

A page, a prompt or a redirect may name the machine itself, the network it is in or a cloud's
metadata service. The name is not what counts but the address that it stands for.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from wellkept.core.errors import UsageError
from wellkept.core.records import record

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
class WebTarget:
    """A checked address of a page."""

    url: str
    scheme: str
    host: str
    port: int
    path: str


def parse_url(url: str) -> WebTarget:
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
    return WebTarget(text, parts.scheme, ascii_host.lower(), port or default, path)


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
    target: WebTarget, *, resolver: Resolve, allows: Callable[[Address], bool]
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
