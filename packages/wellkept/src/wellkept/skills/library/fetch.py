"""Fetches one skill document from the network, after the user asked for it.

Only https, and http to this machine; never with credentials; a redirect may not leave https. A
response that is too large is refused, not cut. Called only by an explicit request.
"""

from __future__ import annotations

import http.client
import ipaddress
import urllib.error
import urllib.request
from typing import Final
from urllib.parse import urlsplit

from wellkept.core.errors import ProviderError, UsageError

TIMEOUT_S: Final = 30.0


class UrlFetcher:
    """HTTP(S) access for skills."""

    def __init__(self, *, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._opener = urllib.request.build_opener(SafeRedirectHandler)

    def fetch(self, url: str, *, limit_bytes: int) -> bytes:
        """The document at a URL."""
        require_safe(url)
        request = urllib.request.Request(url, headers={"User-Agent": "wellkept"})
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                data: bytes = answer.read(limit_bytes + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ProviderError(
                f"{url} could not be fetched: {_reason(error)}.", hint="Check the URL."
            ) from None
        if len(data) > limit_bytes:
            raise ProviderError(
                f"{url} is larger than {limit_bytes:,} bytes.",
                hint="Name the SKILL.md file itself.",
            )
        return data


class SafeRedirectHandler(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to a URL that would be accepted directly."""

    def redirect_request(  # noqa: PLR0917 - the signature is urllib's
        self,
        req: urllib.request.Request,
        fp: object,
        code: int,
        msg: str,
        headers: object,
        newurl: str,
    ) -> urllib.request.Request | None:
        try:
            require_safe(newurl)
            if req.type == "https" and not newurl.lower().startswith("https:"):
                raise UsageError("It leaves https.")  # to a service of this machine, say
        except UsageError as error:
            raise ValueError(f"it redirects to {newurl[:200]}. {error.message}") from None
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def require_safe(url: str) -> None:
    """Refuse anything but a plain https URL (or http to this machine)."""
    try:
        parts = urlsplit(url)
        host, user = parts.hostname or "", parts.username
    except ValueError:
        host, user, parts = "", None, None
    if parts is None or not host or user or any(ord(c) <= 32 for c in url):
        raise UsageError(f"{url[:200]!r} is not a document URL.", hint="Use https://host/SKILL.md.")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        raise UsageError(f"{url[:200]!r} is not https.", hint="Use the https URL.")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answered {error.code}"
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(reason).rstrip(".") or type(error).__name__
