"""Cursor: its hook payloads as events, and what an installer writes for it.

Written from the documented contract; no payload of a running Cursor was at hand. File edits are
told twice, by `postToolUse` and with their text by `afterFileEdit`: the second one counts. A turn
ends with the agent's response; `stop` counts only when there was none.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.clients import claude_code
from wellkept.clients.hook_spec import ClientFolders, Hook, HookMode, InstallScope
from wellkept.clients.injected_text import without_own
from wellkept.clients.payload_fields import Fields, as_fields, inner, optional, text, texts, whole
from wellkept.clients.tool_calls import ToolResult, answer_text, failed_shell, kind_of, tool_called
from wellkept.core.events import (
    Compacted,
    Event,
    Origin,
    SessionStarted,
    SubagentEnded,
    SubagentStarted,
    ToolKind,
    TurnEnded,
)

CLIENT: Final = "cursor"
HOOKS: Final = (
    Hook("sessionStart", HookMode.BOTH),
    Hook("beforeSubmitPrompt"),
    Hook("postToolUse"),
    # A command that failed is told here too, with its exit code.
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


def settings_file(scope: InstallScope, places: ClientFolders) -> Path:
    """The hooks file of the person or of a project."""
    home = places.home if scope is InstallScope.USER else places.project
    return home / ".cursor" / "hooks.json"


def events(
    event_name: str, payload: Mapping[str, object], *, event_id: str, at: datetime
) -> list[Event]:
    """What a payload tells; at most one event."""
    origin = _origin(payload, event_id=event_id, at=at)
    return claude_code.read(READERS, event_name, payload, origin)


def _origin(payload: Fields, *, event_id: str, at: datetime) -> Origin | None:
    session_id = text(payload, "conversation_id", "session_id")
    if not session_id:
        return None
    roots = texts(payload, "workspace_roots")
    return Origin(
        event_id=event_id,
        client=CLIENT,
        session_id=session_id,
        at=at,
        cwd=optional(payload, "cwd") or (roots[0] if roots else None),
        agent=optional(payload, "subagent_id", "agent_id"),
    )


def _session_started(payload: Fields, origin: Origin) -> Event:
    return SessionStarted(origin=origin, model=optional(payload, "model"))


def _tool_called(payload: Fields, origin: Origin) -> Event | None:
    name = text(payload, "tool_name")
    kind = kind_of(name)
    if not name or kind in (ToolKind.EDIT, ToolKind.WRITE):
        return None
    return _called(payload, origin, name, _answer(payload.get("tool_output"), kind))


def _tool_failed(payload: Fields, origin: Origin) -> Event | None:
    name = text(payload, "tool_name")
    answer = failed_shell(text(payload, "error_message", "error"))
    return _called(payload, origin, name, answer) if name else None


def _called(payload: Fields, origin: Origin, name: str, answer: ToolResult) -> Event:
    return tool_called(
        origin,
        name,
        inner(payload, "tool_input"),
        answer,
        call_id=optional(payload, "tool_use_id"),
        duration_ms=whole(payload, "duration", "duration_ms"),
    )


def _answer(response: object, kind: ToolKind) -> ToolResult:
    """The output, which comes as JSON text."""
    fields = as_fields(response)
    output = answer_text(fields) if fields else answer_text(response)
    code = whole(fields, "exitCode", "exit_code")
    if kind is ToolKind.SHELL and code:
        return ToolResult(output, f"Exit code {code}")
    return ToolResult(output)


def _file_edited(payload: Fields, origin: Origin) -> Event | None:
    given = {name: payload.get(name) for name in ("file_path", "edits")}
    if not text(given, "file_path"):
        return None
    return tool_called(origin, "Edit", given, ToolResult())


def _turn_ended(payload: Fields, origin: Origin) -> Event | None:
    last = without_own(text(payload, "text"))
    return TurnEnded(origin=origin, last_message=last) if last else None


def _stopped(payload: Fields, origin: Origin) -> Event | None:
    return None if text(payload, "status") == "completed" else TurnEnded(origin=origin)


def _subagent_started(payload: Fields, origin: Origin) -> Event | None:
    agent_type = text(payload, "subagent_type", "agent_type")
    return SubagentStarted(origin=origin, agent_type=agent_type) if agent_type else None


def _subagent_ended(payload: Fields, origin: Origin) -> Event | None:
    agent_type = text(payload, "subagent_type", "agent_type")
    if not agent_type:
        return None
    last = without_own(text(payload, "summary", "result"))
    return SubagentEnded(origin=origin, agent_type=agent_type, last_message=last or None)


def _compacted(payload: Fields, origin: Origin) -> Event:
    return Compacted(origin=origin, trigger=text(payload, "trigger") or "auto")


READERS: Final[Mapping[str, claude_code.Reader]] = MappingProxyType(
    {
        "sessionStart": _session_started,
        "beforeSubmitPrompt": claude_code.prompt_submitted,
        "postToolUse": _tool_called,
        "postToolUseFailure": _tool_failed,
        "afterFileEdit": _file_edited,
        "afterAgentResponse": _turn_ended,
        "subagentStart": _subagent_started,
        "subagentStop": _subagent_ended,
        "preCompact": _compacted,
        "stop": _stopped,
        "sessionEnd": claude_code.session_ended,
    }
)
