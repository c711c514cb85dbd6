"""Each client's files and the parts of Wellkept that go into them.

A table; hooks come first. Nothing here writes; `installer` does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast

from wellkept.clients import claude_code, codex, copilot, cursor, gemini, opencode, qwen
from wellkept.clients.hook_spec import ClientFolders, InstallPart, InstallScope, Programs, Shell
from wellkept.clients.install import slash_commands
from wellkept.clients.install.files import InstallTarget, WholeFile
from wellkept.clients.install.hook_entries import Handler, HookLayout, HookTarget
from wellkept.clients.install.mcp_entries import (
    JsonServerEntry,
    PermissionEntry,
    TomlServerEntry,
    command_and_args,
    local_command,
    local_server,
    stdio_server,
)
from wellkept.clients.install.slash_commands import command_files
from wellkept.clients.known import KNOWN, KnownClient
from wellkept.core.errors import UsageError
from wellkept.core.records import record

# The hook limits itself to less; this is for a machine that hangs.
_TIMEOUT_S: Final = 10
_SERVERS: Final = ("mcpServers",)
_GRANTED: Final = tuple(
    f"mcp__wellkept__{tool}"
    for tool in (
        "memory_recall",
        "memory_list",
        "memory_show",
        "memory_context",
        "memory_remember",
        "graph_search",
        "skill_search",
    )
)
"""What reads and what remembers; what forgets or runs is asked for as ever."""
_RULE_MARK: Final = "When to use Wellkept's memory of this project"


_Targets = Callable[[InstallScope, ClientFolders], list[InstallTarget]]


@record
class ClientFiles:
    """A client's files, and what its record says of installing."""

    name: str
    known: KnownClient

    def targets(self, scope: InstallScope, folders: ClientFolders) -> list[InstallTarget]:
        """The parts of files to change; hooks come first."""
        module, _, function = self.known.install.partition(":")
        make = cast("_Targets", getattr(import_module(module), function))
        return make(scope, folders)

    def main(self, scope: InstallScope, folders: ClientFolders) -> Path:
        """The file with the hooks."""
        return self.targets(scope, folders)[0].path

    @property
    def notes(self) -> tuple[str, ...]:
        """What to show after installing."""
        return self.known.notes

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of its command line program, by which it is noticed."""
        return self.known.programs


def client_files(client: str) -> ClientFiles:
    """The files of a client. UsageError when there is no such client."""
    found = CLIENTS.get(client)
    if found is None:
        raise UsageError(f"Unknown client {client!r}.", hint=f"Known: {', '.join(CLIENTS)}.")
    return found


def _in_seconds(command: str) -> Handler:
    return {"type": "command", "command": command, "timeout": _TIMEOUT_S}


def _in_milliseconds(command: str) -> Handler:
    timeout_ms = _TIMEOUT_S * 1000
    return {"name": "wellkept", "type": "command", "command": command, "timeout": timeout_ms}


def _in_timeout_sec(command: str) -> Handler:
    return {"type": "command", "command": command, "timeoutSec": _TIMEOUT_S}


def _bare(command: str) -> Handler:
    return {"command": command}


def claude_code_hooks(path: Path) -> HookTarget:
    """Claude Code's hooks in a file."""
    return HookTarget(path, HookLayout(claude_code.CLIENT, _in_seconds), claude_code.HOOKS)


def claude_code_targets(scope: InstallScope, folders: ClientFolders) -> list[InstallTarget]:
    settings = claude_code.settings_file(scope, folders)
    project = str(folders.project)
    keys = _SERVERS if scope is InstallScope.USER else ("projects", project, *_SERVERS)
    form = slash_commands.claude_code_format
    return [
        claude_code_hooks(settings),
        JsonServerEntry(claude_code.servers_file(folders), keys, stdio_server),
        PermissionEntry(settings, _GRANTED),
        *command_files(settings.parent / "commands", form, has_memory_command=True),
    ]


def codex_targets(scope: InstallScope, folders: ClientFolders) -> list[InstallTarget]:
    hooks = codex.settings_file(scope, folders)
    layout = HookLayout(codex.CLIENT, _in_seconds)
    return [
        HookTarget(hooks, layout, codex.HOOKS, Shell.CMD),
        TomlServerEntry(hooks.with_name("config.toml")),
    ]


def gemini_targets(scope: InstallScope, folders: ClientFolders) -> list[InstallTarget]:
    settings = gemini.settings_file(scope, folders)
    form, folder = slash_commands.gemini_format, settings.parent / "commands"
    return [
        HookTarget(
            settings, HookLayout(gemini.CLIENT, _in_milliseconds), gemini.HOOKS, Shell.POWERSHELL
        ),
        JsonServerEntry(settings, _SERVERS, command_and_args),
        *command_files(folder, form, ending=".toml", has_memory_command=True),
    ]


