"""Why Wellkept in a client says or hears nothing although it is installed. Read only.

Also finds Wellkept as a client's own plugin, which the client keeps track of. Each client fails in
silence in its own way: a hook program that was moved, hooks that Codex was never told to trust,
tools that Claude Code may not call, the same hooks by plugin and by settings.
"""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import which
from types import MappingProxyType
from typing import Final, cast

from wellkept.clients import claude_code, codex
from wellkept.clients.hook_spec import ClientFolders, InstallPart, InstallScope
from wellkept.clients.install.files import InstallTarget, read_snapshot
from wellkept.clients.install.hook_entries import HookTarget, our_entries
from wellkept.clients.install.jsonc import ParseError
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


TOOL_RULES: Final = ("mcp__wellkept", "mcp__plugin_wellkept_wellkept")
"""How permission rules of Claude Code name the tools, by settings and by plugin."""


def problems(
    client: str,
    targets: Sequence[InstallTarget],
    parts: Sequence[InstallPart],
    *,
    plugin: PluginInstall | None,
    folders: ClientFolders,
) -> Iterator[str]:
    """What keeps an installed client from speaking or being heard, in words."""
    by_plugin = plugin is not None and plugin.enabled
    if by_plugin and InstallPart.HOOKS in parts:
        yield (
            "Both its plugin and its settings have Wellkept, so everything is told twice; run"
            f" `wellkept uninstall {client}` or remove the plugin."
        )
    if InstallPart.HOOKS in parts:
        hooks = next(one for one in targets if one.part is InstallPart.HOOKS)
        if isinstance(hooks, HookTarget):
            yield from _missing_programs(client, hooks, folders)
        if client == codex.CLIENT and not _is_trusted(hooks.path):
            yield "Codex skips hooks that you have not trusted: start it once and accept them."
    if client == claude_code.CLIENT and (by_plugin or InstallPart.SERVER in parts):
        yield from _tools_without_permission(folders)


def _missing_programs(client: str, hooks: HookTarget, folders: ClientFolders) -> Iterator[str]:
    try:
        entries = our_entries(read_snapshot(hooks.path).text, hooks.layout)
    except ParseError:
        return
    lines = {line for _, entry in entries for line in _commands(entry)}
    words = [shlex.split(line) for line in sorted(lines)] if os.name == "posix" else []
    programs = {one[0] for one in words if one}
    files = {word for one in words for word in one if word.endswith("hook.py")}
    path = folders.environment.get("PATH", "")
    gone = [one for one in programs if which(one, path=path) is None]
    gone += [one for one in files if not Path(one).is_file()]
    if gone:
        yield f"Its hooks start {gone[0]}, which is gone; run `wellkept install {client}` again."


def _commands(entry: Mapping[str, object]) -> list[str]:
    inner = cast("list[dict[str, object]]", entry.get("hooks") or [entry])
    return [str(one["command"]) for one in inner if "command" in one]


def _is_trusted(hooks: Path) -> bool:
    """Whether Codex has noted a hash for a hook of this file."""
    try:
        read = tomllib.loads(hooks.with_name("config.toml").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    state = cast("dict[str, object]", read.get("hooks", {})).get("state", {})
    known = cast("dict[str, dict[str, object]]", state)
    return any(key.startswith(f"{hooks}:") and "trusted_hash" in one for key, one in known.items())


def _tools_without_permission(folders: ClientFolders) -> Iterator[str]:
    """Without a rule Claude Code asks a person at every call, and refuses where nobody is."""
    from wellkept.clients.hook_spec import InstallScope

    user = claude_code.settings_file(InstallScope.USER, folders)
    local = claude_code.settings_file(InstallScope.PROJECT, folders)
    for file in (user, local.with_name("settings.json"), local):
        if any(str(rule).startswith(TOOL_RULES) for rule in _allowed(file)):
            return
    yield (
        "It may not call the memory tools without asking; to allow that, add"
        f' "{TOOL_RULES[0]}" to permissions.allow in {user}.'
    )


def _allowed(file: Path) -> list[object]:
    try:
        read = json.loads(file.read_bytes())
        return list(read["permissions"]["allow"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
