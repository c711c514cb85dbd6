"""Write a session's summary by rule from its state."""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.payloads import SessionSummary
from wellkept.core.sessions import SessionRecord
from wellkept.core.text import content_words, counted, shorten
from wellkept.observe.reading.command_results import short_test_name
from wellkept.observe.reading.prompt_rules import next_steps, plain
from wellkept.observe.session.state import SessionState, SummaryInput
from wellkept.observe.session.titles import listed, short_path

MAX_PART_CHARS = 900


def summarize(session: SessionRecord, state: SessionState) -> SessionSummary | None:
    """The summary of a session; None when nothing happened."""
    summary = state.summary
    if not (summary.requests or summary.done or summary.learned or summary.commits):
        return None
    return SessionSummary(
        request=_part(_request(summary)),
        investigated=_part(_investigated(summary)),
        learned=_part("; ".join(summary.learned[-8:])),
        completed=_part(_completed(summary)),
        next_steps=_part("; ".join([*next_steps(summary.last_message), *_unsolved(state)][:6])),
        notes=_part(_notes(session, summary)),
        files_read=summary.files_read,
        files_modified=summary.files_modified,
        branch=session.branch,
        commit=session.commit_sha,
    )


def _request(summary: SummaryInput) -> str:
    """The first request and the latest ones, without short ones such as "continue"."""
    first, *later = summary.requests or ("",)
    informative = [request for request in later if len(content_words(request)) > 2][-3:]
    return f"{first} Then: {' / '.join(informative)}" if informative else first


def _investigated(summary: SummaryInput) -> str:
    parts: list[str] = []
    if summary.files_read:
        parts.append(
            f"Read {listed([short_path(p) for p in reversed(summary.files_read)], most=6)}"
        )
    if summary.searches:
        parts.append(
            f"searched for {listed([repr(s) for s in reversed(summary.searches)], most=3)}"
        )
    return "; ".join(parts)


def _completed(summary: SummaryInput) -> str:
    """Commits first, then work that was not committed."""
    commits = [f"{subject} (committed)" for subject in summary.commits[-8:]]
    done = [d for d in summary.done if d not in summary.commits]
    return "; ".join([*commits, *done[-8:]])


def _unsolved(state: SessionState) -> Sequence[str]:
    open_failures = [f for f in state.failures if f.is_test or f.names]
    return [
        f"Make {listed([short_test_name(n) for n in f.names])} pass"
        if f.names
        else f"Make `{shorten(f.command, limit=60)}` work"
        for f in open_failures
    ]


def _notes(session: SessionRecord, summary: SummaryInput) -> str:
    said = plain(summary.last_message or "")
    parts = [
        f"{counted(session.turn_count, 'turn')}, {counted(session.tool_count, 'tool call')}",
        *([f"sub-agents: {listed(summary.agents, most=4)}"] if summary.agents else ()),
        *([f"last words: {shorten(said, limit=300)}"] if said else ()),
    ]
    return "; ".join(parts)


def _part(text: str) -> str | None:
    return shorten(" ".join(text.split()), limit=MAX_PART_CHARS) or None