def cursor_targets(scope: InstallScope, folders: ClientFolders) -> list[InstallTarget]:
    hooks = cursor.settings_file(scope, folders)
    layout = HookLayout(cursor.CLIENT, _bare, grouped=False, root=(("version", 1),))
    return [
        HookTarget(hooks, layout, cursor.HOOKS, Shell.CMD),
        JsonServerEntry(hooks.with_name("mcp.json"), _SERVERS, command_and_args),
        *command_files(hooks.parent / "commands", slash_commands.cursor_format),
    ]


def opencode_targets(scope: InstallScope, folders: ClientFolders) -> list[InstallTarget]:
    folder = opencode.config_folder(scope, folders)
    mark = opencode.plugin_source().partition("\n")[0]
    plugin = folder / "plugins" / "wellkept.js"
    return [
        WholeFile(InstallPart.HOOKS, plugin, mark, _opencode_plugin),
        # OpenCode adds its schema to a file without one, which would look like an edit.
        JsonServerEntry(opencode.config_file(folder), ("mcp",), local_command, (opencode.SCHEMA,)),
        *command_files(folder / "commands", slash_commands.opencode_format),
    ]


def qwen_targets(scope: InstallScope, folders: ClientFolders) -> list[InstallTarget]:
    settings = qwen.settings_file(scope, folders)
    form, folder = slash_commands.qwen_format, settings.parent / "commands"
    return [
        HookTarget(settings, HookLayout(qwen.CLIENT, _in_seconds), qwen.HOOKS, Shell.POWERSHELL),
        JsonServerEntry(settings, _SERVERS, command_and_args),
        *command_files(folder, form, has_memory_command=True),
    ]


def copilot_targets(scope: InstallScope, folders: ClientFolders) -> list[InstallTarget]:
    settings = copilot.settings_file(scope, folders)
    layout = HookLayout(copilot.CLIENT, _in_timeout_sec, grouped=False)
    return [
        HookTarget(settings, layout, copilot.HOOKS, Shell.POWERSHELL),
        JsonServerEntry(copilot.servers_file(scope, folders), _SERVERS, local_server),
    ]


def amp_targets(scope: InstallScope, folders: ClientFolders) -> list[InstallTarget]:
    """By documentation: no hooks but plugins in TypeScript, so only the MCP server."""
    home = folders.home / ".config" / "amp" if _is_user(scope) else folders.project / ".amp"
    return [JsonServerEntry(home / "settings.json", ("amp.mcpServers",), command_and_args)]


def crush_targets(scope: InstallScope, folders: ClientFolders) -> list[InstallTarget]:
    """By documentation: one hook, before tools, which could only delay them."""
    config = folders.from_variable("XDG_CONFIG_HOME", ".config") / "crush" / "crush.json"
    path = config if _is_user(scope) else folders.project / ".crush.json"
    return [JsonServerEntry(path, ("mcp",), stdio_server)]


def windsurf_targets(scope: InstallScope, folders: ClientFolders) -> list[InstallTarget]:
    """By documentation: no hook can give context. A project gets a rule on using the server."""
    if _is_user(scope):
        path = folders.home / ".codeium" / "windsurf" / "mcp_config.json"
        return [JsonServerEntry(path, _SERVERS, command_and_args)]
    rule = folders.project / ".windsurf" / "rules" / "wellkept.md"
    return [WholeFile(InstallPart.RULES, rule, _RULE_MARK, _windsurf_rule)]


def _windsurf_rule(programs: Programs) -> str:
    """When to use the memory, always in the model's context."""
    skill = (files("wellkept.clients") / "data" / "skill" / "SKILL.md").read_text("utf-8")
    body = skill.partition("---\n")[2].partition("---\n")[2]
    program = slash_commands.program_line(programs.wellkept or ("wellkept",))
    text = body.replace(slash_commands.PROGRAM_MARK, program)
    return f"---\ntrigger: always_on\ndescription: {_RULE_MARK}\n---\n{text}"


def _is_user(scope: InstallScope) -> bool:
    return scope is InstallScope.USER


def _opencode_plugin(programs: Programs) -> str:
    """The plugin with the hook command filled in; it is started without a shell."""
    words = json.dumps(list(programs.hook), ensure_ascii=False)
    return opencode.plugin_source().replace(opencode.COMMAND_MARK, words)


CLIENTS: Final[Mapping[str, ClientFiles]] = MappingProxyType(
    {name: ClientFiles(name, one) for name, one in KNOWN.items() if one.install}
)
