"""Claude Code: its hook payloads as events, and what an installer writes for it.

Codex speaks the same protocol with small differences and builds on this module. Knows payload
shapes, not what becomes of the events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from wellkept.clients.hook_spec import ClientFolders, Hook, HookMode, InstallScope
from wellkept.clients.injected_text import without_own
from wellkept.clients.payload_fields import Fields, as_fields, inner, optional, text, whole
from wellkept.clients.tool_calls import (
    ToolResult,
    answer_text,
    failed_shell,
    kind_of,
    tool_starting,
    written,
)
from wellkept.clients.tool_calls import tool_called as _tool_called
from wellkept.core.events import (
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

CLIENT: Final = "claude-code"
_CHANGING_TOOLS: Final = "Edit|MultiEdit|Write|NotebookEdit"
_FILE_TOOLS: Final = f"Read|{_CHANGING_TOOLS}"
HOOKS: Final = (
    Hook("SessionStart", HookMode.BOTH),
    Hook("UserPromptSubmit", HookMode.BOTH),
    Hook("PostToolUse"),
    Hook("PostToolUse", HookMode.ANSWER, matcher=_FILE_TOOLS),
    Hook("PostToolUseFailure", HookMode.BOTH),
    Hook("PreToolUse", HookMode.ANSWER, matcher=f"Bash|{_CHANGING_TOOLS}", before=True),
    Hook("SubagentStart", HookMode.BOTH),
    Hook("SubagentStop"),
    Hook("PostCompact"),
    Hook("Stop"),
    Hook("SessionEnd"),
)
Reader: TypeAlias = Callable[[Fields, Origin], Event | None]

_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)


def settings_file(scope: InstallScope, places: ClientFolders) -> Path:
    """The settings of the person, or the person's own settings in a project.

    The project's shared file is left alone: paths of this machine do not belong in a repository.
    """
    if scope is InstallScope.USER:
        return places.from_variable("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
    return places.project / ".claude" / "settings.local.json"


def servers_file(places: ClientFolders) -> Path:
    """Where it keeps MCP servers: the person's, and those of a project that are the person's own.

    A project's shared `.mcp.json` is left alone, for the same reason.
    """
    home = places.environment.get("CLAUDE_CONFIG_DIR", "")
    return (Path(home).expanduser() if home else places.home) / ".claude.json"


def events(
    event_name: str, payload: Mapping[str, object], *, event_id: str, at: datetime
) -> list[Event]:
    """What a payload tells; at most one event."""
    # Cursor runs Claude Code's hooks as well as its own; it is told apart by its version.
    if "cursor_version" in payload:
        return []
    return read(READERS, event_name, payload, origin(CLIENT, payload, event_id=event_id, at=at))


def read(
    readers: Mapping[str, Reader], event_name: str, payload: Fields, origin: Origin | None
) -> list[Event]:
    """Apply the reader of an event; an unknown event or a payload without session gives none."""
    reader = readers.get(event_name)
    if reader is None or origin is None:
        return []
    event = reader(payload, origin)
    return [] if event is None else [event]


def origin(client: str, payload: Fields, *, event_id: str, at: datetime) -> Origin | None:
    """Where a payload comes from; None when it names no session."""
    session_id = text(payload, "session_id")
    if not session_id:
        return None
    return Origin(
        event_id=event_id,
        client=client,
        session_id=session_id,
        at=at,
        cwd=optional(payload, "cwd"),
        # A type without an id only says which agent the whole session runs as.
        agent=optional(payload, "agent_id"),
    )


def session_started(payload: Fields, origin: Origin) -> Event:
    """SessionStart."""
    return SessionStarted(
        origin=origin,
        source=text(payload, "source") or "startup",
        model=optional(payload, "model"),
    )


def prompt_submitted(payload: Fields, origin: Origin) -> Event | None:
    """UserPromptSubmit; none when nothing of the person's own is left."""
    said = without_own(text(payload, "prompt"))
    return PromptSubmitted(origin=origin, text=said) if said.strip() else None


def compacted(payload: Fields, origin: Origin) -> Event:
    """PostCompact, with the summary if it is told."""
    told = text(payload, "compact_summary")
    summary = _SUMMARY.search(told)
    kept = without_own((summary[1] if summary else told).strip())
    return Compacted(
        origin=origin, trigger=text(payload, "trigger") or "auto", summary=kept or None
    )


def turn_ended(payload: Fields, origin: Origin) -> Event:
    """Stop."""
    return TurnEnded(origin=origin, last_message=_last_message(payload))


def subagent_started(payload: Fields, origin: Origin) -> Event | None:
    """SubagentStart."""
    agent_type = text(payload, "agent_type")
    return SubagentStarted(origin=origin, agent_type=agent_type) if agent_type else None


def subagent_ended(payload: Fields, origin: Origin) -> Event | None:
    """SubagentStop; compaction ends a nameless one, which is nobody's sub-agent."""
    agent_type = text(payload, "agent_type")
    if not agent_type:
        return None
    return SubagentEnded(origin=origin, agent_type=agent_type, last_message=_last_message(payload))


def session_ended(payload: Fields, origin: Origin) -> Event:
    """SessionEnd."""
    return SessionEnded(origin=origin, reason=text(payload, "reason") or "other")


def tool_is_starting(payload: Fields, origin: Origin) -> Event | None:
    """PreToolUse."""
    name = text(payload, "tool_name")
    return tool_starting(origin, name, inner(payload, "tool_input")) if name else None


def tool_called(payload: Fields, origin: Origin, answer: ToolResult) -> Event | None:
    """PostToolUse, once its answer is read."""
    name = text(payload, "tool_name")
    if not name:
        return None
    return _tool_called(
        origin,
        name,
        inner(payload, "tool_input"),
        answer,
        call_id=optional(payload, "tool_use_id"),
        duration_ms=whole(payload, "duration_ms"),
        edits=_written(payload) if kind_of(name) is ToolKind.WRITE else None,
    )


def _tool_succeeded(payload: Fields, origin: Origin) -> Event | None:
    # What an edit changed stands in its input; its answer only repeats the file.
    changes = kind_of(text(payload, "tool_name")) in (ToolKind.EDIT, ToolKind.WRITE)
    output = "" if changes else answer_text(payload.get("tool_response"))
    return tool_called(payload, origin, ToolResult(output))


def _tool_failed(payload: Fields, origin: Origin) -> Event | None:
    return tool_called(payload, origin, failed_shell(text(payload, "error")))


def _written(payload: Fields) -> tuple[Edit, ...] | None:
    before = text(as_fields(payload.get("tool_response")), "originalFile")
    return written(inner(payload, "tool_input"), before=before)


def _last_message(payload: Fields) -> str | None:
    return without_own(text(payload, "last_assistant_message")) or None


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
