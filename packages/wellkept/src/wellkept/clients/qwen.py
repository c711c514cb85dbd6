"""Qwen Code: hook payloads as events, hooks to install, settings files.

A fork of Gemini CLI with Claude Code's hooks: names and shape of the payloads are Claude Code's,
the results of tools are Gemini CLI's. It reports a prompt without text each time tool results go
back to the model, and writes `<` and `>` of injected context as entities.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.clients import claude_code, gemini
from wellkept.clients.hook_spec import ClientFolders, Hook, HookMode, InstallScope
from wellkept.clients.payload_fields import Fields, text
from wellkept.clients.tool_calls import ToolResult, failed_result, tool_kind
from wellkept.core.session.events import Event, Origin, ToolKind

CLIENT: Final = "qwen"
_CHANGING_TOOLS: Final = "edit|write_file|notebook_edit"
_ANSWERED_TOOLS: Final = f"run_shell_command|read_file|{_CHANGING_TOOLS}"
HOOKS: Final = (
    Hook("SessionStart", HookMode.BOTH),
    Hook("UserPromptSubmit", HookMode.BOTH),
    Hook("PostToolUse"),
    Hook("PostToolUse", HookMode.ANSWER, matcher=_ANSWERED_TOOLS),
    Hook("PostToolUseFailure", HookMode.BOTH),
    Hook("SubagentStart"),
    Hook("SubagentStop"),
    Hook("PostCompact"),
    Hook("Stop"),
    Hook("SessionEnd"),
)


def settings_file(scope: InstallScope, folders: ClientFolders) -> Path:
    """The user's or a project's settings."""
    if scope is InstallScope.USER:
        return folders.from_variable("QWEN_HOME", ".qwen") / "settings.json"
    return folders.project / ".qwen" / "settings.json"


def _tool_failed(payload: Fields, origin: Origin) -> Event | None:
    error = text(payload, "error")
    is_shell = tool_kind(text(payload, "tool_name")) is ToolKind.SHELL
    reported = gemini.shell_result(error) if is_shell else ToolResult()
    result = reported if reported.error else failed_result(error)
    return claude_code.tool_called(payload, origin, result)


READERS: Final[Mapping[str, claude_code.Reader]] = MappingProxyType(
    {
        **claude_code.READERS,
        "PostToolUse": gemini.tool_called_after,
        "PostToolUseFailure": _tool_failed,
    }
)
events = claude_code.translator(CLIENT, READERS)
