"""The last work at a session start: the digest of the session to go on from, and earlier ones.

The text is quoted. What a sentence names is looked up first: one that names a commit or a file that
is no longer there is left out, and so is one about what was committed or pushed then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from wellkept.core.records import record
from wellkept.core.session.sessions import SessionRecord
from wellkept.observe.session.digest import SessionDigest, edited
from wellkept.observe.session.state import load_state
from wellkept.text.events.prompt_rules import tells
from wellkept.text.reports import cut, is_git_state

DIGEST_TOKENS = 115
_EARLIER_TOKENS = 40
_HERE_WITHIN = timedelta(days=3)
_TEAM_WITHIN = timedelta(minutes=3)
_RUNNING_WITHIN = timedelta(minutes=10)
_MAX_FILES = 2
_SHA = re.compile(r"(?<![\w/.:#@=-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w-])")
_PATH = re.compile(r"(?<![\w/.@:~+-])(?:[\w.@+-]+/)+[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7}(?![\w/])")
_GONE = re.compile(r"\b(?:delet|remov|renam|mov)ed\b", re.IGNORECASE)
_CLAIMS = re.compile(
    r"`([^`\n]+ [^`\n]+)`(?:\s*\(?(?:passe[sd]|works|worked|succeed(?:s|ed))\b"
    r"|[^`.;\n]{0,60}?\b(fail)(?:s|ed|ing)\b)"
)
_ADDRESS = re.compile(r"https?://\S+")

Unknown: TypeAlias = Callable[[Sequence[str], Sequence[str]], frozenset[str]]
"""Hashes and paths -> those that are not there."""


@record(kw_only=True)
class Situation:
    """Where a session starts: branch, folder, time, and the session itself."""

    now: datetime
    branch: str | None = None
    root: str | None = None
    current: str | None = None


def to_go_on_from(sessions: Sequence[SessionRecord], *, at: Situation) -> list[SessionRecord]:
    """Sessions in which a tool ran, the one to go on from first, then latest first: on this branch,
    else the latest."""
    told = [
        one
        for one in sessions
        if one.id != at.current and load_state(one.work).step and not is_running(one, at=at)
    ]
    here = [one for one in told if at.branch is None or one.branch in (at.branch, None)]
    # Work elsewhere that is days newer was probably merged, or has taken this one's place.
    if not here or told[0].last_event_at - here[0].last_event_at > _HERE_WITHIN:
        return told
    return [here[0], *(one for one in told if one is not here[0])]


def is_running(session: SessionRecord, *, at: Situation) -> bool:
    """Whether a session that hooks capture is in the middle of a turn; a transcript does not tell,
    and many clients never say that a session ended."""
    state = load_state(session.work)
    if state.captured_from is None or not session.is_open:
        return False
    if at.now - session.last_event_at > _RUNNING_WITHIN:
        return False
    said = [step for step, _ in state.reports]
    acts = [step for step in state.steps if step.is_act]
    return not said or any(step.at_ms > said[-1].at_ms for step in acts[-1:])


def is_team_starting(sessions: Sequence[SessionRecord], *, at: Situation) -> bool:
    """Whether team-mates' sessions began just now: the one that starts is of the same team, and its
    brief says what it needs."""
    return any(
        not one.prompt_count and one.title is not None
        for one in sessions
        if one.id != at.current
        and at.now - one.started_at <= _TEAM_WITHIN
        and at.now - one.last_event_at <= _TEAM_WITHIN
    )


def title_of(digest: SessionDigest, *, branch: str | None = None, first: str = "Last work") -> str:
    """Who said it, when, and on which branch."""
    where = f", branch {digest.branch}" if digest.branch and digest.branch != branch else ""
    said = {"records": "what was done", "model": "a model's account"}.get(
        digest.source, "in the agent's words"
    )
    return f"{first} ({_when(digest)}, {digest.client}{where}), {said}"


def digest_line(digest: SessionDigest, *, unknown: Unknown, tokens: int = DIGEST_TOKENS) -> str:
    """The digest on one line; without any words its commits, else its files."""
    # A command that is said to pass or fail ran like that from the project's root, and ended so.
    ran = {(one.typed, "" if one.ok else "fail") for one in digest.checks if one.began == ""}
    proved = [one for one in digest.outcome if ran.issuperset(_CLAIMS.findall(one))]
    said = standing(proved, unknown=unknown)
    # "Got it, go ahead and rebase." is no report.
    if tells(" ".join(said)):
        return cut(said, tokens=tokens)
    made = [f"{one.sha or ''} {one.subject}".strip() for one in digest.commits]
    if made := standing(made, unknown=unknown):
        return f"Committed: {cut(made[::-1], tokens=tokens)}"
    left = unknown((), digest.files)
    files = [one for one in digest.files if one not in left]
    return f"Edited: {listed(files[::-1])}" if files else ""


def earlier_line(digest: SessionDigest, *, unknown: Unknown) -> str:
    """The beginning of an earlier digest, with its time."""
    said = cut(standing(digest.outcome, unknown=unknown), tokens=_EARLIER_TOKENS)
    return f"{_when(digest)}: {said}" if said else ""


def at_work(sessions: Sequence[SessionRecord], *, at: Situation) -> Iterator[str]:
    """Sessions that are in the middle of a turn here, and the files that they edit."""
    for one in sessions:
        if one.id == at.current or not is_running(one, at=at) or not _is_same_tree(one, at):
            continue
        if files := edited(load_state(one.work).steps):
            yield f"Another session is at work here; it edited {listed(files[::-1])}"


def standing(said: Sequence[str], *, unknown: Unknown) -> list[str]:
    """The sentences that name no commit and no file that is not there, and do not say what git is
    asked for now."""
    said = [one for one in said if not is_git_state(one)]
    named = [_names(one) for one in said]
    gone = unknown(
        [sha for shas, _ in named for sha in shas], [path for _, paths in named for path in paths]
    )
    return [
        one
        for one, (shas, paths) in zip(said, named, strict=True)
        if gone.isdisjoint((*shas, *paths))
    ]


def listed(paths: Sequence[str], *, most: int = _MAX_FILES) -> str:
    """The first files, and how many more there are."""
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more


def named_first(paths: Sequence[str], named: Sequence[str]) -> str:
    """Files that were named before others; only their number when none was."""
    mine = [one for one in paths if one in named]
    if not mine and len(paths) > 1:
        return f"{len(paths)} files"
    return listed([*mine, *(one for one in paths if one not in named)])


def _names(sentence: str) -> tuple[list[str], list[str]]:
    plain = _ADDRESS.sub(" ", sentence)
    return _SHA.findall(plain), [] if _GONE.search(plain) else _PATH.findall(plain)


def _when(digest: SessionDigest) -> str:
    return f"{digest.ended.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _is_same_tree(session: SessionRecord, at: Situation) -> bool:
    """Whether a session works in this folder; unknown counts as yes."""
    if at.root is None or session.cwd is None:
        return True
    here = at.root.replace("\\", "/").rstrip("/")
    folder = session.cwd.replace("\\", "/").rstrip("/")
    return folder == here or folder.startswith(f"{here}/")
