"""The stored summary of a session: its digest, in the fields that a summary has."""

from __future__ import annotations

from wellkept.core.payloads import SessionSummary
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.text import shorten
from wellkept.observe.session.digest import digest_of
from wellkept.observe.session.state import SessionState
from wellkept.text.events.prompt_rules import next_steps

MAX_PART_CHARS = 900
_LATEST = 8


def summarize(session: SessionRecord, state: SessionState) -> SessionSummary | None:
    """The summary of a session; None when nothing happened."""
    digest = digest_of(session, state=state)
    if not (digest.asked or digest.says_something or state.summary.requests):
        return None
    first, *later = digest.asked or state.summary.requests or ("",)
    commits = [f"{one.sha or ''} {one.subject}".strip() for one in digest.commits[-_LATEST:]]
    said = " ".join(digest.outcome) or ("" if commits else ", ".join(digest.files))
    return SessionSummary(
        request=_part(" / ".join((first, *later[-3:]))),
        investigated=_part(", ".join(reversed(state.summary.files_read[-_LATEST:]))),
        learned=_part("; ".join((*digest.decided, *digest.found)[-_LATEST:])),
        completed=_part("; ".join(filter(None, (*commits, said)))),
        next_steps=_part(
            "; ".join(dict.fromkeys((*digest.open, *next_steps(state.summary.last_message))))
        ),
        notes=_part("; ".join(state.summary.agents[-3:])),
        files_read=state.summary.files_read,
        files_modified=state.summary.files_modified,
        branch=session.branch,
        commit=session.commit_sha,
    )


def _part(text: str) -> str | None:
    return shorten(" ".join(text.split()), limit=MAX_PART_CHARS) or None
