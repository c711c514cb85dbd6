"""Why Wellkept in a client says or hears nothing although it is installed. Read only.

Each client fails in silence in its own way: a hook program that was moved, hooks that Codex was
never told to trust, tools that Claude Code may not call, the same hooks by plugin and by settings.
"""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import which
from typing import Final, cast

from wellkept.clients import claude_code, codex
from wellkept.clients.hook_spec import ClientFolders, InstallPart
from wellkept.clients.install.files import read_snapshot
from wellkept.clients.install.hook_entries import HookTarget, our_entries
from wellkept.clients.install.jsonc import ParseError
from wellkept.clients.install.plugins import PluginInstall
from wellkept.clients.install.target import InstallTarget

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
