"""Events of Wellkept's own agent, as they lie in the spool under the client name `wellkept`.

The runtime makes events in their final form, so a payload is the event itself as JSON, with the
fields of its origin beside the others. Invariant: text that Wellkept injected does not come out,
and a payload of any shape gives an event or none, never an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, cast

from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import UsageError
from wellkept.core.records import replace
from wellkept.core.session.events import (
    Compacted,
    ContextInjected,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentEnded,
    SubagentStarted,
    ToolCalled,
    ToolKind,
    TurnEnded,
)
from wellkept.core.session.injected_text import is_wellkept_command, without_injected

CLIENT: Final = "wellkept"
_CLASSES: Final = (
    SessionStarted,
    PromptSubmitted,
    ToolCalled,
    Compacted,
    TurnEnded,
    SubagentStarted,
    SubagentEnded,
    SessionEnded,
    ContextInjected,
)
KINDS: Final = MappingProxyType({kind.__name__: kind for kind in _CLASSES})
"""The events by the name that they have in the spool."""
_ORIGIN: Final = ("session_id", "cwd", "agent", "branch")


def event_name(event: Event) -> str:
    """The name that an event has in the spool."""
    return type(event).__name__


def encoded(event: Event) -> bytes:
    """The payload of an event."""
    fields = record_to_json(event)
    del fields["origin"]
    origin = {name: getattr(event.origin, name) for name in _ORIGIN}
    return json.dumps({**origin, **fields}, ensure_ascii=False).encode("utf-8", "replace")


def events(
    event_name: str, payload: Mapping[str, object], *, event_id: str, at: datetime
) -> list[Event]:
    """The event in a payload; none when it is of an unknown kind or does not fit."""
    kind = KINDS.get(event_name)
    session = payload.get("session_id")
    if kind is None or not isinstance(session, str) or not session:
        return []
    rest = {name: value for name, value in payload.items() if name not in _ORIGIN}
    origin = Origin(
        event_id=event_id,
        client=CLIENT,
        session_id=session,
        at=at,
        cwd=_text(payload, "cwd"),
        agent=_text(payload, "agent"),
        branch=_text(payload, "branch"),
    )
    try:
        whole = cast("dict[str, Json]", {**rest, "origin": record_to_json(origin)})
        event = cast("Event", record_from_json(kind, whole, text=_cleaned))
    except UsageError:
        return []
    return [_checked(replace(event, origin=origin))]


def _cleaned(_field: str, text: str) -> str:
    return without_injected(text)


def _checked(event: Event) -> Event:
    """A tool call without what memory itself has answered."""
    if not isinstance(event, ToolCalled) or event.error is not None:
        return event
    is_own = event.kind is ToolKind.SHELL and is_wellkept_command(event.command or "")
    return replace(event, output="") if is_own else event


def _text(payload: Mapping[str, object], name: str) -> str | None:
    value = payload.get(name)
    return value if isinstance(value, str) and value else None
