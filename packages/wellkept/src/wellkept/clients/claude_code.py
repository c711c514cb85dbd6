"""Claude Code: hook payloads as events, hooks to install, settings files.

Other clients use the same protocol with small differences, or the same fields under other names,
and build on this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from wellkept.clients.hook_spec import ClientFolders, Hook, HookMode, InstallScope
from wellkept.clients.payload_fields import (
    Fields,
    as_fields,
    integer,
    nested,
    optional,
    text,
    texts,
)
from wellkept.core.session.events import (
    Compacted,
    Edit,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentEnded,
    SubagentStarted,
    ToolKind,
    TurnEnded,
)
from wellkept.core.session.injected_text import without_injected

if TYPE_CHECKING:
    from wellkept.clients.tool_calls import ToolResult

CLIENT: Final = "claude-code"
_CHANGING_TOOLS: Final = "Edit|MultiEdit|Write|NotebookEdit"
_FILE_TOOLS: Final = f"Read|{_CHANGING_TOOLS}"
HOOKS: Final = (
    Hook("SessionStart", HookMode.BOTH),
    Hook("UserPromptSubmit", HookMode.BOTH),
    Hook("PostToolUse"),
    # Also after a command that ended well: a pipe can hide a failure.
    Hook("PostToolUse", HookMode.ANSWER, matcher=f"Bash|{_FILE_TOOLS}"),
    Hook("PostToolUseFailure", HookMode.BOTH),
    Hook("PreToolUse", HookMode.ANSWER, matcher=f"Bash|{_CHANGING_TOOLS}", before=True),
    Hook("SubagentStart"),
    Hook("SubagentStop"),
    Hook("PostCompact"),
    Hook("Stop", HookMode.BOTH),
    Hook("SessionEnd"),
)
Reader: TypeAlias = Callable[[Fields, Origin], Event | None]

_AGENT_TYPES: Final = ("agent_type", "subagent_type", "agentName", "agentType")
_LAST_MESSAGES: Final = ("last_assistant_message", "message")

_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)


def settings_file(scope: InstallScope, folders: ClientFolders) -> Path:
    """The user's settings, or the user's local settings in a project.

    Not the project's shared file: paths of this machine do not belong in a repository.
    """
    if scope is InstallScope.USER:
        return folders.from_variable("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
    return folders.project / ".claude" / "settings.local.json"


def servers_file(folders: ClientFolders) -> Path:
    """The file with the user's MCP servers, for all projects and for one.

    Not a project's shared `.mcp.json`, for the same reason.
    """
    home = folders.environment.get("CLAUDE_CONFIG_DIR", "")
    return (Path(home).expanduser() if home else folders.home) / ".claude.json"


def events(
    event_name: str, payload: Mapping[str, object], *, event_id: str, at: datetime
) -> list[Event]:
    """Translate a payload; at most one event."""
    # Cursor also runs Claude Code's hooks; its payloads have `cursor_version`.
    if "cursor_version" in payload:
        return []
    return translator(CLIENT, READERS)(event_name, payload, event_id=event_id, at=at)


def translator(
    client: str,
    readers: Mapping[str, Reader],
    *,
    session: Sequence[str] = ("session_id",),
    agent: Sequence[str] = ("agent_id",),
) -> Callable[..., list[Event]]:
    """The `events` of a client: empty for an unknown event or without a session. `session` and
    `agent` are the fields with their ids."""

    def translate(event_name: str, payload: Fields, *, event_id: str, at: datetime) -> list[Event]:
        reader, session_id = readers.get(event_name), text(payload, *session)
        if reader is None or not session_id:
            return []
        roots = texts(payload, "workspace_roots")
        origin = Origin(
            event_id=event_id,
            client=client,
            session_id=session_id,
            at=at,
            cwd=optional(payload, "cwd") or (roots[0] if roots else None),
            # `agent_type` without an id is the agent that the whole session runs as.
            agent=optional(payload, *agent),
        )
        event = reader(payload, origin)
        return [] if event is None else [event]

    return translate


def session_started(payload: Fields, origin: Origin) -> Event:
    """SessionStart."""
    return SessionStarted(
        origin=origin, source=text(payload, "source") or "startup", model=optional(payload, "model")
    )


def prompt_submitted(payload: Fields, origin: Origin) -> Event | None:
    """UserPromptSubmit; none when only injected text is left."""
    prompt = without_injected(text(payload, "prompt"))
    plans = text(payload, "permission_mode") == "plan"
    return PromptSubmitted(origin=origin, text=prompt, plans=plans) if prompt.strip() else None


def compacted(payload: Fields, origin: Origin) -> Event:
    """PostCompact, with the summary if there is one."""
    report = text(payload, "compact_summary")
    tagged = _SUMMARY.search(report)
    summary = without_injected((tagged[1] if tagged else report).strip())
    return Compacted(
        origin=origin, trigger=text(payload, "trigger") or "auto", summary=summary or None
    )


def turn_ended(payload: Fields, origin: Origin) -> Event:
    """Stop."""
    return TurnEnded(origin=origin, last_message=_last_message(payload))


def subagent_started(payload: Fields, origin: Origin) -> Event | None:
    """SubagentStart."""
    agent_type = text(payload, *_AGENT_TYPES)
    return SubagentStarted(origin=origin, agent_type=agent_type) if agent_type else None


def subagent_ended(payload: Fields, origin: Origin) -> Event | None:
    """SubagentStop; none without a type, which compaction sends."""
    agent_type = text(payload, *_AGENT_TYPES)
    last = _last_message(payload, "summary", "result")
    ended = SubagentEnded(origin=origin, agent_type=agent_type, last_message=last)
    return ended if agent_type else None


def session_ended(payload: Fields, origin: Origin) -> Event:
    """SessionEnd."""
    return SessionEnded(origin=origin, reason=text(payload, "reason") or "other")


def tool_is_starting(payload: Fields, origin: Origin) -> Event | None:
    """PreToolUse."""
    from wellkept.clients.tool_calls import tool_starting

    name = text(payload, "tool_name")
    return tool_starting(origin, name, nested(payload, "tool_input")) if name else None


def tool_called(payload: Fields, origin: Origin, result: ToolResult) -> Event | None:
    """PostToolUse, given its result."""
    from wellkept.clients import tool_calls

    name = text(payload, "tool_name")
    if not name:
        return None
    return tool_calls.tool_called(
        origin,
        name,
        nested(payload, "tool_input"),
        result,
        call_id=optional(payload, "tool_use_id"),
        duration_ms=integer(payload, "duration_ms"),
        edits=_written(payload) if tool_calls.tool_kind(name) is ToolKind.WRITE else None,
    )


def _tool_succeeded(payload: Fields, origin: Origin) -> Event | None:
    from wellkept.clients.tool_calls import ToolResult, result_text, tool_kind

    # The input of an edit has its changes; the response only repeats the file.
    changes = tool_kind(text(payload, "tool_name")) in (ToolKind.EDIT, ToolKind.WRITE)
    output = "" if changes else result_text(payload.get("tool_response"))
    return tool_called(payload, origin, ToolResult(output))


def _tool_failed(payload: Fields, origin: Origin) -> Event | None:
    from wellkept.clients.tool_calls import failed_result

    return tool_called(payload, origin, failed_result(text(payload, "error")))


def _written(payload: Fields) -> tuple[Edit, ...] | None:
    from wellkept.clients.tool_calls import file_written

    before = text(as_fields(payload.get("tool_response")), "originalFile")
    return file_written(nested(payload, "tool_input"), before=before)


def _last_message(payload: Fields, *others: str) -> str | None:
    return without_injected(text(payload, *_LAST_MESSAGES, *others)) or None


READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "SessionStart": session_started,
        "UserPromptSubmit": prompt_submitted,
        "PreToolUse": tool_is_starting,
        "PostToolUse": _tool_succeeded,
        "PostToolUseFailure": _tool_failed,
        "SubagentStart": subagent_started,
        "SubagentStop": subagent_ended,
        "PostCompact": compacted,
        "Stop": turn_ended,
        "StopFailure": turn_ended,
        "SessionEnd": session_ended,
    }
)
