"""What is put where: each client's files with the parts of Wellkept that go into them.

A table; the hooks always come first. Nothing here writes; `install` does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.clients import claude_code, codex, cursor, gemini, opencode
from wellkept.clients.hook_spec import ClientFolders, InstallPart, InstallScope, Programs, Shell
from wellkept.clients.install import slash_commands
from wellkept.clients.install.hook_entries import Handler, HookLayout
from wellkept.clients.install.hook_target import HookTarget
from wellkept.clients.install.mcp_entries import (
    ServerInJson,
    ServerInToml,
    command_and_args,
    local_command,
    stdio_server,
)
from wellkept.clients.install.slash_commands import command_files
from wellkept.clients.install.target import InstallTarget, OwnFile
from wellkept.core.errors import UsageError
from wellkept.core.records import record

# The hook ends by itself long before; this is for a machine that hangs.
_TIMEOUT_S: Final = 10
_SERVERS: Final = ("mcpServers",)
_RESTART: Final = "Sessions that are open now notice it when they are started again."


@record
class ClientFiles:
    """The targets of a client, and what the person must know or do after installing."""

    targets: Callable[[InstallScope, ClientFolders], list[InstallTarget]]
    notes: tuple[str, ...] = (_RESTART,)

    def main(self, scope: InstallScope, places: ClientFolders) -> Path:
        """The file that makes the client talk to Wellkept."""
        return self.targets(scope, places)[0].path


def files_of(client: str) -> ClientFiles:
    """The files of a client. UsageError when there is no such client."""
    found = CLIENTS.get(client)
    if found is None:
        raise UsageError(
            f"There is no client called {client!r}.", hint=f"Known: {', '.join(CLIENTS)}."
        )
    return found


def _in_seconds(command: str) -> Handler:
    return {"type": "command", "command": command, "timeout": _TIMEOUT_S}


def _in_milliseconds(command: str) -> Handler:
    timeout_ms = _TIMEOUT_S * 1000
    return {"name": "wellkept", "type": "command", "command": command, "timeout": timeout_ms}


def _bare(command: str) -> Handler:
    return {"command": command}


def claude_code_hooks(path: Path) -> HookTarget:
    """Claude Code's hooks in a file."""
    return HookTarget(path, HookLayout(claude_code.CLIENT, _in_seconds), claude_code.HOOKS)


def _claude_code(scope: InstallScope, places: ClientFolders) -> list[InstallTarget]:
    settings = claude_code.settings_file(scope, places)
    project = str(places.project)
    keys = _SERVERS if scope is InstallScope.USER else ("projects", project, *_SERVERS)
    form = slash_commands.claude_code_form
    return [
        claude_code_hooks(settings),
        ServerInJson(claude_code.servers_file(places), keys, stdio_server),
        *command_files(settings.parent / "commands", form, has_own_memory=True),
    ]


def _codex(scope: InstallScope, places: ClientFolders) -> list[InstallTarget]:
    hooks = codex.settings_file(scope, places)
    layout = HookLayout(codex.CLIENT, _in_seconds)
    return [
        HookTarget(hooks, layout, codex.HOOKS, Shell.CMD),
        ServerInToml(hooks.with_name("config.toml")),
    ]


def _gemini(scope: InstallScope, places: ClientFolders) -> list[InstallTarget]:
    settings = gemini.settings_file(scope, places)
    form, folder = slash_commands.gemini_form, settings.parent / "commands"
    return [
        HookTarget(
            settings, HookLayout(gemini.CLIENT, _in_milliseconds), gemini.HOOKS, Shell.POWERSHELL
        ),
        ServerInJson(settings, _SERVERS, command_and_args),
        *command_files(folder, form, ending=".toml", has_own_memory=True),
    ]


def _cursor(scope: InstallScope, places: ClientFolders) -> list[InstallTarget]:
    hooks = cursor.settings_file(scope, places)
    layout = HookLayout(cursor.CLIENT, _bare, grouped=False, root=(("version", 1),))
    return [
        HookTarget(hooks, layout, cursor.HOOKS, Shell.CMD),
        ServerInJson(hooks.with_name("mcp.json"), _SERVERS, command_and_args),
        *command_files(hooks.parent / "commands", slash_commands.cursor_form),
    ]


def _opencode(scope: InstallScope, places: ClientFolders) -> list[InstallTarget]:
    folder = opencode.config_folder(scope, places)
    mark = opencode.plugin_source().partition("\n")[0]
    plugin = folder / "plugins" / "wellkept.js"
    return [
        OwnFile(InstallPart.HOOKS, plugin, mark, _opencode_plugin),
        # It adds its schema to a file without one, which then would not be as we left it.
        ServerInJson(opencode.config_file(folder), ("mcp",), local_command, (opencode.SCHEMA,)),
        *command_files(folder / "commands", slash_commands.opencode_form),
    ]


def _opencode_plugin(programs: Programs) -> str:
    """The plugin with the command in place; it is started without a shell."""
    words = json.dumps(list(programs.hook), ensure_ascii=False)
    return opencode.plugin_source().replace(opencode.COMMAND_MARK, words)


CLIENTS: Final[Mapping[str, ClientFiles]] = MappingProxyType(
    {
        claude_code.CLIENT: ClientFiles(_claude_code),
        codex.CLIENT: ClientFiles(
            _codex,
            (
                "Codex skips hooks without a word until you trust them: start it once, look at"
                " its hooks and accept these.",
            ),
        ),
        gemini.CLIENT: ClientFiles(_gemini),
        cursor.CLIENT: ClientFiles(_cursor),
        opencode.CLIENT: ClientFiles(_opencode),
    }
)
