"""Translate payloads of clients into events; client modules are imported on demand.

Our own note of what was injected is read back here too. Knows client names, not payload formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, cast

from wellkept.clients.known import KNOWN
from wellkept.core.errors import UsageError
from wellkept.core.records import replace
from wellkept.core.session.events import ContextInjected, Event, Origin, SessionEnded, TurnEnded
from wellkept.core.session.hook_context import ContextLine
from wellkept.core.text import clean

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.clients.hook_spec import ClientFolders
    from wellkept.core.chat.transcripts import Transcript, UnreadableFile
    from wellkept.core.session.sessions import SpoolEntry

CLIENTS: Final[Mapping[str, str]] = MappingProxyType(
    {name: one.module for name, one in KNOWN.items() if one.module}
)
"""Client -> the module that translates its payloads."""
SOURCES: Final[Mapping[str, str]] = MappingProxyType(
    {name: one.transcripts for name, one in KNOWN.items() if one.transcripts}
)
"""Client -> the module that reads its transcripts."""

INJECTED_EVENT: Final = "wellkept.injected"
"""Spool entries of this name are our own: what a hook has injected."""
_MAX_TURN_BYTES: Final = 4 << 20
_NAMES: Final = ("source", "model", "reason", "trigger", "agent_type", "call_id")


class Translator(Protocol):
    """Turns a payload into at most one event. Never raises, whatever the payload holds."""

    def __call__(
        self, event_name: str, payload: Mapping[str, object], *, event_id: str, at: datetime
    ) -> list[Event]: ...


class TranscriptSource(Protocol):
    """A transcript reader: a client's transcript folders and the sessions in them."""

    def transcript_folders(self, folders: ClientFolders) -> list[Path]: ...

    def transcripts(
        self, paths: Sequence[Path], *, folders: ClientFolders
    ) -> Iterator[Transcript | UnreadableFile]: ...


def transcripts(
    name: str, *, folders: ClientFolders, paths: Sequence[Path] = ()
) -> Iterator[Transcript | UnreadableFile]:
    """A client's sessions: in the given paths, else in the client's own folders."""
    source = cast("TranscriptSource", import_module(SOURCES[name]))
    return source.transcripts(paths or source.transcript_folders(folders), folders=folders)


def translator(client: str) -> Translator:
    """The translator of a client. UsageError for an unknown client."""
    module = CLIENTS.get(client)
    if module is None:
        raise UsageError(f"Unknown client {client!r}.", hint=f"Known: {', '.join(CLIENTS)}.")
    return cast("Translator", import_module(module).events)


def translate(
    client: str, event_name: str, payload: bytes, *, event_id: str, at: datetime
) -> list[Event]:
    """The events in a raw payload; none when it is not a JSON object."""
    fields = _fields(payload)
    return (
        [] if fields is None else translator(client)(event_name, fields, event_id=event_id, at=at)
    )


def translate_spooled(entry: SpoolEntry, redact: Callable[[str], str]) -> list[Event]:
    """The events in a spool entry, with secrets in ids and names replaced.

    UsageError when the payload cannot be read, so that it is set aside and not lost. An empty
    payload gives no events. `redact` takes the secrets out of a text.
    """
    if entry.event == INJECTED_EVENT:
        injected = injected_events(entry, _fields(entry.payload) or {}, redact)
        return [_with_safe_names(event, redact) for event in injected]
    if entry.payload.strip() and _fields(entry.payload) is None:
        raise UsageError(f"The payload of {entry.client} for {entry.event} is not a JSON object.")
    events = translate(
        entry.client, entry.event, entry.payload, event_id=entry.event_id, at=entry.at
    )
    return [_with_safe_names(_with_usage(event, entry), redact) for event in events]


