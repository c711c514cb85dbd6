"""Gemini CLI: its hook payloads as events, and what an installer writes for it.

It puts what hooks injected in front of the next prompt it reports, so prompts are cleaned of it.
`PreCompress` comes before every model call, compressed or not, and therefore means nothing here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.clients import claude_code
from wellkept.clients.hook_spec import ClientFolders, Hook, HookMode, InstallScope
from wellkept.clients.injected_text import without_own
from wellkept.clients.payload_fields import Fields, as_fields, inner, items, optional, text, whole
from wellkept.clients.tool_calls import ToolResult, answer_text, kind_of, tool_called, written
from wellkept.core.events import Event, Origin, PromptSubmitted, ToolKind, TurnEnded

CLIENT: Final = "gemini"
HOOKS: Final = (
    Hook("SessionStart", HookMode.BOTH),
    Hook("BeforeAgent", HookMode.BOTH),
    # Failures come as AfterTool too, so every tool is asked about, by one process.
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


def settings_file(scope: InstallScope, places: ClientFolders) -> Path:
    """The settings of the person or of a project."""
    home = places.home if scope is InstallScope.USER else places.project
    return home / ".gemini" / "settings.json"


def events(
    event_name: str, payload: Mapping[str, object], *, event_id: str, at: datetime
) -> list[Event]:
    """What a payload tells; at most one event."""
    origin = claude_code.origin(CLIENT, payload, event_id=event_id, at=at)
    return claude_code.read(READERS, event_name, payload, origin)


def _prompt_submitted(payload: Fields, origin: Origin) -> Event | None:
    said = without_own(_INJECTED.sub("", text(payload, "prompt"))).strip()
    return PromptSubmitted(origin=origin, text=said) if said else None


def _turn_ended(payload: Fields, origin: Origin) -> Event:
    last = without_own(text(payload, "prompt_response"))
    return TurnEnded(origin=origin, last_message=last or None)


def _tool_called(payload: Fields, origin: Origin) -> Event | None:
    name = _tool_name(payload)
    if not name:
        return None
    kind, given = kind_of(name), inner(payload, "tool_input")
    response = as_fields(payload.get("tool_response"))
    before = text(inner(response, "returnDisplay"), "originalContent")
    return tool_called(
        origin,
        name,
        given,
        _answer(response, kind),
        call_id=optional(payload, "tool_use_id"),
        duration_ms=whole(payload, "duration_ms"),
        edits=written(given, before=before) if kind is ToolKind.WRITE else None,
    )


def _tool_name(payload: Fields) -> str:
    """The tool's name; an MCP tool's as other clients spell it, when server and tool are told."""
    of_server = inner(payload, "mcp_context")
    server, tool = text(of_server, "server_name"), text(of_server, "tool_name")
    return f"mcp__{server}__{tool}" if server and tool else text(payload, "tool_name")


def _answer(response: Fields, kind: ToolKind) -> ToolResult:
    output = answer_text(response.get("llmContent"))
    wrapped = _WRAPPED.match(output)
    output = wrapped[1] if wrapped else output
    failure = inner(response, "error")
    if failure:
        return ToolResult("", _reported(text(failure, "message")) or output or "failed")
    if kind is ToolKind.SHELL:
        return _shell_answer(output)
    return ToolResult("" if kind in (ToolKind.EDIT, ToolKind.WRITE) else output)


def _reported(message: str) -> str:
    """What an MCP server said about a failure; the message repeats the call and what it was given,
    which is nobody's error."""
    found = _REPORTED.search(message)
    if found is None:
        return message
    try:
        answers = json.loads(found[1])
    except (ValueError, RecursionError):
        return message[: found.start()].partition(" for function call: ")[0]
    parts = [inner(as_fields(part), "functionResponse") for part in items({"it": answers}, "it")]
    replies = [inner(part, "response") for part in parts]
    said = [answer_text(reply) or text(inner(reply, "error"), "message") for reply in replies]
    return "\n".join(filter(None, said)) or "failed"


def _shell_answer(report: str) -> ToolResult:
    """The labelled lines that a shell call is told in; without labels it was stopped."""
    parts = _LABEL.split(report)
    told = {
        label: value.strip("\n")
        for label, value in zip(parts[1::2], parts[2::2], strict=True)
        if value.strip() not in _NOTHING
    }
    if not told:
        return ToolResult(report)
    streams = [told[name] for name in ("Output", "Stdout", "Stderr") if told.get(name)]
    return ToolResult("\n".join(streams), _shell_error(told))


def _shell_error(told: Mapping[str, str]) -> str | None:
    code = told.get("Exit Code", "0").strip()
    if code != "0":
        return f"Exit code {code}"
    signal = told.get("Signal", "").strip()
    return told.get("Error") or (f"Signal {signal}" if signal else None)


READERS: Final[Mapping[str, claude_code.Reader]] = MappingProxyType(
    {
        "SessionStart": claude_code.session_started,
        "BeforeAgent": _prompt_submitted,
        "AfterTool": _tool_called,
        "AfterAgent": _turn_ended,
        "SessionEnd": claude_code.session_ended,
    }
)
