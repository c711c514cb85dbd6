"""How lines about earlier work name times, commands, requests and files: short and exact."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from wellkept.context.start.unfinished_work import OpenEnds, shown_command
from wellkept.core.clock import from_ms
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.session.steps import SessionStep
from wellkept.core.text import shorten

_REQUEST_CHARS = 110
_SUBJECT_CHARS = 64
_COMMAND_CHARS = 110
_FILES_CHARS = 260
_MAX_FILES = 6


def ended(work: OpenEnds) -> datetime:
    """When a session was last active."""
    return work.session.last_event_at.astimezone(UTC)


def period(session: SessionRecord, now: datetime) -> str:
    """From when to when a session went, as seen from now."""
    begin, end = session.started_at.astimezone(UTC), session.last_event_at.astimezone(UTC)
    if begin.date() == end.date():
        return f"{day_of(end, now)} {begin:%H:%M}-{end:%H:%M} UTC"
    return f"{day_of(begin, now)} {begin:%H:%M} to {day_of(end, now)} {end:%H:%M} UTC"


def day_of(when: datetime, now: datetime) -> str:
    """The day of a moment; the year only when it is another one."""
    if when.date() == now.astimezone(UTC).date():
        return "today"
    return f"{when:%m-%d}" if when.year == now.year else f"{when:%Y-%m-%d}"


def time_of(step: SessionStep) -> str:
    """The time of day of a step."""
    return f"{from_ms(step.at_ms).astimezone(UTC):%H:%M}"


def command_of(step: SessionStep) -> str:
    """The command of a step, with its folder."""
    return shown_command(step, limit=_COMMAND_CHARS)


def short_request(request: str) -> str:
    """A request, cut to one short line."""
    return shorten(request, limit=_REQUEST_CHARS)


def short_subject(text: str) -> str:
    """The subject of a commit or a title, cut to a part of a line."""
    return shorten(text, limit=_SUBJECT_CHARS)


def files_of(paths: Sequence[str], *, most: int = _MAX_FILES) -> str:
    """The latest files, as many as fit on a line."""
    told: list[str] = []
    for path in reversed(paths[-most:]):
        if told and sum(map(len, told)) + len(path) > _FILES_CHARS:
            break
        told.insert(0, path)
    left = len(paths) - len(told)
    return ", ".join(told) + (f" and {left} more" if left else "")
