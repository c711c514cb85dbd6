"""The browser's session: a token in the address becomes a cookie at the first visit.

The cookie is made from the token, so that it is not the token and a new token ends it. It is
`HttpOnly` and `SameSite=Strict`, and sent to `/api` only. Cookies know no ports, and other local
programs are the same site: so a request that comes with it must also be of the page itself
(`Sec-Fetch-Site`, else `Origin`). It opens no MCP.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs

COOKIE: Final = "wellkept"
PATH: Final = "/api"
MAX_AGE_S: Final = 30 * 24 * 3600
_PURPOSE: Final = b"wellkept page session"
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


def session_value(token: str) -> str:
    """What the cookie of a token holds."""
    return hmac.new(token.encode(), _PURPOSE, sha256).hexdigest()


def set_cookie(token: str) -> str:
    """The `Set-Cookie` header of a first visit."""
    return (
        f"{COOKIE}={session_value(token)}; Path={PATH}; Max-Age={MAX_AGE_S}; HttpOnly;"
        " SameSite=Strict"
    )


def token_in(query: str) -> str | None:
    """The token in a query, None when it names none."""
    found = parse_qs(query, keep_blank_values=True, max_num_fields=20).get("token")
    return found[0] if found else None


def has_session(headers: Mapping[str, str], token: str, *, path: str) -> bool:
    """Whether a request carries the cookie of this token, for a path that it opens."""
    if not path.startswith(f"{PATH}/"):
        return False
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return False
    given = found.value.encode("utf-8", "replace") if found is not None else b""
    return hmac.compare_digest(given, session_value(token).encode())


def is_own_page(headers: Mapping[str, str], *, method: str) -> bool:
    """Whether a request with the cookie was made by the page itself. That `Origin` is not another
    page's was checked before."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin" or (site == "none" and method in _SAFE_METHODS)
    # Browsers that send no such header send the origin with everything that changes something.
    return method in _SAFE_METHODS or "origin" in headers
