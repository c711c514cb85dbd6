"""The built page, served from the package: its files, their headers, and what is shown without it.

The page holds nothing of anyone's memory, so its files need no token. Files under `assets` have
their hash in the name and never change. Everything else is asked for again.
"""

from __future__ import annotations

import gzip
import re
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from wellkept.api.server.requests import NamedRoute

FOLDER: Final = Path(__file__).parents[1] / "page"
"""Where `make page` puts the built page."""
ASSETS: Final = "/assets/"
ROOT_FILES: Final = ("icon.svg", "licences.txt", "manifest.webmanifest")
POLICY: Final = MappingProxyType(
    {
        "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self';"
        " img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:;"
        " manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=()",
    }
)
_KINDS: Final = MappingProxyType(
    {
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".svg": "image/svg+xml",
        ".png": "image/png",
        ".woff2": "font/woff2",
        ".json": "application/json",
        ".webmanifest": "application/manifest+json",
        ".txt": "text/plain; charset=utf-8",
        ".map": "application/json",
    }
)
_NOT_PACKED: Final = frozenset({".png", ".woff2"})
_FOREVER: Final = "public, max-age=31536000, immutable"
_SAFE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)*")


def page_routes(folder: Path, *, not_built: str) -> list[NamedRoute]:
    """The page; `not_built` is shown where it was never built."""

    async def index(request: Request) -> Response:
        answer = _file(folder, "index.html", request)
        if answer is not None:
            return answer
        return HTMLResponse(not_built, headers={**POLICY, "cache-control": "no-cache"})

    async def file(request: Request) -> Response:
        return _found(_file(folder, request.scope["path"].removeprefix("/"), request))

    names = (f"{ASSETS}{{name:path}}", *(f"/{name}" for name in ROOT_FILES))
    return [NamedRoute("/", index), *(NamedRoute(name, file) for name in names)]


def _found(answer: Response | None) -> Response:
    if answer is None:
        raise HTTPException(404, "The page has no such file.")
    return answer


def _file(folder: Path, name: str, request: Request) -> Response | None:
    """A file of the page, packed where the client takes that; None when there is none."""
    path = folder / name
    if not _SAFE_NAME.fullmatch(name) or path.suffix not in _KINDS:
        return None
    try:
        known = path.stat()
        if not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
            return None
        raw, packed = _contents(path, known.st_mtime_ns, known.st_size)
    except OSError:
        return None
    headers = {**POLICY, "cache-control": _FOREVER if name.startswith("assets/") else "no-cache"}
    headers["vary"] = "accept-encoding"
    if packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        raw = packed
    return Response(raw, media_type=_KINDS[path.suffix], headers=headers)


@lru_cache(maxsize=256)
def _contents(path: Path, changed_ns: int, size: int) -> tuple[bytes, bytes | None]:  # noqa: ARG001
    """The bytes of a file, and packed; read again when the file has changed."""
    raw = path.read_bytes()
    if path.suffix in _NOT_PACKED:
        return raw, None
    return raw, gzip.compress(raw, compresslevel=9, mtime=0)
