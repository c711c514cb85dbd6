"""Where work was left off: what the last session on a branch did, and its open ends.

Read from the session's own record and step log, so nothing needs to be learned first. Open ends
come before results: uncommitted files, commits that were not pushed, commands that keep failing.
Lines are data for an agent: short, dated, in exact form, and empty when there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from wellkept.core.clock import from_ms
from wellkept.core.session_steps import SessionStep
from wellkept.core.sessions import SessionRecord
from wellkept.core.text import content_words, shorten
from wellkept.observe.reading.command_purpose import git_verb
from wellkept.observe.reading.shell import parse_command
from wellkept.observe.session.state import SessionState, load_state

MAX_SESSIONS = 5
MAX_DAYS = 30
_MAX_FILES = 6
_MAX_FAILING = 2
_MAX_CHECKS = 3
_MIN_FAILURES = 2
_REQUEST_CHARS = 160
_ERROR_CHARS = 120
_COMMAND_CHARS = 120


def left_off_lines(
    sessions: Sequence[SessionRecord],
    *,
    branch: str | None,
    now: datetime,
    current: str | None = None,
) -> list[str]:
    """Lines about the latest work of a project; `sessions` latest first, `current` is the session
    that asks. Work on this branch goes before work elsewhere."""
    recent = [
        session
        for session in sessions
        if session.id != current and (now - session.last_event_at).days <= MAX_DAYS
    ]
    here = [one for one in recent if branch is None or one.branch in (branch, None)]
    ordered = [*here, *(one for one in recent if one not in here)][:MAX_SESSIONS]
    told = [(one, state) for one in ordered if _has_content(state := load_state(one.work))]
    if not told:
        return []
    (last, state), *earlier = told
    return [*_last(last, state), *_earlier(earlier)]


def _has_content(state: SessionState) -> bool:
    return bool(state.summary.commits or any(step.is_edit for step in state.steps))


def _last(session: SessionRecord, state: SessionState) -> Iterator[str]:
    when = session.last_event_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
    where = f", branch {session.branch}" if session.branch else ""
    asked = _asked(state)
    yield f"Last work ({when} UTC{where}){f': {asked}' if asked else ''}"
    yield from _commits(session, state)
    if files := _uncommitted(state.steps):
        more = f" and {len(files) - _MAX_FILES} more" if len(files) > _MAX_FILES else ""
        yield f"Edited after the last commit: {', '.join(files[:_MAX_FILES])}{more}"
    for step, times in _failing(state.steps)[:_MAX_FAILING]:
        why = f" ({shorten(step.error, limit=_ERROR_CHARS)})" if step.error else ""
        yield f"Failed {times} times, not solved: `{_command(step)}`{why}"
    if checks := _checks(state.steps):
        yield f"Checks: {'; '.join(checks)}"


def _asked(state: SessionState) -> str:
    """The last request that says something; "commit" or "yes" does not."""
    telling = [one for one in state.summary.requests if len(content_words(one)) > 2]
    return f"asked “{shorten(telling[-1], limit=_REQUEST_CHARS)}”" if telling else ""


def _commits(session: SessionRecord, state: SessionState) -> Iterator[str]:
    if not state.summary.commits:
        return
    subject = shorten(state.summary.commits[-1], limit=_REQUEST_CHARS)
    sha = f"{session.commit_sha[:9]} " if session.commit_sha else ""
    pushed = _was_pushed(state.steps)
    yield f"Committed: {sha}{subject}" + ("" if pushed else " (no push seen)")


def _was_pushed(steps: Sequence[SessionStep]) -> bool:
    for step in reversed(steps):
        if _ran_git(step, "push"):
            return True
        if _ran_git(step, "commit"):
            return False
    return False


def _ran_git(step: SessionStep, verb: str) -> bool:
    """Whether a line ran a git command; commit and push are often one line."""
    if not step.ok or step.kind != "run" or verb not in step.command:
        return False
    commands = parse_command(step.command)
    return any(one.words[0] == "git" and git_verb(one.words) == verb for one in commands)


def _uncommitted(steps: Sequence[SessionStep]) -> list[str]:
    files: dict[str, None] = {}
    for step in steps:
        if _ran_git(step, "commit"):
            files = {}
        elif step.is_edit:
            files[step.what] = None
    return list(files)


def _failing(steps: Sequence[SessionStep]) -> list[tuple[SessionStep, int]]:
    """Commands that failed several times and did not work afterwards, the last failure of each."""
    open_failures: dict[str, tuple[SessionStep, int]] = {}
    for step in steps:
        if step.kind != "run":
            continue
        if step.ok:
            open_failures.pop(step.what, None)
        else:
            _, times = open_failures.get(step.what, (step, 0))
            open_failures[step.what] = (step, times + step.count)
    return [one for one in open_failures.values() if one[1] >= _MIN_FAILURES][::-1]


def _checks(steps: Sequence[SessionStep]) -> list[str]:
    """The last outcome of each test or check command, the latest ones."""
    last: dict[str, SessionStep] = {}
    for step in steps:
        if step.kind == "run" and step.purpose in ("test", "check"):
            last.pop(step.what, None)
            last[step.what] = step
    return [
        f"`{_command(step)}` {'passed' if step.ok else 'failed'}"
        f" {from_ms(step.at_ms).strftime('%H:%M')}"
        for step in list(last.values())[-_MAX_CHECKS:]
    ]


def _command(step: SessionStep) -> str:
    folder = f"cd {step.folder} && " if step.folder else ""
    return shorten(f"{folder}{step.what}", limit=_COMMAND_CHARS)


def _earlier(sessions: Sequence[tuple[SessionRecord, SessionState]]) -> Iterator[str]:
    """Older work, one line each."""
    for session, state in sessions:
        what = state.summary.commits[-1] if state.summary.commits else session.title or ""
        if len(content_words(what)) > 1:
            day = session.last_event_at.astimezone(UTC).date().isoformat()
            yield f"Earlier, {day}: {shorten(what, limit=_COMMAND_CHARS)}"
