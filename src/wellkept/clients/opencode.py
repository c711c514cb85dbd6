"""OpenCode: what its plugin shim sends as events, and where an installer puts the shim.

OpenCode has no hook commands, only JavaScript plugins. The shim in `data/opencode.js` tells what
its callbacks see in Claude Code's words (session_id, tool_name, tool_input, …), so that little is
left to do here. A sub-agent has a session of its own there; the shim names the session above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.clients import claude_code
from wellkept.clients.hook_spec import ClientFolders, InstallScope
from wellkept.clients.payload_fields import Fields, inner, optional, text, whole
from wellkept.clients.tool_calls import ToolResult, answer_text, failed_shell, kind_of, tool_called
from wellkept.core.events import Event, Origin, ToolKind

CLIENT: Final = "opencode"
COMMAND_MARK: Final = "__WELLKEPT_COMMAND__"
SCHEMA: Final = ("$schema", "https://opencode.ai/config.json")

_BUILT_IN: Final = frozenset(["plan_enter", "plan_exit"])


def config_folder(scope: InstallScope, places: ClientFolders) -> Path:
    """Where plugins, commands and configuration of the person or of a project lie."""
    if scope is InstallScope.PROJECT:
        return places.project / ".opencode"
    return places.from_variable("XDG_CONFIG_HOME", ".config") / "opencode"


def config_file(folder: Path) -> Path:
    """The configuration in a folder: the one that has us, else the one that is there."""
    known = [folder / "opencode.json", folder / "opencode.jsonc"]
    there = [path for path in known if path.is_file()]
    return next(filter(_names_us, there), (there or known)[0])


def _names_us(path: Path) -> bool:
    try:
        return b"wellkept" in path.read_bytes()
    except OSError:
        return False


def plugin_source() -> str:
    """The shim's text; `COMMAND_MARK` in it stands for the hook command."""
    from importlib.resources import files

    return (files("wellkept.clients") / "data" / "opencode.js").read_text("utf-8")


def events(
    event_name: str, payload: Mapping[str, object], *, event_id: str, at: datetime
) -> list[Event]:
    """What a payload tells; at most one event."""
    origin = claude_code.origin(CLIENT, payload, event_id=event_id, at=at)
    return claude_code.read(READERS, event_name, payload, origin)


def _tool_succeeded(payload: Fields, origin: Origin) -> Event | None:
    kind = kind_of(text(payload, "tool_name"))
    if kind in (ToolKind.EDIT, ToolKind.WRITE):
        return _tool_called(payload, origin, ToolResult())
    code = whole(payload, "exit_code") if kind is ToolKind.SHELL else None
    output = answer_text(payload.get("tool_response"))
    return _tool_called(payload, origin, ToolResult(output, f"Exit code {code}" if code else None))


def _tool_failed(payload: Fields, origin: Origin) -> Event | None:
    return _tool_called(payload, origin, failed_shell(text(payload, "error")))


def _tool_called(payload: Fields, origin: Origin, answer: ToolResult) -> Event | None:
    name = text(payload, "tool_name")
    if not name:
        return None
    return tool_called(
        origin,
        name,
        inner(payload, "tool_input"),
        answer,
        call_id=optional(payload, "tool_use_id"),
        duration_ms=whole(payload, "duration_ms"),
        kind=_kind(name),
    )


def _kind(name: str) -> ToolKind:
    """MCP tools are named `server_tool`, by nothing else told apart from the client's own."""
    kind = kind_of(name)
    outside = kind is ToolKind.OTHER and "_" in name and name not in _BUILT_IN
    return ToolKind.MCP if outside else kind


READERS: Final[Mapping[str, claude_code.Reader]] = MappingProxyType(
    {
        "SessionStart": claude_code.session_started,
        "UserPromptSubmit": claude_code.prompt_submitted,
        "PostToolUse": _tool_succeeded,
        "PostToolUseFailure": _tool_failed,
        "SubagentStart": claude_code.subagent_started,
        "SubagentStop": claude_code.subagent_ended,
        "PostCompact": claude_code.compacted,
        "Stop": claude_code.turn_ended,
        "SessionEnd": claude_code.session_ended,
    }
)
