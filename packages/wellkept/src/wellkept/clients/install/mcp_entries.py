"""Wellkept's MCP server in a client's settings, and permission for its harmless tools.

An entry is ours by its name and its command. Fields a person added (a timeout, an environment) are
kept. Invariant: everything else in the file stays as it is; another server under our name is
refused, not replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from wellkept.clients.hook_spec import InstallPart, Programs
from wellkept.clients.install import jsonc, toml_tables
from wellkept.clients.install.files import FileSnapshot, InstallRecord, naming_file
from wellkept.clients.install.jsonc import Json
from wellkept.core.errors import ConflictError
from wellkept.core.records import record

NAME: Final = "wellkept"
Fields: TypeAlias = "dict[str, Json]"

# Codex passes on only variables that are listed. These locate Wellkept's files.
_FOLDER_VARIABLES: Final = (
    "WELLKEPT_HOME",
    "WELLKEPT_STORE_PATH",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
)


@record
class JsonServerEntry:
    """The server entry below `keys` of a JSON file; `root` holds members a new file must have."""

    path: Path
    keys: tuple[str, ...]
    entry_format: Callable[[Sequence[str]], Fields]
    root: tuple[tuple[str, Json], ...] = ()
    part: InstallPart = InstallPart.SERVER

    def with_wellkept(self, snapshot: FileSnapshot, programs: Programs) -> str | None:
        """The settings with the entry up to date, or without it when no server is to be started."""
        if not programs.server:
            return self.without_wellkept(snapshot, None)
        with naming_file(snapshot):
            text = snapshot.text if snapshot.text.strip() else _new(self.root)
            found = self._found(text)
            existing = _existing_fields(snapshot.path, found)
            wanted = existing | self.entry_format(programs.server)
            return text if wanted == found else jsonc.with_value(text, self._key_path, wanted)

    def without_wellkept(self, snapshot: FileSnapshot, record: InstallRecord | None) -> str | None:
        """The settings without the entry and the objects left empty by that."""
        if not self.has_wellkept(snapshot):
            return None if snapshot.raw is None else snapshot.text
        with naming_file(snapshot):
            keep = self._original_parents(
                FileSnapshot(snapshot.path, record.original if record else None).text
            )
            return jsonc.without_value(snapshot.text, self._key_path, keep=keep)

    def has_wellkept(self, snapshot: FileSnapshot) -> bool:
        """Whether the settings have our entry."""
        with naming_file(snapshot):
            return is_ours(self._found(snapshot.text))

    @property
    def _key_path(self) -> tuple[str, ...]:
        return (*self.keys, NAME)

    def _found(self, text: str) -> Json:
        found = jsonc.find(jsonc.parse(text), self._key_path) if text.strip() else None
        return jsonc.to_python(found.node) if found else None

    def _original_parents(self, text: str) -> frozenset[jsonc.Path]:
        """The parent objects in the original, which are kept when emptied."""
        if not text.strip():
            return frozenset()
        root = jsonc.parse(text)
        paths = (self.keys[:length] for length in range(1, len(self.keys) + 1))
        return frozenset(path for path in paths if jsonc.find(root, path))


@record
class TomlServerEntry:
    """The server entry as a table of Codex' configuration."""

    path: Path
    keys: tuple[str, ...] = ("mcp_servers",)
    part: InstallPart = InstallPart.SERVER

    def with_wellkept(self, snapshot: FileSnapshot, programs: Programs) -> str | None:
        """The configuration with the entry up to date, or without it."""
        if not programs.server:
            return self.without_wellkept(snapshot, None)
        with naming_file(snapshot, "TOML"):
            found = toml_tables.table(snapshot.text, self._key_path)
            existing = _existing_fields(snapshot.path, found)
            ours = command_and_args(programs.server) | {"env_vars": list[Json](_FOLDER_VARIABLES)}
            wanted = ours | existing | command_and_args(programs.server)
            if wanted == found:
                return snapshot.text
            return toml_tables.with_table(snapshot.text, self._key_path, wanted)

    def without_wellkept(self, snapshot: FileSnapshot, record: InstallRecord | None) -> str | None:  # noqa: ARG002
        """The configuration without the entry."""
        if not self.has_wellkept(snapshot):
            return None if snapshot.raw is None else snapshot.text
        with naming_file(snapshot, "TOML"):
            return toml_tables.without_table(snapshot.text, self._key_path)

    def has_wellkept(self, snapshot: FileSnapshot) -> bool:
        """Whether the configuration has our entry."""
        with naming_file(snapshot, "TOML"):
            return is_ours(toml_tables.table(snapshot.text, self._key_path))

    @property
    def _key_path(self) -> tuple[str, ...]:
        return (*self.keys, NAME)