def _with_usage(event: Event, entry: SpoolEntry) -> Event:
    """The end of a turn or session with the tokens that the client's transcript tells."""
    is_end = isinstance(event, SessionEnded)
    if not is_end and not (isinstance(event, TurnEnded) and event.origin.agent is None):
        return event
    path = (_fields(entry.payload) or {}).get("transcript_path")
    if not isinstance(path, str) or not path or "\0" in path:
        return event
    from pathlib import Path

    from wellkept.clients.transcripts.usage import MAX_BYTES, usage_of

    # A turn ends often, so only small files are read then.
    most = MAX_BYTES if is_end else _MAX_TURN_BYTES
    usage = usage_of(entry.client, [Path(path)], max_bytes=most)
    return event if usage is None else replace(event, usage=usage)


def _with_safe_names(event: Event, redact: Callable[[str], str]) -> Event:
    """The event without secrets in ids and names; the observer cleans its texts."""

    def safe(text: str) -> str:
        """The text, or a stable stand-in when it holds a secret."""
        if redact(text) == text:
            return text
        from hashlib import sha256

        return f"redacted-{sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"

    origin = event.origin
    safe_origin = replace(
        origin,
        session_id=safe(origin.session_id),
        agent=origin.agent and safe(origin.agent),
        # A renamed folder would be another folder.
        cwd=origin.cwd if origin.cwd and safe(origin.cwd) == origin.cwd else None,
    )
    values = {name: getattr(event, name, None) for name in _NAMES}
    names = {name: safe(value) for name, value in values.items() if isinstance(value, str)}
    return replace(event, origin=safe_origin, **names)


def _fields(payload: bytes) -> dict[str, object] | None:
    import json

    try:
        read: object = json.loads(payload.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", read) if isinstance(read, dict) else None


_MAX_LINES = 200
_MAX_TEXT_CHARS = 4_000
_MAX_NAME_CHARS = 200


def injected_events(
    entry: SpoolEntry, fields: Mapping[str, object], redact: Callable[[str], str]
) -> list[ContextInjected]:
    """The event in an entry; none when session, project or lines are missing."""

    def safe(value: object, limit: int = _MAX_TEXT_CHARS) -> str:
        return redact(clean(value[:limit])) if isinstance(value, str) else ""

    raw = fields.get("lines")
    rows = cast("list[object]", raw)[:_MAX_LINES] if isinstance(raw, list) else []
    lines = [line for row in rows if (line := _line(row, safe)) is not None]
    session, project = _name(fields, "session"), _name(fields, "project")
    if not (session and project and lines):
        return []
    tokens = fields.get("tokens")
    origin = Origin(
        event_id=entry.event_id,
        client=entry.client,
        session_id=session,
        at=entry.at,
        cwd=_name(fields, "cwd", limit=_MAX_TEXT_CHARS) or None,
        agent=_name(fields, "agent") or None,
    )
    return [
        ContextInjected(
            origin=origin,
            project=project,
            moment=_name(fields, "moment") or "session",
            trigger=safe(fields.get("trigger")),
            tokens=max(0, tokens) if isinstance(tokens, int) else 0,
            lines=tuple(lines),
        )
    ]


def _line(row: object, safe: Callable[[object], str]) -> ContextLine | None:
    if not isinstance(row, dict):
        return None
    fields = cast("dict[str, object]", row)
    text = safe(fields.get("text"))
    if not text:
        return None
    return ContextLine(
        text,
        _name(fields, "kind") or "other",
        _name(fields, "id"),
        _name(fields, "memory") or None,
        safe(fields.get("reason")),
        *_score(fields.get("score")),
    )


def _score(given: object) -> tuple[float | None, ...]:
    """Score, importance and confidence of a line; entries of earlier versions have none."""
    values = cast("list[object]", given) if isinstance(given, list) else []
    numbers = [
        float(one) if isinstance(one, (int, float)) and isfinite(one) else None
        for one in values[:3]
    ]
    return (*numbers, *[None] * (3 - len(numbers)))


def _name(fields: Mapping[str, object], key: str, *, limit: int = _MAX_NAME_CHARS) -> str:
    value = fields.get(key)
    return clean(value) if isinstance(value, str) and len(value) <= limit else ""
