"""Sessions and lines given in words: for a terminal and for a model."""

from __future__ import annotations

from wellkept.api.views.session_timeline import SessionTimeline
from wellkept.context.packing import quoted
from wellkept.core.ports.injections import Injection
from wellkept.core.text import first_line


def given_lines(one: Injection) -> list[str]:
    """One moment in words: when and why, then each line with what came of it."""
    head = f"{one.at:%Y-%m-%d %H:%M} {one.moment}, session {one.session_id[:12]}"
    trigger = f": {quoted(first_line(one.trigger))}" if one.trigger else ""
    return [
        f"{head}, {one.tokens} tokens{trigger}",
        *(f"  {line.outcome.value}: {quoted(line.text)}" for line in one.lines),
    ]


def timeline_lines(found: SessionTimeline) -> list[str]:
    """A timeline in words, one line for each entry."""
    session = found.session
    lines = [f"{session.id} {session.started_at:%Y-%m-%d %H:%M} {found.phase.value}"]
    for one in found.entries:
        if one.given is not None:
            lines += [f"{one.at:%H:%M} {line}" for line in given_lines(one.given)[:1]]
        elif one.memory is not None:
            title = quoted(first_line(one.memory.content))
            lines.append(f"{one.at:%H:%M} {one.kind.value} [m:{one.memory.short}] {title}")
    return lines
