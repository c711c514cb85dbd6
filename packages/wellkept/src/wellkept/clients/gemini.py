"""Gemini CLI: hook payloads as events, hooks to install, settings files.

It repeats injected context in front of the prompt it reports, so prompts are cleaned of it.
`PreCompress` comes before every model call, compressed or not, and is not used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.clients import claude_code
from wellkept.clients.hook_spec import ClientFolders, Hook, HookMode, InstallScope
from wellkept.clients.payload_fields import (
    Fields,
    as_fields,
    integer,
    items,
    nested,
    optional,
    text,
)
from wellkept.clients.tool_calls import (
    ToolResult,
    file_written,
    result_text,
    tool_called,
    tool_kind,
)
from wellkept.core.session.events import Event, Origin, PromptSubmitted, ToolKind, TurnEnded
from wellkept.core.session.injected_text import without_injected

CLIENT: Final = "gemini"
HOOKS: Final = (
    Hook("SessionStart", HookMode.BOTH),
    Hook("BeforeAgent", HookMode.BOTH),
    # Failures come as AfterTool too, so it answers for every tool.
    Hook("AfterTool", HookMode.BOTH),
    Hook("AfterAgent"),
    Hook("SessionEnd"),
)

_INJECTED = re.compile(r"<hook_context>.*?(?:</hook_context>|\Z)", re.DOTALL)
_WRAPPED = re.compile(r"\A\s*<untrusted_context>\n?(.*?)\n?</untrusted_context>\s*\Z", re.DOTALL)
_LABEL = re.compile(
    r"^(Command|Directory|Output|Stdout|Stderr|Error|Exit Code|Signal|Background PIDs"
    r"|Process Group PGID): ?",
    re.MULTILINE,
)
_REPORTED = re.compile(r" with response: (\[.*)\Z", re.DOTALL)
_NOTHING: Final = ("(empty)", "(none)")


def settings_file(scope: InstallScope, folders: ClientFolders) -> Path:
    """The user's or a project's settings."""
    home = folders.home if scope is InstallScope.USER else folders.project
    return home / ".gemini" / "settings.json"


def _prompt_submitted(payload: Fields, origin: Origin) -> Event | None:
    prompt = without_injected(_INJECTED.sub("", text(payload, "prompt"))).strip()
    return PromptSubmitted(origin=origin, text=prompt) if prompt else None


def _turn_ended(payload: Fields, origin: Origin) -> Event:
    last = without_injected(text(payload, "prompt_response"))
    return TurnEnded(origin=origin, last_message=last or None)


def tool_called_after(payload: Fields, origin: Origin) -> Event | None:
    """AfterTool."""
    # The tool's name; an MCP tool's in the form `mcp__server__tool` of other clients.
    mcp = nested(payload, "mcp_context")
    server, tool = text(mcp, "server_name"), text(mcp, "tool_name")
    name = f"mcp__{server}__{tool}" if server and tool else text(payload, "tool_name")
    if not name:
        return None
    kind, tool_input = tool_kind(name), nested(payload, "tool_input")
    response = as_fields(payload.get("tool_response"))
    before = text(nested(response, "returnDisplay"), "originalContent")
    return tool_called(
        origin,
        name,
        tool_input,
        _result(response, kind),
        call_id=optional(payload, "tool_use_id"),
        duration_ms=integer(payload, "duration_ms"),
        edits=file_written(tool_input, before=before) if kind is ToolKind.WRITE else None,
    )


def _result(response: Fields, kind: ToolKind) -> ToolResult:
    output = result_text(response.get("llmContent"))
    wrapped = _WRAPPED.match(output)
    output = wrapped[1] if wrapped else output
    failure = nested(response, "error")
    if failure:
        return ToolResult("", _mcp_error(text(failure, "message")) or output or "failed")
    if kind is ToolKind.SHELL:
        return shell_result(output)
    return ToolResult("" if kind in (ToolKind.EDIT, ToolKind.WRITE) else output)


def _mcp_error(message: str) -> str:
    """The error text of an MCP server, without the call that the message repeats."""
    found = _REPORTED.search(message)
    if found is None:
        return message
    try:
        responses = json.loads(found[1])
    except (ValueError, RecursionError):
        return message[: found.start()].partition(" for function call: ")[0]
    parts = [nested(as_fields(part), "functionResponse") for part in items({"it": responses}, "it")]
    replies = [nested(part, "response") for part in parts]
    texts = [result_text(reply) or text(nested(reply, "error"), "message") for reply in replies]
    return "\n".join(filter(None, texts)) or "failed"


def shell_result(report: str) -> ToolResult:
    """Parse the labelled report of a shell call; without labels it was stopped."""
    parts = _LABEL.split(report)
    fields = {
        label: value.strip("\n")
        for label, value in zip(parts[1::2], parts[2::2], strict=True)
        if value.strip() not in _NOTHING
    }
    if not fields:
        return ToolResult(report)
    streams = [fields[name] for name in ("Output", "Stdout", "Stderr") if fields.get(name)]
    return ToolResult("\n".join(streams), _shell_error(fields))


def _shell_error(fields: Mapping[str, str]) -> str | None:
    code = fields.get("Exit Code", "0").strip()
    if code != "0":
        return f"Exit code {code}"
    signal = fields.get("Signal", "").strip()
    return fields.get("Error") or (f"Signal {signal}" if signal else None)


READERS: Final[Mapping[str, claude_code.Reader]] = MappingProxyType(
    {
        "SessionStart": claude_code.session_started,
        "BeforeAgent": _prompt_submitted,
        "AfterTool": tool_called_after,
        "AfterAgent": _turn_ended,
        "SessionEnd": claude_code.session_ended,
    }
)
events = claude_code.translator(CLIENT, READERS)
