"""Any client: the documented events of `wellkept hook`, as JSON on standard input.

For clients without a module of their own. `PROTOCOL` is the contract: the JSON Schema in docs, the
checks of `wellkept hook --check` and the reading below all go by it. Reading is lenient, like that
of every client: a field of the wrong type counts as missing, and nothing raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from wellkept.clients import claude_code
from wellkept.clients.payload_fields import Fields, integer, nested, optional, text
from wellkept.clients.tool_calls import ToolResult, failed_result, file_written, tool_kind
from wellkept.clients.tool_calls import tool_called as _tool_called
from wellkept.core.records import record
from wellkept.core.session.events import Compacted, Event, Origin, PromptSubmitted, ToolKind
from wellkept.core.session.injected_text import without_injected

CLIENT: Final = "generic"
ANSWERED: Final = ("session_start", "prompt", "tool_call")
_CLIENT_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_TYPES: Final = {"string": str, "integer": int, "object": dict}


@record(kw_only=True)
class Field:
    """A field of a payload; with `choices` only these are understood."""

    type: str = "string"
    doc: str
    required: bool = False
    choices: tuple[str, ...] = ()


COMMON: Final[Mapping[str, Field]] = MappingProxyType(
    {
        "session_id": Field(doc="The same for all events of a session.", required=True),
        "cwd": Field(doc="Absolute path of the folder that the session works in."),
        "client": Field(doc="Name of your client: lower-case letters, digits, dashes."),
        "agent_id": Field(doc="Inside a sub-agent: its id. It counts as a session of its own."),
    }
)
PROTOCOL: Final[Mapping[str, Mapping[str, Field]]] = MappingProxyType(
    {
        "session_start": {
            "source": Field(
                doc="Why it starts. Only `resume` keeps what the model was told before.",
                choices=("startup", "resume", "clear", "compact"),
            ),
            "model": Field(doc="Name of the model."),
        },
        "prompt": {"text": Field(doc="What the person typed.", required=True)},
        "tool_call": {
            "name": Field(doc="Name of the tool.", required=True),
            "kind": Field(
                doc="What it does. Default: known from common names such as `bash` or `edit`.",
                choices=tuple(kind.value for kind in ToolKind),
            ),
            "input": Field(
                type="object",
                doc="Its arguments. Understood: `command`; `file_path`; `old_string` and"
                " `new_string`; `content`; `pattern`, `query`, `url`.",
            ),
            "output": Field(doc="What it printed or returned."),
            "error": Field(doc="Why it failed. Leave it out after a success."),
            "exit_code": Field(type="integer", doc="Exit code of a command; not 0 is a failure."),
            "call_id": Field(doc="Id of the call."),
            "duration_ms": Field(type="integer", doc="How long it took."),
        },
        "compaction": {
            "trigger": Field(doc="What caused it.", choices=("auto", "manual")),
            "summary": Field(doc="The summary that replaces the conversation."),
        },
        "subagent_start": {"agent_type": Field(doc="Kind of sub-agent.", required=True)},
        "subagent_end": {
            "agent_type": Field(doc="Kind of sub-agent.", required=True),
            "message": Field(doc="Its last message."),
        },
        "turn_end": {"message": Field(doc="The agent's last message.")},
        "session_end": {"reason": Field(doc="Why it ended.")},
    }
)
"""Event -> its fields, beside the common ones."""


def schema() -> dict[str, Any]:
    """The protocol as JSON Schema: one definition for each event, and the answer."""
    events = {
        event: {
            "type": "object",
            "properties": {name: _property(one) for name, one in (COMMON | fields).items()},
            "required": [name for name, one in (COMMON | fields).items() if one.required],
        }
        for event, fields in PROTOCOL.items()
    }
    answer = {
        "type": "object",
        "properties": {
            "context": {"type": "string", "description": "Text for the model, at most 10,000."}
        },
        "required": ["context"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Events of `wellkept hook`, and its answer",
        "$defs": {**events, "answer": answer},
    }


def problems(event: str, payload: Mapping[str, object]) -> Iterator[str]:
    """What is wrong with a payload, for people who write a client."""
    if event not in PROTOCOL:
        yield f"Unknown event {event!r}. Known: {', '.join(PROTOCOL)}."
        return
    fields = COMMON | PROTOCOL[event]
    for name, field in fields.items():
        value = payload.get(name)
        if value is None or value == "":
            if field.required:
                yield f"{name!r} is missing: {field.doc}"
        elif not isinstance(value, _TYPES[field.type]) or isinstance(value, bool):
            yield f"{name!r} must be of type {field.type}, not {type(value).__name__}."
        elif field.choices and value not in field.choices:
            yield f"{name!r} must be one of {', '.join(field.choices)}, not {value!r}."
    for name in payload:
        if name not in fields:
            yield f"{name!r} is not a field of {event} and is ignored."
    client = payload.get("client")
    if isinstance(client, str) and client and not _CLIENT_NAME.fullmatch(client):
        yield "'client' takes at most 40 lower-case letters, digits and dashes."


def events(
    event_name: str, payload: Mapping[str, object], *, event_id: str, at: datetime
) -> list[Event]:
    """Translate a payload; at most one event."""
    name = text(payload, "client")
    client = name if _CLIENT_NAME.fullmatch(name) else CLIENT
    return claude_code.translator(client, READERS)(event_name, payload, event_id=event_id, at=at)


def _property(field: Field) -> dict[str, Any]:
    made: dict[str, Any] = {"type": field.type, "description": field.doc}
    return made | ({"enum": list(field.choices)} if field.choices else {})


def _prompt_submitted(payload: Fields, origin: Origin) -> Event | None:
    said = without_injected(text(payload, "text"))
    return PromptSubmitted(origin=origin, text=said) if said.strip() else None


def _called(payload: Fields, origin: Origin) -> Event | None:
    name, given = text(payload, "name"), text(payload, "kind")
    if not name:
        return None
    kind = ToolKind(given) if given in tuple(ToolKind) else tool_kind(name)
    tool_input = nested(payload, "input")
    return _tool_called(
        origin,
        name,
        tool_input,
        _result(payload),
        call_id=optional(payload, "call_id"),
        duration_ms=integer(payload, "duration_ms"),
        kind=kind,
        edits=file_written(tool_input, before="") if kind is ToolKind.WRITE else None,
    )


def _result(payload: Fields) -> ToolResult:
    output, error = text(payload, "output"), text(payload, "error")
    if code := integer(payload, "exit_code"):
        return ToolResult(output or error, f"Exit code {code}")
    if not error:
        return ToolResult(output)
    failed = failed_result(error)
    return ToolResult(output or failed.output, failed.error)


def _compacted(payload: Fields, origin: Origin) -> Event:
    summary = without_injected(text(payload, "summary"))
    trigger = text(payload, "trigger") or "auto"
    return Compacted(origin=origin, trigger=trigger, summary=summary or None)


READERS: Final[Mapping[str, claude_code.Reader]] = MappingProxyType(
    {
        "session_start": claude_code.session_started,
        "prompt": _prompt_submitted,
        "tool_call": _called,
        "compaction": _compacted,
        "subagent_start": claude_code.subagent_started,
        "subagent_end": claude_code.subagent_ended,
        "turn_end": claude_code.turn_ended,
        "session_end": claude_code.session_ended,
    }
)
