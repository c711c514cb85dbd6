"""The MCP protocol on one connection: versions, handshake, envelopes and errors. Pure, no I/O.

Two eras. Up to 2025-11-25 a connection begins with `initialize`. Since 2026-07-28 every request
carries version and capabilities in `params._meta`, and results say which server made them. The
first request decides the era of a connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from wellkept import __version__
from wellkept.api.mcp import instructions
from wellkept.api.mcp.errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    RequestError,
)
from wellkept.core.records import record

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS: Final = ("2026-07-28",)

_PREFIX: Final = "io.modelcontextprotocol/"
_VERSION: Final = f"{_PREFIX}protocolVersion"
_CAPABILITIES: Final = f"{_PREFIX}clientCapabilities"
_SERVER: Final = f"{_PREFIX}serverInfo"
_HELLO: Final = ("protocolVersion", "capabilities", "clientInfo")
# Results of these may be cached by a client; ours are true for the moment only.
_CACHEABLE: Final = frozenset(
    {
        "server/discover",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
    }
)
Json: TypeAlias = dict[str, Any]


@record(frozen=False)
class Connection:
    """What is known about the client of one connection."""

    is_modern: bool | None = None
    is_ready: bool = False
    can_list_roots: bool = False

    def open(self, method: str, params: Mapping[str, Any]) -> None:
        """Check a request against the era of the connection; the first one decides it."""
        if self.is_modern is None:
            self.is_modern = method != "initialize" and _has_envelope(params)
        if self.is_modern:
            _check_modern(method, params)
        elif method != "initialize" and _has_envelope(params):
            raise RequestError(
                INVALID_REQUEST,
                "this connection serves the handshake protocol era; requests carrying the "
                "2026-07-28 envelope are not accepted on it",
            )

    def require_ready(self) -> None:
        """Refuse a request that comes before the handshake."""
        if not (self.is_modern or self.is_ready):
            raise RequestError(INVALID_PARAMS, "Invalid request parameters", "")

    def greeting(self, method: str, params: Mapping[str, Any]) -> Json | None:
        """The answer to a request about the connection itself; None for any other."""
        if method == "initialize" and not self.is_modern:
            return self._initialize(params)
        if method == "ping" and not self.is_modern:
            return {}
        if method == "server/discover" and self.is_modern:
            return {"supportedVersions": list(MODERN_VERSIONS), **_about()}
        return None

    def _initialize(self, params: Mapping[str, Any]) -> Json:
        version, capabilities, client = (params.get(name) for name in _HELLO)
        if not (
            isinstance(version, str)
            and isinstance(capabilities, Mapping)
            and isinstance(client, Mapping)
        ):
            raise RequestError(INVALID_PARAMS, "Invalid request parameters", "")
        self.is_ready = True
        self.can_list_roots = "roots" in capabilities
        known = version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        return {"protocolVersion": known, "serverInfo": server_info(), **_about()}

    def finished(self, method: str, result: Json) -> Json:
        """A result in the form of the connection's era."""
        if not self.is_modern:
            return result
        cached = {"cacheScope": "private", "ttlMs": 0} if method in _CACHEABLE else {}
        return {**result, **cached, "resultType": "complete", "_meta": {_SERVER: server_info()}}


def server_info() -> Json:
    """Name and version of this server."""
    return {"name": instructions.NAME, "title": instructions.TITLE, "version": __version__}


def not_found(method: str) -> RequestError:
    """The error for a method that is not served."""
    return RequestError(METHOD_NOT_FOUND, "Method not found", method)


def _about() -> Json:
    return {
        "capabilities": instructions.CAPABILITIES,
        "instructions": instructions.INSTRUCTIONS,
    }


def _meta(params: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = params.get("_meta")
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else None


def _has_envelope(params: Mapping[str, Any]) -> bool:
    return _VERSION in (_meta(params) or {})


def _check_modern(method: str, params: Mapping[str, Any]) -> None:
    if method == "initialize":
        raise _unsupported(
            "connection is serving the 2026-07-28 protocol; the initialize handshake is not "
            "accepted",
            params.get("protocolVersion"),
        )
    meta = _meta(params)
    if meta is None:
        raise RequestError(
            INVALID_PARAMS,
            f"params._meta must be an object carrying the required {_VERSION!r} and "
            f"{_CAPABILITIES!r} envelope keys",
        )
    if missing := [name for name in (_VERSION, _CAPABILITIES) if name not in meta]:
        raise RequestError(
            INVALID_PARAMS,
            f"params._meta is missing the required envelope key(s): {', '.join(missing)}",
        )
    version = meta[_VERSION]
    if not isinstance(version, str):
        raise RequestError(INVALID_PARAMS, f"{_VERSION} must be a string")
    if version not in MODERN_VERSIONS:
        raise _unsupported("Unsupported protocol version", version)


def _unsupported(message: str, requested: object) -> RequestError:
    data: Json = {"supported": list(MODERN_VERSIONS)}
    if isinstance(requested, str):
        data["requested"] = requested
    return RequestError(UNSUPPORTED_PROTOCOL_VERSION, message, data)
