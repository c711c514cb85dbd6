"""Cursor: hook payloads as events, hooks to install, settings files.

Written from the documented contract, not from payloads of a running Cursor. File edits are reported
twice, by `postToolUse` and with their text by `afterFileEdit`; the second is used. A turn ends with
the agent's response; `stop` is used only when there was none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.clients import claude_code
from wellkept.clients.hook_spec import ClientFolders, Hook, HookMode, InstallScope
from wellkept.clients.payload_fields import Fields, as_fields, integer, nested, optional, text
from wellkept.clients.tool_calls import (
    ToolResult,
    failed_result,
    result_text,
    tool_called,
    tool_kind,
)
from wellkept.core.session.events import Event, Origin, ToolKind, TurnEnded
from wellkept.core.session.injected_text import without_injected

CLIENT: Final = "cursor"
HOOKS: Final = (
    Hook("sessionStart", HookMode.BOTH),
    Hook("beforeSubmitPrompt"),
    Hook("postToolUse"),
    # Failed commands come here too, with their exit code.
    Hook("postToolUse", HookMode.ANSWER, matcher="Read|Shell"),
    Hook("postToolUseFailure"),
    Hook("afterFileEdit"),
    Hook("afterAgentResponse"),
    Hook("subagentStart"),
    Hook("subagentStop"),
    Hook("preCompact"),
    Hook("stop"),
    Hook("sessionEnd"),
)


def settings_file(scope: InstallScope, folders: ClientFolders) -> Path:
    """The user's or a project's hooks file."""
    home = folders.home if scope is InstallScope.USER else folders.project
    return home / ".cursor" / "hooks.json"


def _tool_called(payload: Fields, origin: Origin) -> Event | None:
    name = text(payload, "tool_name")
    kind = tool_kind(name)
    if not name or kind in (ToolKind.EDIT, ToolKind.WRITE):
        return None
    return _called(payload, origin, name, _result(payload.get("tool_output"), kind))


def _tool_failed(payload: Fields, origin: Origin) -> Event | None:
    name = text(payload, "tool_name")
    result = failed_result(text(payload, "error_message", "error"))
    return _called(payload, origin, name, result) if name else None


def _called(payload: Fields, origin: Origin, name: str, result: ToolResult) -> Event:
    return tool_called(
        origin,
        name,
        nested(payload, "tool_input"),
        result,
        call_id=optional(payload, "tool_use_id"),
        duration_ms=integer(payload, "duration", "duration_ms"),
    )


def _result(response: object, kind: ToolKind) -> ToolResult:
    """Output and error; the output comes as JSON text."""
    fields = as_fields(response)
    output = result_text(fields) if fields else result_text(response)
    code = integer(fields, "exitCode", "exit_code")
    if kind is ToolKind.SHELL and code:
        return ToolResult(output, f"Exit code {code}")
    return ToolResult(output)


def _file_edited(payload: Fields, origin: Origin) -> Event | None:
    tool_input = {name: payload.get(name) for name in ("file_path", "edits")}
    if not text(tool_input, "file_path"):
        return None
    return tool_called(origin, "Edit", tool_input, ToolResult())


def _turn_ended(payload: Fields, origin: Origin) -> Event | None:
    last = without_injected(text(payload, "text"))
    return TurnEnded(origin=origin, last_message=last) if last else None


def _stopped(payload: Fields, origin: Origin) -> Event | None:
    return None if text(payload, "status") == "completed" else TurnEnded(origin=origin)


READERS: Final[Mapping[str, claude_code.Reader]] = MappingProxyType(
    {
        "sessionStart": claude_code.session_started,
        "beforeSubmitPrompt": claude_code.prompt_submitted,
        "postToolUse": _tool_called,
        "postToolUseFailure": _tool_failed,
        "afterFileEdit": _file_edited,
        "afterAgentResponse": _turn_ended,
        "subagentStart": claude_code.subagent_started,
        "subagentStop": claude_code.subagent_ended,
        "preCompact": claude_code.compacted,
        "stop": _stopped,
        "sessionEnd": claude_code.session_ended,
    }
)
events = claude_code.translator(
    CLIENT, READERS, session=("conversation_id", "session_id"), agent=("subagent_id", "agent_id")
)
