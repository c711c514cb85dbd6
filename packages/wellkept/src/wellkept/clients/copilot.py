"""GitHub Copilot CLI: hook payloads as events, hooks to install, settings files.

Names are in camel case. A shell command that failed comes as a success whose text ends with its
exit code. An MCP tool is named `server-tool`. The end of a turn has no text of the agent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.clients import claude_code
from wellkept.clients.hook_spec import ClientFolders, Hook, HookMode, InstallScope
from wellkept.clients.payload_fields import Fields, nested, text
from wellkept.clients.tool_calls import (
    ToolResult,
    failed_result,
    file_written,
    result_text,
    tool_called,
    tool_kind,
    tool_starting,
)
from wellkept.core.session.events import Event, Origin, SessionStarted, ToolKind
from wellkept.core.session.injected_text import SERVER

CLIENT: Final = "copilot"
_CHANGING_TOOLS: Final = "edit|create|apply_patch"
HOOKS: Final = (
    Hook("sessionStart", HookMode.BOTH),
    Hook("userPromptSubmitted", HookMode.BOTH),
    # Failed commands come here too, with their exit code.
    Hook("postToolUse", HookMode.BOTH),
    Hook("postToolUseFailure", HookMode.BOTH),
    Hook("subagentStart"),
    Hook("subagentStop"),
    Hook("preCompact"),
    Hook("agentStop"),
    Hook("sessionEnd"),
)
# The sources of a session whose agent knows nothing yet, in the words of other clients.
_SOURCES: Final = {"new": "startup", "clear": "clear"}
_ENDED: Final = re.compile(r"\n?<shellId: [^<>\n]* completed with exit code (-?\d+)>\s*\Z")


def settings_file(scope: InstallScope, folders: ClientFolders) -> Path:
    """The user's settings, or the user's local settings in a project."""
    if scope is InstallScope.USER:
        return folders.from_variable("COPILOT_HOME", ".copilot") / "settings.json"
    return folders.project / ".github" / "copilot" / "settings.local.json"


def servers_file(scope: InstallScope, folders: ClientFolders) -> Path:
    """The file with MCP servers."""
    if scope is InstallScope.USER:
        return folders.from_variable("COPILOT_HOME", ".copilot") / "mcp-config.json"
    return folders.project / ".mcp.json"


def _session_started(payload: Fields, origin: Origin) -> Event:
    source = text(payload, "source") or "new"
    return SessionStarted(origin=origin, source=_SOURCES.get(source, source))


def _tool_is_starting(payload: Fields, origin: Origin) -> Event | None:
    name = _tool_name(payload)
    return tool_starting(origin, name, nested(payload, "toolArgs")) if name else None


def _tool_called(payload: Fields, origin: Origin) -> Event | None:
    name = _tool_name(payload)
    if not name:
        return None
    kind, answer = tool_kind(name), nested(payload, "toolResult")
    output = result_text(answer.get("textResultForLlm"))
    if text(answer, "resultType") not in ("", "success"):
        return _called(payload, origin, name, failed_result(output))
    if kind is ToolKind.SHELL:
        return _called(payload, origin, name, _shell_result(output))
    # The input of an edit has its changes; the result only confirms it.
    changes = kind in (ToolKind.EDIT, ToolKind.WRITE)
    return _called(payload, origin, name, ToolResult("" if changes else output))


def _tool_failed(payload: Fields, origin: Origin) -> Event | None:
    name = _tool_name(payload)
    return _called(payload, origin, name, failed_result(text(payload, "error"))) if name else None


def _called(payload: Fields, origin: Origin, name: str, result: ToolResult) -> Event:
    tool_input = nested(payload, "toolArgs")
    edits = file_written(tool_input, before="") if tool_kind(name) is ToolKind.WRITE else None
    return tool_called(origin, name, tool_input, result, edits=edits)


def _tool_name(payload: Fields) -> str:
    """The tool's name; one of our own server's in the form of other clients."""
    name = text(payload, "toolName")
    server, dash, tool = name.partition("-")
    return f"mcp__{server}__{tool}" if dash and server == SERVER else name


def _shell_result(report: str) -> ToolResult:
    ended = _ENDED.search(report)
    if ended is None:
        return ToolResult(report)
    output = report[: ended.start()]
    return ToolResult(output, None if ended[1] == "0" else f"Exit code {ended[1]}")


READERS: Final[Mapping[str, claude_code.Reader]] = MappingProxyType(
    {
        "sessionStart": _session_started,
        "userPromptSubmitted": claude_code.prompt_submitted,
        "preToolUse": _tool_is_starting,
        "postToolUse": _tool_called,
        "postToolUseFailure": _tool_failed,
        "subagentStart": claude_code.subagent_started,
        "subagentStop": claude_code.subagent_ended,
        "preCompact": claude_code.compacted,
        "agentStop": claude_code.turn_ended,
        "sessionEnd": claude_code.session_ended,
    }
)
events = claude_code.translator(
    CLIENT, READERS, session=("sessionId", "session_id"), agent=("agentId",)
)
