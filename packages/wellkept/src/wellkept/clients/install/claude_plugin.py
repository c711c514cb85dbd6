"""Write a plugin folder for Claude Code: hooks, MCP server, skill and commands.

The folder holds this machine's paths, so it is not to be shared. It replaces hooks in the settings:
with both, every event would be captured twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Final

from wellkept.clients.hook_spec import Programs
from wellkept.clients.install import jsonc
from wellkept.clients.install.client_files import claude_code_hooks
from wellkept.clients.install.files import read_snapshot, write_file
from wellkept.clients.install.hook_entries import Handler
from wellkept.clients.install.jsonc import Json, ParseError
from wellkept.clients.install.mcp_entries import command_and_args
from wellkept.clients.install.slash_commands import (
    COMMANDS,
    PROGRAM_MARK,
    claude_code_format,
    program_line,
)
from wellkept.core.errors import ConflictError

NAME: Final = "wellkept"
_MANIFEST: Final = ".claude-plugin/plugin.json"
_SKILL: Final = "project-memory"


def write_plugin(folder: Path, *, programs: Programs, version: str) -> list[Path]:
    """Write or update the plugin; returns its files.

    ConflictError when the folder holds something else.
    """
    if folder.exists() and not _is_ours(folder):
        raise ConflictError(
            f"{folder} exists and is not Wellkept's plugin.", hint="Use another folder."
        )
    written: list[Path] = []
    for name, text in plugin_files(programs, version=version):
        path = folder / name
        write_file(read_snapshot(path), text.encode("utf-8"))
        written.append(path)
    return written


def _is_ours(folder: Path) -> bool:
    if folder.is_dir() and not any(folder.iterdir()):
        return True
    try:
        manifest = jsonc.to_python(jsonc.parse(read_snapshot(folder / _MANIFEST).text))
    except ParseError:
        return False
    return isinstance(manifest, dict) and manifest.get("name") == NAME


def plugin_files(programs: Programs, *, version: str) -> Iterator[tuple[str, str]]:
    """The plugin's files as (relative path, text); the manifest last, as the sign of completion."""
    data = files("wellkept.clients") / "data"
    program = program_line(programs.wellkept)
    manifest: dict[str, Json] = json.loads((data / "claude_plugin/plugin.json").read_text("utf-8"))
    yield "hooks/hooks.json", _to_json({"hooks": _hooks(programs)})
    # An empty object removes the server of an earlier version.
    server: Json = {NAME: command_and_args(programs.server)} if programs.server else {}
    yield ".mcp.json", _to_json({"mcpServers": server})
    for command in COMMANDS:
        yield f"commands/{command.name}.md", claude_code_format(command, program)
    skill = (data / "skill/SKILL.md").read_text("utf-8")
    yield f"skills/{_SKILL}/SKILL.md", skill.replace(PROGRAM_MARK, program)
    yield "README.md", (data / "claude_plugin/README.md").read_text("utf-8")
    description = manifest["description"]
    listed: dict[str, Json] = {"name": NAME, "source": "./", "description": description}
    market: dict[str, Json] = {
        "name": NAME,
        "description": description,
        "owner": {"name": "Wellkept"},
        "plugins": [listed],
    }
    yield ".claude-plugin/marketplace.json", _to_json(market)
    yield _MANIFEST, _to_json(manifest | {"version": version})


def _hooks(programs: Programs) -> dict[str, Json]:
    by_event: dict[str, list[Handler]] = {}
    hooks = claude_code_hooks(Path("hooks.json"))
    for event, entry in hooks.entries(programs):
        by_event.setdefault(event, []).append(entry)
    return {event: list[Json](entries) for event, entries in by_event.items()}


def _to_json(value: Json) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
