"""Which client speaks which dialect: names to modules, imported when they are needed.

The one door from a client's payload to events. Knows the clients' names and nothing of payloads.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from types import MappingProxyType
from typing import Final, Protocol, cast

from wellkept.core.errors import UsageError
from wellkept.core.events import Event
from wellkept.core.records import replace

CLIENTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "claude-code": "wellkept.clients.claude_code",
        "codex": "wellkept.clients.codex",
        "gemini": "wellkept.clients.gemini",
        "cursor": "wellkept.clients.cursor",
        "opencode": "wellkept.clients.opencode",
    }
)

_NAMES: Final = ("source", "model", "reason", "trigger", "agent_type", "call_id")


class Translator(Protocol):
    """A client's payload as events: none, or one. Never raises, whatever the payload holds."""

    def __call__(
        self, event_name: str, payload: Mapping[str, object], *, event_id: str, at: datetime
    ) -> list[Event]: ...


def translator(client: str) -> Translator:
    """The translator of a client. UsageError when there is no such client."""
    module = CLIENTS.get(client)
    if module is None:
        raise UsageError(
            f"There is no client called {client!r}.", hint=f"Known: {', '.join(CLIENTS)}."
        )
    return cast("Translator", import_module(module).events)


def translate(
    client: str, event_name: str, payload: bytes, *, event_id: str, at: datetime
) -> list[Event]:
    """The events in a raw payload; none when it is not a JSON object."""
    fields = _fields(payload)
    return (
        [] if fields is None else translator(client)(event_name, fields, event_id=event_id, at=at)
    )


def translate_kept(
    client: str, event_name: str, payload: bytes, *, event_id: str, at: datetime
) -> list[Event]:
    """The events in a payload that was kept. UsageError when it cannot be read, so that it is not
    lost without a word; one that says nothing at all has nothing to lose."""
    if payload.strip() and _fields(payload) is None:
        raise UsageError(f"What {client} sent for {event_name} is not a JSON object.")
    found = translate(client, event_name, payload, event_id=event_id, at=at)
    return [_with_safe_names(event) for event in found]


def _with_safe_names(event: Event) -> Event:
    """The event without secrets in what names things; its texts are cleaned by the observer."""
    origin = event.origin
    plain = replace(
        origin,
        session_id=_safe_id(origin.session_id),
        agent=origin.agent and _safe_id(origin.agent),
        # A folder under another name would be another folder.
        cwd=origin.cwd if origin.cwd and _safe_id(origin.cwd) == origin.cwd else None,
    )
    named = {name: getattr(event, name, None) for name in _NAMES}
    safe = {name: _safe_id(value) for name, value in named.items() if isinstance(value, str)}
    return replace(event, origin=plain, **safe)


def _safe_id(text: str) -> str:
    """The text, or a stand-in that is always the same for it when there is a secret in it."""
    from hashlib import sha256

    from wellkept.memory.text.redaction import redact

    if redact(text).text == text:
        return text
    return f"redacted-{sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _fields(payload: bytes) -> dict[str, object] | None:
    import json

    try:
        read: object = json.loads(payload.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", read) if isinstance(read, dict) else None
