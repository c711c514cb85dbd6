"""A session summed up by rule from what was gathered on its desk."""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.payloads import SessionSummary
from wellkept.core.sessions import SessionRecord
from wellkept.core.text import content_words, counted, shorten
from wellkept.observe.reading.command_results import short_test_name
from wellkept.observe.reading.prompt_rules import next_steps, plain
from wellkept.observe.session.state import SessionState, SummaryInput
from wellkept.observe.session.titles import base, listed

MAX_PART_CHARS = 900


def sum_up(session: SessionRecord, desk: SessionState) -> SessionSummary | None:
    """What a session was about and how far it got; None when nothing happened in it."""
    tale = desk.tale
    if not (tale.requests or tale.done or tale.learned or tale.commits):
        return None
    return SessionSummary(
        request=_part(_request(tale)),
        investigated=_part(_investigated(tale)),
        learned=_part("; ".join(tale.learned[-8:])),
        completed=_part(_completed(tale)),
        next_steps=_part("; ".join([*next_steps(tale.last_message), *_unsolved(desk)][:6])),
        notes=_part(_notes(session, tale)),
        files_read=tale.files_read,
        files_modified=tale.files_modified,
        branch=session.branch,
        commit=session.commit_sha,
    )


def _request(tale: SummaryInput) -> str:
    """The first request and the latest ones; "continue" and the like say nothing here."""
    first, *later = tale.requests or ("",)
    telling = [request for request in later if len(content_words(request)) > 2][-3:]
    return f"{first} Then: {' / '.join(telling)}" if telling else first


def _investigated(tale: SummaryInput) -> str:
    parts: list[str] = []
    if tale.files_read:
        parts.append(f"Read {listed([base(p) for p in reversed(tale.files_read)], most=6)}")
    if tale.searches:
        parts.append(f"searched for {listed([repr(s) for s in reversed(tale.searches)], most=3)}")
    return "; ".join(parts)


def _completed(tale: SummaryInput) -> str:
    """Commits speak for the work that went into them; the rest speaks for itself."""
    commits = [f"{subject} (committed)" for subject in tale.commits[-8:]]
    done = [d for d in tale.done if d not in tale.commits]
    return "; ".join([*commits, *done[-8:]])


def _unsolved(desk: SessionState) -> Sequence[str]:
    open_failures = [f for thread in desk.threads for f in thread.failures if f.is_test or f.names]
    return [
        f"Make {listed([short_test_name(n) for n in f.names])} pass"
        if f.names
        else f"Make `{shorten(f.command, limit=60)}` work"
        for f in open_failures
    ]


def _notes(session: SessionRecord, tale: SummaryInput) -> str:
    said = plain(tale.last_message or "")
    parts = [
        f"{counted(session.turn_count, 'turn')}, {counted(session.tool_count, 'tool call')}",
        *([f"sub-agents: {listed(tale.agents, most=4)}"] if tale.agents else ()),
        *([f"last words: {shorten(said, limit=300)}"] if said else ()),
    ]
    return "; ".join(parts)


def _part(text: str) -> str | None:
    return shorten(" ".join(text.split()), limit=MAX_PART_CHARS) or None
