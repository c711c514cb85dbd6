"""Codex CLI: its hook payloads as events, and what an installer writes for it.

It took over Claude Code's protocol; edits come as patches. A tool that failed is known only where
its answer says so: of a shell command it tells the output but no exit code, so none is called a
failure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.clients import claude_code
from wellkept.clients.hook_spec import ClientFolders, Hook, HookMode, InstallScope
from wellkept.clients.payload_fields import Fields, as_fields, text
from wellkept.clients.tool_calls import ToolResult, answer_text, kind_of
from wellkept.core.events import Event, Origin, ToolKind

CLIENT: Final = "codex"
HOOKS: Final = (
    Hook("SessionStart", HookMode.BOTH),
    Hook("UserPromptSubmit", HookMode.BOTH),
    Hook("PostToolUse"),
    Hook("PostToolUse", HookMode.ANSWER, matcher="apply_patch"),
    Hook("PreToolUse", HookMode.ANSWER, matcher="Bash|apply_patch", before=True),
    Hook("SubagentStart", HookMode.BOTH),
    Hook("SubagentStop"),
    Hook("PostCompact"),
    Hook("Stop"),
    Hook("SessionEnd"),
)

_REPORT = re.compile(
    r"\AExit code: (?P<code>-?\d+)\nWall time: [^\n]*\n(?:Output:\n)?(?P<output>.*)\Z",
    re.DOTALL,
)


def settings_file(scope: InstallScope, places: ClientFolders) -> Path:
    """The hooks file of the person or of a project."""
    if scope is InstallScope.USER:
        return places.from_variable("CODEX_HOME", ".codex") / "hooks.json"
    return places.project / ".codex" / "hooks.json"


def events(
    event_name: str, payload: Mapping[str, object], *, event_id: str, at: datetime
) -> list[Event]:
    """What a payload tells; at most one event."""
    origin = claude_code.origin(CLIENT, payload, event_id=event_id, at=at)
    return claude_code.read(READERS, event_name, payload, origin)


def _tool_called(payload: Fields, origin: Origin) -> Event | None:
    return claude_code.tool_called(payload, origin, _answer(payload))


def _answer(payload: Fields) -> ToolResult:
    response = payload.get("tool_response")
    output = answer_text(response)
    if as_fields(response).get("isError") is True:
        return ToolResult("", output or "failed")
    report = _REPORT.match(output)
    if report is None:
        return ToolResult(output)
    # A patch that went in says no more than the patch itself.
    quiet = kind_of(text(payload, "tool_name")) is ToolKind.EDIT
    if int(report["code"]) == 0:
        return ToolResult("" if quiet else report["output"])
    return ToolResult(report["output"], f"Exit code {report['code']}")


READERS: Final[Mapping[str, claude_code.Reader]] = MappingProxyType(
    {
        "SessionStart": claude_code.session_started,
        "UserPromptSubmit": claude_code.prompt_submitted,
        "PreToolUse": claude_code.tool_is_starting,
        "PostToolUse": _tool_called,
        "SubagentStart": claude_code.subagent_started,
        "SubagentStop": claude_code.subagent_ended,
        "PostCompact": claude_code.compacted,
        "Stop": claude_code.turn_ended,
        "SessionEnd": claude_code.session_ended,
    }
)
