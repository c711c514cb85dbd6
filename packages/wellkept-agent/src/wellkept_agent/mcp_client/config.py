"""Tables of MCP servers, as `.mcp.json` of other clients has them.

    {"mcpServers": {"files": {"command": "npx", "args": ["-y", "some-server"], "env": {"K": "v"}},
                    "docs": {"type": "http", "url": "https://…/mcp", "headers": {"X": "${TOKEN}"}}}}

`${NAME}` and `${NAME:-default}` are taken from the environment when a server is started, never
earlier: a fingerprint is made of the file's own words. Values of `env` and `headers` are in no
repr.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from wellkept.core.errors import UsageError
from wellkept.core.records import field, record, replace

TransportKind: TypeAlias = Literal["stdio", "http", "sse"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_MAX_FILE_BYTES = 1 << 20
_TABLES = ("mcpServers", "servers")
_HTTP_TYPES = frozenset({"http", "streamable-http", "streamableHttp", "streamable_http"})


@record(kw_only=True)
class McpServer:
    """One server. `source` is the file it stands in; `from_project` when that came with a
    checkout and needs a person's yes."""

    name: str
    transport: TransportKind
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    time_limit_s: float | None = None
    source: str = ""
    from_project: bool = False

    @property
    def shown(self) -> str:
        """What would be started or reached, for a person; without secrets."""
        if self.transport == "stdio":
            return " ".join([self.command, *self.args])
        return self.url.partition("?")[0]

    @property
    def fingerprint(self) -> str:
        """Changes with everything that the server is started with."""
        parts: list[object] = [self.transport, self.command, *self.args, self.cwd, self.url]
        parts += [sorted(self.env.items()), sorted(self.headers.items())]
        return sha256(json.dumps(parts).encode("utf-8", "replace")).hexdigest()

    def expanded(self, environment: Mapping[str, str]) -> McpServer:
        """The server with variables put in; UsageError for one that is not set."""

        def value(text: str) -> str:
            return _VARIABLE.sub(lambda m: _variable(m, environment, server=self.name), text)

        return replace(
            self,
            command=value(self.command),
            args=tuple(map(value, self.args)),
            env={key: value(text) for key, text in self.env.items()},
            url=value(self.url),
            headers={key: value(text) for key, text in self.headers.items()},
        )


def read_servers(path: Path, *, from_project: bool = False) -> list[McpServer]:
    """The servers of a file; none when there is no file. UsageError names what is wrong."""
    try:
        if not path.is_file():
            return []
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise UsageError(f"{path} is larger than 1 MB.")
        given: object = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    return parse_servers(given, source=str(path), from_project=from_project)


def parse_servers(given: object, *, source: str, from_project: bool = False) -> list[McpServer]:
    """The servers of a table; those that are switched off are left out."""
    if not isinstance(given, dict):
        raise UsageError(f"{source} must be a JSON object.")
    whole = cast("dict[str, Any]", given)
    table = next((whole[name] for name in _TABLES if name in whole), None)
    if not isinstance(table, dict):
        raise UsageError(f"{source} has no table mcpServers.")
    found: list[McpServer] = []
    for name, value in cast("dict[str, object]", table).items():
        if not isinstance(value, dict):
            raise UsageError(f"{source}: the server {name!r} must be an object.")
        entry = cast("dict[str, Any]", value)
        server = _server(name, entry, source)
        if entry.get("disabled") is not True and entry.get("enabled") is not False:
            found.append(replace(server, from_project=from_project))
    return found


def _server(name: str, entry: dict[str, Any], source: str) -> McpServer:
    place = f"{source}: the server {name!r}"
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{place} has no usable name.", hint="Letters, digits, '_', '.' and '-', at most 40."
        )
    kind = _kind(entry, place)
    return McpServer(
        name=name,
        transport=kind,
        command=_text(entry, "command", place) if kind == "stdio" else "",
        args=_texts(entry, "args", place),
        env=_table(entry, "env", place),
        cwd=_text(entry, "cwd", place) if entry.get("cwd") else None,
        url=_url(entry, place) if kind != "stdio" else "",
        headers=_table(entry, "headers", place),
        time_limit_s=_seconds(entry.get("timeout")),
        source=source,
    )


def _kind(entry: dict[str, Any], place: str) -> TransportKind:
    given = entry.get("type") or entry.get("transport")
    if given is None:
        given = "stdio" if "command" in entry else "http"
    if given in _HTTP_TYPES:
        return "http"
    if given in ("stdio", "sse"):
        return given
    raise UsageError(f"{place} has the type {given!r}.", hint="One of: stdio, http, sse.")


def _seconds(limit: object) -> float | None:
    """A time limit; other clients write milliseconds."""
    if isinstance(limit, bool) or not isinstance(limit, int | float) or limit <= 0:
        return None
    return limit / 1000 if limit >= 1000 else float(limit)


def _url(entry: dict[str, Any], place: str) -> str:
    url = _text(entry, "url", place)
    if not url.startswith(("http://", "https://", "${")):
        raise UsageError(f"{place} has no http(s) address.")
    return url


def _text(entry: dict[str, Any], key: str, place: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise UsageError(f"{place} needs {key!r}.")
    return value


def _texts(entry: dict[str, Any], key: str, place: str) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(
        isinstance(one, str) for one in cast("list[object]", value)
    ):
        raise UsageError(f"{place}: {key!r} must be a list of texts.")
    return tuple(cast("list[str]", value))


def _table(entry: dict[str, Any], key: str, place: str) -> dict[str, str]:
    value: object = entry.get(key) or {}
    if not isinstance(value, dict):
        raise UsageError(f"{place}: {key!r} must be an object of texts.")
    items = cast("dict[str, object]", value).items()
    if not all(isinstance(one, str | int | float) for _, one in items):
        raise UsageError(f"{place}: {key!r} must be an object of texts.")
    return {name: str(one) for name, one in items}


def _variable(match: re.Match[str], environment: Mapping[str, str], *, server: str) -> str:
    name, default = match.group(1), match.group(2)
    found = environment.get(name) or default
    if found is None:
        raise UsageError(f"The MCP server {server!r} needs the variable {name}, which is not set.")
    return found
