"""Write a session's summary by rule from its state."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellkept.core.payloads import SessionSummary
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.text import shorten
from wellkept.observe.session.state import SessionState, SummaryInput
from wellkept.observe.session.titles import listed, short_path
from wellkept.text.events.prompt_rules import next_steps, plain, tells
from wellkept.text.shell.results import short_test_name

MAX_PART_CHARS = 900
_OPENING_WORDS = re.compile(
    r"(?:perfect|great|excellent|good|ok|now|done|here|let me|i (?:now )?have|summary|based on"
    r"|api error)\b",
    re.I,
)


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
        notes=_part(_notes(summary)),
        files_read=summary.files_read,
        files_modified=summary.files_modified,
        branch=session.branch,
        commit=session.commit_sha,
    )


def _request(summary: SummaryInput) -> str:
    """The first request and the latest ones, without short ones such as "continue"."""
    first, *later = summary.requests or ("",)
    informative = [request for request in later if tells(request)][-3:]
    if not tells(first) and informative:
        first, *informative = informative
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


def _notes(summary: SummaryInput) -> str:
    """The agent's last words, if they say more than that it goes on."""
    said = plain(summary.last_message or "")
    reports = [one for one in summary.agents if _is_report(one)]
    parts = [
        *([f"sub-agents: {listed(reports, most=3)}"] if reports else ()),
        *([f"last words: {shorten(said, limit=300)}"] if tells(said) else ()),
    ]
    return "; ".join(parts)


def _is_report(agent: str) -> bool:
    """Whether a sub-agent's last line says what it did, not only that it is done."""
    _, _, said = agent.partition(": ")
    return tells(said) and _OPENING_WORDS.match(said) is None


def _part(text: str) -> str | None:
    return shorten(" ".join(text.split()), limit=MAX_PART_CHARS) or None