def command_and_args(server: Sequence[str]) -> Fields:
    """The entry format of most clients."""
    program, *rest = server
    return {"command": program, "args": list[Json](rest)}


def stdio_server(server: Sequence[str]) -> Fields:
    """Claude Code's entry format."""
    return {"type": "stdio", **command_and_args(server)}


def local_server(server: Sequence[str]) -> Fields:
    """Copilot CLI's entry format; it offers only the tools that are listed."""
    return {"type": "local", **command_and_args(server), "tools": ["*"]}


def local_command(server: Sequence[str]) -> Fields:
    """OpenCode's entry format."""
    return {"type": "local", "command": list[Json](server), "enabled": True}


def is_ours(entry: Json) -> bool:
    """Whether an entry starts Wellkept's server, of this installation or another."""
    if not isinstance(entry, dict):
        return False
    words: list[Json] = []
    for name in ("command", "args"):
        value = entry.get(name)
        words += value if isinstance(value, list) else [value]
    texts = [word for word in words if isinstance(word, str)]
    return "mcp" in texts and any("wellkept" in text.casefold() for text in texts)


def _existing_fields(path: Path, found: Json) -> Fields:
    """The fields of our entry, with those a person added; empty when there is none."""
    if found is None:
        return {}
    if not is_ours(found) or not isinstance(found, dict):
        raise ConflictError(
            f"{path} has another MCP server named {NAME!r}.",
            hint="Rename it, or install with --no-mcp.",
        )
    return found


def _new(root: tuple[tuple[str, Json], ...]) -> str:
    text = "{}\n"
    for key, value in root:
        text = jsonc.with_value(text, (key,), value)
    return text


_KEYS: Final = ("permissions", "allow")


@record
class PermissionEntry:
    """Rules in the list of allowed tools of a JSON file."""

    path: Path
    rules: tuple[str, ...]
    part: InstallPart = InstallPart.PERMISSIONS

    def with_wellkept(self, snapshot: FileSnapshot, programs: Programs) -> str | None:
        """The settings with the rules, or without them when no server is to be started."""
        if not programs.server:
            return self.without_wellkept(snapshot, None)
        with naming_file(snapshot):
            text = snapshot.text if snapshot.text.strip() else "{}\n"
            known = _allowed(text)
            missing = [rule for rule in self.rules if rule not in known]
            return jsonc.with_value(text, _KEYS, [*known, *missing]) if missing else text

    def without_wellkept(self, snapshot: FileSnapshot, record: InstallRecord | None) -> str | None:
        """The settings without the rules and the objects left empty by that."""
        if not self.has_wellkept(snapshot):
            return None if snapshot.raw is None else snapshot.text
        with naming_file(snapshot):
            before = FileSnapshot(snapshot.path, record.original if record else None).text
            left = [rule for rule in _allowed(snapshot.text) if rule not in self.rules]
            had_list = bool(before.strip()) and jsonc.find(jsonc.parse(before), _KEYS) is not None
            if left or had_list:
                return jsonc.with_value(snapshot.text, _KEYS, left)
            root = jsonc.parse(before) if before.strip() else None
            had_parent = root is not None and jsonc.find(root, _KEYS[:1]) is not None
            keep = frozenset({_KEYS[:1]}) if had_parent else frozenset[jsonc.Path]()
            return jsonc.without_value(snapshot.text, _KEYS, keep=keep)

    def has_wellkept(self, snapshot: FileSnapshot) -> bool:
        """Whether all rules are there."""
        with naming_file(snapshot):
            return bool(snapshot.text.strip()) and set(self.rules) <= set(_allowed(snapshot.text))


def _allowed(text: str) -> list[jsonc.Json]:
    found = jsonc.find(jsonc.parse(text), _KEYS)
    value = jsonc.to_python(found.node) if found else None
    return list(value) if isinstance(value, list) else []
