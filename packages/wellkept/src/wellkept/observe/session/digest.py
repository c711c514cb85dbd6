"""The digest of a session: what it was about and how it ended, in the words that were said.

One pure function over the session's record and step log; start, hand-over, page and `sessions show`
use the same one. Text is quoted from the best source there is; the rest are exact records.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.core.records import record
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.session.steps import SessionStep
from wellkept.observe.session.state import AgentMessage, MadeCommit, SessionState, load_state
from wellkept.text.events.prompt_rules import tells
from wellkept.text.reports import open_ends, sentences
from wellkept.text.shell.purpose import git_verb
from wellkept.text.shell.reader import parse_command

DigestSource: TypeAlias = Literal["agent", "model", "compaction", "report", "records"]
_STATUS_CHARS = 400
_COMMITS = re.compile(
    r"^(?:\W*(?:ok(?:ay)?|yes|now|and|then|please|also)\b)*\W*(?:commit|push)\b", re.I
)
_REDACTED = "REDACTED"


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
    found: tuple[str, ...] = ()
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
    said = state.summary
    source, outcome = _outcome(state, noted=noted, by_model=by_model)
    return SessionDigest(
        session=session.id,
        client=session.client,
        ended=session.last_event_at,
        branch=session.branch,
        asked=tuple(one for one in said.requests if tells(one)),
        outcome=outcome,
        open=tuple(open_ends(outcome)),
        decided=said.decided,
        found=said.found,
        files=tuple(edited(state.steps)),
        commits=said.commits,
        checks=tuple(checks(state.steps)),
        source=source,
    )


def _outcome(
    state: SessionState, *, noted: str, by_model: str
) -> tuple[DigestSource, tuple[str, ...]]:
    said = state.summary
    if noted or by_model:
        return ("agent" if noted else "model"), tuple(sentences(noted or by_model))
    if not state.step:
        return "records", ()
    report = closing_report(said.messages)
    last_at = said.messages[-1].at_ms if said.messages else 0
    if said.compaction and said.compacted_at_ms > last_at:
        return "compaction", tuple(sentences(said.compaction))
    return ("report" if report else "records"), report


def closing_report(messages: Sequence[AgentMessage]) -> tuple[str, ...]:
    """The latest of the last messages that says at least half as much as the longest. One after it
    that only answers "commit" or "push" is how the work stands, and belongs with it."""
    read = [(one, sentences(one.text)) for one in messages]
    sizes = [len(" ".join(said)) for _, said in read]
    longest = max(sizes, default=0)
    if not longest:
        return ()
    number = max(number for number, size in enumerate(sizes) if 2 * size >= longest)
    report = read[number][1]
    for later, said in read[number + 1 :]:
        if _COMMITS.match(later.asked) and len(" ".join(said)) <= _STATUS_CHARS:
            report = [*report, *said]
    return tuple(report)


def edited(steps: Sequence[SessionStep]) -> list[str]:
    """Every file that was edited, the last one last; redaction may have cut a path."""
    named = [one.what for one in reversed(steps) if one.is_edit and _REDACTED not in one.what]
    return list(dict.fromkeys(named))[::-1]


def since_commit(steps: Sequence[SessionStep]) -> list[str]:
    """Files edited since the last commit that was seen."""
    last = max((number for number, one in enumerate(steps) if _is_commit(one)), default=-1)
    return edited(steps[last + 1 :])


def checks(steps: Sequence[SessionStep]) -> list[SessionStep]:
    """The last run of each test or check command, in order."""
    last: dict[tuple[str, str | None], SessionStep] = {}
    for one in steps:
        if one.kind == "run" and one.purpose in ("test", "check"):
            last.pop((one.command, one.folder), None)
            last[(one.command, one.folder)] = one
    return list(last.values())


def _is_commit(step: SessionStep) -> bool:
    """Whether a line committed; commit and push are often one line."""
    if not step.ok or step.kind != "run" or "commit" not in step.command:
        return False
    commands = parse_command(step.command)
    return any(one.words[0] == "git" and git_verb(one.words) == "commit" for one in commands)
