"""Wellkept as a client's own plugin or extension, which the client keeps track of itself.

Read only. Claude Code notes plugins in its settings (`enabledPlugins`) and in `plugins/`, Gemini
CLI and Qwen Code keep a folder for each extension, Codex has a table for each plugin. A file that
cannot be read says nothing.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast

from wellkept.clients import claude_code, codex
from wellkept.clients.hook_spec import ClientFolders, InstallScope
from wellkept.core.records import record

NAME: Final = "wellkept"


@record
class PluginInstall:
    """Wellkept as a plugin; `path` is its folder where the client tells it."""

    name: str
    enabled: bool
    path: Path


def installed_plugin(
    client: str, *, scope: InstallScope, folders: ClientFolders
) -> PluginInstall | None:
    """Wellkept as a plugin of a client; None when it is none."""
    find = _FINDERS.get(client)
    return find(scope, folders) if find else None


def _claude_code(scope: InstallScope, folders: ClientFolders) -> PluginInstall | None:
    user_settings = claude_code.settings_file(InstallScope.USER, folders)
    local = claude_code.settings_file(scope, folders)
    # A project's plugins are also noted in the file that the team shares.
    files = [local] if scope is InstallScope.USER else [local.with_name("settings.json"), local]
    noted: dict[str, bool] = {}
    for file in files:
        enabled = _object(_json(file).get("enabledPlugins"))
        noted |= {name: bool(value) for name, value in enabled.items() if _is_ours(name)}
    if not noted:
        return None
    name = max(noted, key=lambda one: noted[one])
    known = user_settings.with_name("plugins")
    places = _json(known / "installed_plugins.json").get("plugins")
    rows = [_object(one) for one in _list(_object(places).get(name))]
    path = next((str(row["installPath"]) for row in rows if "installPath" in row), str(known))
    return PluginInstall(name, noted[name], Path(path))


def _extension(folder_name: str) -> Callable[[InstallScope, ClientFolders], PluginInstall | None]:
    """Gemini CLI and its forks: a folder below `extensions`, switched off by a list of folders."""

    def find(scope: InstallScope, folders: ClientFolders) -> PluginInstall | None:
        home = folders.home if scope is InstallScope.USER else folders.project
        extensions = home / folder_name / "extensions"
        if not (extensions / NAME).is_dir():
            return None
        switches = _object(_json(extensions / "extension-enablement.json").get(NAME))
        rules = _list(switches.get("overrides"))
        enabled = not any(str(rule).startswith("!") for rule in rules[-1:])
        return PluginInstall(NAME, enabled, extensions / NAME)

    return find


def _codex(scope: InstallScope, folders: ClientFolders) -> PluginInstall | None:
    config = codex.settings_file(scope, folders).with_name("config.toml")
    try:
        read = cast("dict[str, object]", tomllib.loads(config.read_text("utf-8")))
    except (OSError, ValueError):
        return None
    for name, value in _object(read.get("plugins")).items():
        if _is_ours(name):
            return PluginInstall(name, _object(value).get("enabled") is not False, config)
    return None


def _is_ours(name: str) -> bool:
    return name.partition("@")[0] == NAME


def _json(path: Path) -> Mapping[str, object]:
    try:
        return _object(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _object(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


_FINDERS: Final[Mapping[str, Callable[[InstallScope, ClientFolders], PluginInstall | None]]] = (
    MappingProxyType(
        {
            "claude-code": _claude_code,
            "codex": _codex,
            "gemini": _extension(".gemini"),
            "qwen": _extension(".qwen"),
        }
    )
)
