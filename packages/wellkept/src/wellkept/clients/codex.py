"""Codex CLI: hook payloads as events, hooks to install, settings files.

It uses Claude Code's protocol; edits come as patches. Shell payloads have no exit code; it is read
from the session's rollout file, which Codex writes before it runs the hook.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.clients import claude_code
from wellkept.clients.hook_spec import ClientFolders, Hook, HookMode, InstallScope
from wellkept.clients.payload_fields import Fields, as_fields, text
from wellkept.clients.tool_calls import ToolResult, result_text, tool_kind
from wellkept.core.session.events import Event, Origin, ToolKind

CLIENT: Final = "codex"
HOOKS: Final = (
    Hook("SessionStart", HookMode.BOTH),
    Hook("UserPromptSubmit", HookMode.BOTH),
    Hook("PostToolUse"),
    Hook("PostToolUse", HookMode.ANSWER, matcher="Bash|apply_patch"),
    Hook("PreToolUse", HookMode.ANSWER, matcher="Bash|apply_patch", before=True),
    Hook("SubagentStart"),
    Hook("SubagentStop"),
    Hook("PostCompact"),
    Hook("Stop"),
    Hook("SessionEnd", timeout_s=3),  # more is an error in every session
)

_REPORT = re.compile(
    r"\AExit code: (?P<code>-?\d+)\nWall time: [^\n]*\n(?:Output:\n)?(?P<output>.*)\Z", re.DOTALL
)
_ROLLOUT_BYTES = 64 << 20
# A quotation mark inside the command's own output has a backslash before it.
_COMMAND_ITEM = rb'"id":"%s"[^\n]*?(?<!\\)"exit_code":(-?\d+)'


def settings_file(scope: InstallScope, folders: ClientFolders) -> Path:
    """The user's or a project's hooks file."""
    if scope is InstallScope.USER:
        return folders.from_variable("CODEX_HOME", ".codex") / "hooks.json"
    return folders.project / ".codex" / "hooks.json"


def _tool_called(payload: Fields, origin: Origin) -> Event | None:
    return claude_code.tool_called(payload, origin, _result(payload))


def _result(payload: Fields) -> ToolResult:
    response = payload.get("tool_response")
    output = result_text(response)
    if as_fields(response).get("isError") is True:
        return ToolResult("", output or "failed")
    report = _REPORT.match(output)
    if report is None:
        return ToolResult(output, _shell_error(payload))
    # The output of an applied patch only repeats the patch.
    is_patch = tool_kind(text(payload, "tool_name")) is ToolKind.EDIT
    if int(report["code"]) == 0:
        return ToolResult("" if is_patch else report["output"])
    return ToolResult(report["output"], f"Exit code {report['code']}")


def _shell_error(payload: Fields) -> str | None:
    """The exit code of a failed command, as Claude Code words it."""
    path, call = text(payload, "transcript_path"), text(payload, "tool_use_id")
    if tool_kind(text(payload, "tool_name")) is not ToolKind.SHELL or not (path and call):
        return None
    code = _exit_code(path, call)
    return f"Exit code {code}" if code else None


def _exit_code(rollout: str, call: str) -> int | None:
    """The exit code that a rollout file reports for a call; None when it does not."""
    from mmap import ACCESS_READ, mmap

    wanted = re.compile(_COMMAND_ITEM % re.escape(call.encode()))
    path = Path(rollout)
    try:
        # Opening a pipe would wait for its writer.
        if not path.is_file():
            return None
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as whole:
            # The call ran a moment ago, or as long as the spool has waited: look from the end.
            start = max(0, len(whole) - _ROLLOUT_BYTES)
            at = whole.rfind(b'"id":"%s"' % call.encode(), start)
            found = wanted.match(whole, at) if at >= 0 else None
            return int(found[1]) if found else None
    except (OSError, ValueError):
        return None


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
events = claude_code.translator(CLIENT, READERS)
