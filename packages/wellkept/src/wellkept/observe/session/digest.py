"""The digest of a session: what it was about and how it ended, in the words that were said.

One pure function over the session's record and step log; start, hand-over, page and `sessions show`
use the same one. Text is quoted from the best source there is; the rest are exact records.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.core.payloads import SessionSummary
from wellkept.core.records import record
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.session.steps import SessionStep
from wellkept.core.text import shorten
from wellkept.core.types import Phase
from wellkept.observe.session.state import SessionState, load_state
from wellkept.text.events.prompt_rules import next_steps, tells
from wellkept.text.reports import open_ends, sentences

DigestSource: TypeAlias = Literal["agent", "model", "compaction", "report", "records"]
_STATUS_CHARS, _TOLD_CHARS = 400, 500
_COMMITS = re.compile(
    r"^(?:\W*(?:ok(?:ay)?|yes|now|and|then|please|also)\b)*\W*(?:commit|push)\b", re.I
)
_REDACTED = "REDACTED"


@record
class MadeCommit:
    """A commit that a session made; the hash when git printed it."""

    subject: str
    sha: str | None = None


@record(kw_only=True)
class SessionDigest:
    """What a session was about. `outcome` are sentences as written, in their order; `open` those
    of them that name something left open. `files` are the edited ones, the last one last."""

    session: str
    client: str
    ended: datetime
    branch: str | None = None
    asked: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    commits: tuple[MadeCommit, ...] = ()
    checks: tuple[SessionStep, ...] = ()
    source: DigestSource = "records"

    @property
    def says_something(self) -> bool:
        """Whether there is anything to tell of it."""
        return bool(self.outcome or self.commits or self.files)


def digest_of(
    session: SessionRecord,
    *,
    noted: str = "",
    by_model: str = "",
    state: SessionState | None = None,
) -> SessionDigest:
    """The digest of a session. `noted` is what the agent itself stored about it, `by_model` what a
    model wrote that read it. A session in which no tool ran has no outcome."""
    state = state or load_state(session.work)
    source, outcome = _outcome(state, noted=noted, by_model=by_model)
    return SessionDigest(
        session=session.id,
        client=session.client,
        ended=session.last_event_at,
        branch=session.branch,
        asked=tuple(one for one in state.requests if tells(one)),
        outcome=outcome,
        open=tuple(open_ends(outcome)),
        decided=state.whats("decision"),
        files=tuple(edited(state.steps)),
        commits=tuple(MadeCommit(one.said.partition("\n")[0], one.sha) for one in state.commits),
        checks=tuple(checks(state.steps)),
        source=source,
    )


def _outcome(
    state: SessionState, *, noted: str, by_model: str
) -> tuple[DigestSource, tuple[str, ...]]:
    if noted or by_model:
        return ("agent" if noted else "model"), tuple(sentences(noted or by_model))
    if not state.step:
        return "records", ()
    messages = state.reports
    report = closing_report([(one.said, asked) for one, asked in messages])
    last_at = messages[-1][0].at_ms if messages else 0
    compacted = state.compaction
    if compacted is not None and compacted.at_ms > last_at:
        return "compaction", tuple(sentences(compacted.said))
    return ("report" if report else "records"), report


def closing_report(messages: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The latest of the last messages, each with what was asked, that says at least half as much as
    the longest, or as is ever told: it may correct the one before. One after it that only answers
    "commit" or "push" is how the work stands, and belongs with it."""
    read = [(asked, sentences(text)) for text, asked in messages]
    sizes = [len(" ".join(said)) for _, said in read]
    longest = min(max(sizes, default=0), _TOLD_CHARS)
    if not longest:
        return ()
    number = max(number for number, size in enumerate(sizes) if 2 * size >= longest)
    report = read[number][1]
    for asked, said in read[number + 1 :]:
        if _COMMITS.match(asked) and len(" ".join(said)) <= _STATUS_CHARS:
            report = [*report, *said]
    return tuple(report)


def edited(steps: Sequence[SessionStep]) -> list[str]:
    """Every file that was edited, the last one last; redaction may have cut a path."""
    named = [one.what for one in reversed(steps) if one.is_edit and _REDACTED not in one.what]
    return list(dict.fromkeys(named))[::-1]


def since_commit(steps: Sequence[SessionStep]) -> list[str]:
    """Files edited since the last commit that was seen."""
    last = max((number for number, one in enumerate(steps) if one.is_commit), default=-1)
    return edited(steps[last + 1 :])


def checks(steps: Sequence[SessionStep]) -> list[SessionStep]:
    """The last run of each test or check command, in order."""
    last: dict[tuple[str, str | None], SessionStep] = {}
    for one in steps:
        if one.kind == "run" and one.purpose in ("test", "check"):
            last.pop((one.command, one.folder), None)
            last[(one.command, one.folder)] = one
    return list(last.values())


MAX_PART_CHARS = 900
_LATEST, _MAX_FILES = 8, 40


def summarize(session: SessionRecord, state: SessionState) -> SessionSummary | None:
    """The summary of a session; None when nothing happened."""
    digest = digest_of(session, state=state)
    if not (digest.asked or digest.says_something or state.requests):
        return None
    read = state.whats("read")[-_MAX_FILES:]
    first, *later = digest.asked or state.requests or ("",)
    commits = [f"{one.sha or ''} {one.subject}".strip() for one in digest.commits[-_LATEST:]]
    said = " ".join(digest.outcome) or ("" if commits else ", ".join(digest.files))
    return SessionSummary(
        request=_part(" / ".join((first, *later[-3:]))),
        investigated=_part(", ".join(reversed(read[-_LATEST:]))),
        learned=_part("; ".join(digest.decided[-_LATEST:])),
        completed=_part("; ".join(filter(None, (*commits, said)))),
        next_steps=_part("; ".join(dict.fromkeys((*digest.open, *next_steps(state.last_message))))),
        notes=_part("; ".join(state.whats("agent")[-3:])),
        files_read=read,
        files_modified=state.files_modified[-_MAX_FILES:],
        branch=session.branch,
        commit=session.commit_sha,
    )


def _part(text: str) -> str | None:
    return shorten(" ".join(text.split()), limit=MAX_PART_CHARS) or None


WorkKind: TypeAlias = Literal["fix", "feature", "refactor", "change", "check", "look"]


def kind_of_work(session: SessionRecord) -> WorkKind:
    """What the session did: what was asked for when files were changed, else what it ran."""
    state = load_state(session.work)
    if any(step.is_edit for step in state.steps):
        return state.intent if state.intent != "other" else "change"
    has_checked = any(step.purpose in ("test", "check") for step in state.steps)
    return "check" if has_checked else "look"


def phase_of_work(session: SessionRecord) -> Phase:
    """The phase that this kind of work belongs to."""
    match kind_of_work(session):
        case "fix" | "refactor":
            return Phase.REFINE
        case "feature" | "change":
            return Phase.IMPLEMENT
        case "check":
            return Phase.VALIDATE
        case "look":
            return Phase.EXPLORE
