"""OpenCode: payloads of its plugin shim as events, and where the shim is installed.

OpenCode has no hook commands, only JavaScript plugins. The shim in `data/opencode.js` sends
payloads with Claude Code's field names. A sub-agent has its own session; the shim names the parent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.clients import claude_code
from wellkept.clients.hook_spec import ClientFolders, InstallScope
from wellkept.clients.payload_fields import Fields, integer, nested, optional, text
from wellkept.clients.tool_calls import (
    ToolResult,
    failed_result,
    result_text,
    tool_called,
    tool_kind,
)
from wellkept.core.session.events import Event, Origin, ToolKind

CLIENT: Final = "opencode"
COMMAND_MARK: Final = "__WELLKEPT_COMMAND__"
SCHEMA: Final = ("$schema", "https://opencode.ai/config.json")

_WRAPPED: Final = re.compile(r'"((?:[^"\\]|\\.)+)"', re.DOTALL)
_BUILT_IN: Final = frozenset(["plan_enter", "plan_exit"])


def config_folder(scope: InstallScope, folders: ClientFolders) -> Path:
    """The user's or a project's folder of plugins, commands and configuration."""
    if scope is InstallScope.PROJECT:
        return folders.project / ".opencode"
    return folders.from_variable("XDG_CONFIG_HOME", ".config") / "opencode"


def config_file(folder: Path) -> Path:
    """The configuration file in a folder: the one that names Wellkept, else an existing one."""
    known = [folder / "opencode.json", folder / "opencode.jsonc"]
    existing = [path for path in known if path.is_file()]
    return next(filter(_names_wellkept, existing), (existing or known)[0])


def _names_wellkept(path: Path) -> bool:
    try:
        return b"wellkept" in path.read_bytes()
    except OSError:
        return False


def plugin_source() -> str:
    """The shim's source; `COMMAND_MARK` in it is replaced by the hook command."""
    from importlib.resources import files

    return (files("wellkept.clients") / "data" / "opencode.js").read_text("utf-8")


def typed(prompt: str) -> str:
    """A prompt as it was typed: `opencode run` puts each of its words with a space in quotes."""
    whole = _WRAPPED.fullmatch(prompt.strip())
    return whole[1].replace('\\"', '"') if whole and " " in whole[1] else prompt


def _prompt_submitted(payload: Fields, origin: Origin) -> Event | None:
    return claude_code.prompt_submitted(
        {**payload, "prompt": typed(text(payload, "prompt"))}, origin
    )


def _tool_succeeded(payload: Fields, origin: Origin) -> Event | None:
    kind = tool_kind(text(payload, "tool_name"))
    if kind in (ToolKind.EDIT, ToolKind.WRITE):
        return _tool_called(payload, origin, ToolResult())
    code = integer(payload, "exit_code") if kind is ToolKind.SHELL else None
    output = result_text(payload.get("tool_response"))
    return _tool_called(payload, origin, ToolResult(output, f"Exit code {code}" if code else None))


def _tool_failed(payload: Fields, origin: Origin) -> Event | None:
    return _tool_called(payload, origin, failed_result(text(payload, "error")))


def _tool_called(payload: Fields, origin: Origin, answer: ToolResult) -> Event | None:
    name = text(payload, "tool_name")
    if not name:
        return None
    return tool_called(
        origin,
        name,
        nested(payload, "tool_input"),
        answer,
        call_id=optional(payload, "tool_use_id"),
        duration_ms=integer(payload, "duration_ms"),
        kind=_kind(name),
    )


def _kind(name: str) -> ToolKind:
    """MCP tools are named `server_tool`; nothing else marks them."""
    kind = tool_kind(name)
    is_mcp = kind is ToolKind.OTHER and "_" in name and name not in _BUILT_IN
    return ToolKind.MCP if is_mcp else kind


READERS: Final[Mapping[str, claude_code.Reader]] = MappingProxyType(
    {
        "SessionStart": claude_code.session_started,
        "UserPromptSubmit": _prompt_submitted,
        "PostToolUse": _tool_succeeded,
        "PostToolUseFailure": _tool_failed,
        "SubagentStart": claude_code.subagent_started,
        "SubagentStop": claude_code.subagent_ended,
        "PostCompact": claude_code.compacted,
        "Stop": claude_code.turn_ended,
        "SessionEnd": claude_code.session_ended,
    }
)
events = claude_code.translator(CLIENT, READERS)
