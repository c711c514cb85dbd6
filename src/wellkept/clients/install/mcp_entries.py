"""Wellkept's MCP server in a client's settings: a member of a JSON object, or a table in TOML.

Known as ours by its name and what it starts. What a person adds beside that (a time limit, an
environment) stays. Invariant: other servers, and everything else in the file, stay as they are;
another server under our name is refused, not replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from wellkept.clients.hook_spec import InstallPart, Programs
from wellkept.clients.install import jsonc, toml_tables
from wellkept.clients.install.files import FileSnapshot, InstallRecord
from wellkept.clients.install.jsonc import Json
from wellkept.clients.install.target import reading
from wellkept.core.errors import ConflictError
from wellkept.core.records import record

NAME: Final = "wellkept"
Fields: TypeAlias = "dict[str, Json]"

# Codex hands on only the variables that it is told of. These say where Wellkept's files are.
_PLACES: Final = ("WELLKEPT_HOME", "WELLKEPT_STORE_PATH", "XDG_DATA_HOME", "XDG_CONFIG_HOME")


@record
class ServerInJson:
    """The server below `keys` of a JSON file; `root` is what a new file must hold besides."""

    path: Path
    keys: tuple[str, ...]
    form: Callable[[Sequence[str]], Fields]
    root: tuple[tuple[str, Json], ...] = ()
    part: InstallPart = InstallPart.SERVER

    def with_ours(self, seen: FileSnapshot, programs: Programs) -> str | None:
        """The settings with the server as it is today, or without it when it is left out."""
        if not programs.server:
            return _left_out(self, seen)
        with reading(seen):
            text = seen.text if seen.text.strip() else _new(self.root)
            found = self._found(text)
            kept = _kept(seen.path, found)
            wanted = kept | self.form(programs.server)
            return text if wanted == found else jsonc.with_value(text, self._place, wanted)

    def without_ours(self, seen: FileSnapshot, record: InstallRecord | None) -> str | None:
        """The settings without the server, and without what only held it."""
        if not self.has_ours(seen):
            return None if seen.raw is None else seen.text
        with reading(seen):
            keep = self._holders(FileSnapshot(seen.path, record.original if record else None).text)
            return jsonc.without_value(seen.text, self._place, keep=keep)

    def has_ours(self, seen: FileSnapshot) -> bool:
        """Whether the settings have our server."""
        with reading(seen):
            return is_ours(self._found(seen.text))

    @property
    def _place(self) -> tuple[str, ...]:
        return (*self.keys, NAME)

    def _found(self, text: str) -> Json:
        found = jsonc.at(jsonc.parse(text), self._place) if text.strip() else None
        return jsonc.plain(found.node) if found else None

    def _holders(self, text: str) -> frozenset[jsonc.Path]:
        """The objects on the way that were there before, so that they are kept when emptied."""
        if not text.strip():
            return frozenset()
        root = jsonc.parse(text)
        paths = (self.keys[:length] for length in range(1, len(self.keys) + 1))
        return frozenset(path for path in paths if jsonc.at(root, path))


@record
class ServerInToml:
    """The server as a table of Codex' configuration."""

    path: Path
    keys: tuple[str, ...] = ("mcp_servers",)
    part: InstallPart = InstallPart.SERVER

    def with_ours(self, seen: FileSnapshot, programs: Programs) -> str | None:
        """The configuration with the server as it is today, or without it."""
        if not programs.server:
            return _left_out(self, seen)
        with reading(seen, "TOML"):
            found = toml_tables.table(seen.text, self._place)
            kept = _kept(seen.path, found)
            ours = command_and_args(programs.server) | {"env_vars": list[Json](_PLACES)}
            wanted = ours | kept | command_and_args(programs.server)
            if wanted == found:
                return seen.text
            return toml_tables.with_table(seen.text, self._place, wanted)

    def without_ours(self, seen: FileSnapshot, record: InstallRecord | None) -> str | None:  # noqa: ARG002
        """The configuration without the server."""
        if not self.has_ours(seen):
            return None if seen.raw is None else seen.text
        with reading(seen, "TOML"):
            return toml_tables.without_table(seen.text, self._place)

    def has_ours(self, seen: FileSnapshot) -> bool:
        """Whether the configuration has our server."""
        with reading(seen, "TOML"):
            return is_ours(toml_tables.table(seen.text, self._place))

    @property
    def _place(self) -> tuple[str, ...]:
        return (*self.keys, NAME)


def command_and_args(server: Sequence[str]) -> Fields:
    """The form that most clients share."""
    program, *rest = server
    return {"command": program, "args": list[Json](rest)}


def stdio_server(server: Sequence[str]) -> Fields:
    """Claude Code's form."""
    return {"type": "stdio", **command_and_args(server)}


def local_command(server: Sequence[str]) -> Fields:
    """OpenCode's form."""
    return {"type": "local", "command": list[Json](server), "enabled": True}


def is_ours(entry: Json) -> bool:
    """Whether an entry starts Wellkept's server, of this installation or another."""
    if not isinstance(entry, dict):
        return False
    words: list[Json] = []
    for name in ("command", "args"):
        value = entry.get(name)
        words += value if isinstance(value, list) else [value]
    said = [word for word in words if isinstance(word, str)]
    return "mcp" in said and any("wellkept" in word.casefold() for word in said)


def _kept(path: Path, found: Json) -> Fields:
    """What stays of an entry that is there already: what a person added to ours."""
    if found is None:
        return {}
    if not is_ours(found) or not isinstance(found, dict):
        raise ConflictError(
            f"{path} has another MCP server called {NAME!r}.",
            hint="Give it another name, or leave ours out with --no-mcp.",
        )
    return found


def _left_out(target: ServerInJson | ServerInToml, seen: FileSnapshot) -> str | None:
    return target.without_ours(seen, None)


def _new(root: tuple[tuple[str, Json], ...]) -> str:
    text = "{}\n"
    for key, value in root:
        text = jsonc.with_value(text, (key,), value)
    return text
