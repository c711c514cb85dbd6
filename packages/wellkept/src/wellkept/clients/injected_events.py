"""Reads back what `answers.injection_spool` wrote: a spool entry to a `ContextInjected` event.

The entry was written by Wellkept itself, but a file can be damaged or edited: whatever has an
unexpected shape is left out, texts are bounded and redacted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import cast

from wellkept.core.session.events import ContextInjected, Origin
from wellkept.core.session.hook_context import ContextLine
from wellkept.core.session.sessions import SpoolEntry
from wellkept.core.text import clean

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
