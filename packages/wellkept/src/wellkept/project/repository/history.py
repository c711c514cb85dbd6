"""Decisions and reverts from git, with the reasons that their messages give.

Bumps, merges, releases, formatting and dependency updates never become statements. A decision is a
commit that says why, or one that adopts, drops, replaces or forbids something. The most telling are
kept, bounded in number; each names its commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellkept.core.records import record, replace
from wellkept.core.text import content_words, shorten
from wellkept.core.types import MemoryType
from wellkept.graph.history.git_log import Commit
from wellkept.project.repository.statement import Statement
from wellkept.text.events.commit_messages import commit_points, says_something
from wellkept.text.secrets.redaction import redact

MAX_DECISIONS = 110
MAX_REVERTS = 20
_REASON_CHARS = 420
_SUBJECT_CHARS = 140
_BECAUSE = re.compile(
    r"\b(?:because|since (?:the|it|this|we|there)|so that|in order to|instead of|rather than"
    r"|otherwise|the reason|reason(?:s|ing)?\b|rationale|motivation|this (?:allows|avoids|prevents"
    r"|fixes|makes|ensures|means|was|is needed)|due to|caused by|decided|we (?:chose|choose|want"
    r"|need|should|no longer)|trade-?off|would (?:break|fail|cause)|no longer|turns out|problem"
    r"|to avoid|to prevent|prevents?|deadlock|race|security|vulnerab\w*|backwards?[- ]compat\w*"
    r"|regression|slower|faster|performance)\b",
    re.IGNORECASE,
)
_DECIDES = re.compile(
    r"^(?:\w+(?:\([^)]*\))?!?: *|\[[^\]]+\] *)?(?:drop|deprecate|replace|switch|migrate|adopt"
    r"|rename|rewrite|redesign|rework|disallow|forbid|prefer|stop|require|default|split|extract"
    r"|introduce|get rid of|use \S+ instead|move (?:from|to)|remove (?:support|dependency|the)"
    r"|no longer)",
    re.IGNORECASE,
)
_BREAKS = re.compile(r"^\w+(?:\([^)]*\))?!:|\bBREAKING\b")
_REVERT = re.compile(
    r"^\W*(?:\w+(?:\([^)]*\))?: *)?reverts?\b:? *[\"“']?(?P<what>.+?)[\"”']?(?: \(#\d+\))?$", re.I
)
_REVERTED = re.compile(r"This reverts commit (?P<sha>[0-9a-f]{7,40})\b[.,]?\s*")
_NOISE = re.compile(
    r"\b(?:bump|dependabot|renovate|typos?|changelog|version \d|release notes|\bwhitespace"
    r"|formatting"
    r"|copyright|badge|readme|lint(?:er|ing)?|black\b|prettier|rubocop|gofmt|spelling|grammar"
    r"|translat\w+|snapshot|update dependenc\w*|pre-?commit)\b|^v?\d+\.\d+|\bdeps?\b|^merge\b",
    re.IGNORECASE,
)
_TOOL_LINE = re.compile(
    r"^(?:[\w-]+-by|see|refs?|fixes|closes|closed|via|pr|cc|fix):? |^https?://|^#\d+|^>|^\||^```",
    re.I,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")


@record
class _Telling:
    """A commit with the sentences that say why, and how much it tells."""

    commit: Commit
    subject: str
    reason: str
    score: float


def history_statements(commits: Sequence[Commit]) -> Iterator[Statement]:
    """Decisions and reverts of commits that are given newest first."""
    # As a whole: parts of a secret look like nothing.
    commits = [replace(one, message=redact(one.message).text) for one in commits]
    subjects = {commit.sha: _subject(commit) for commit in commits}
    reverts = [one for commit in commits if (one := _revert(commit, subjects))]
    yield from reverts[:MAX_REVERTS]
    taken = {one.commit for one in reverts}
    telling = [
        one
        for age, commit in enumerate(commits)
        if commit.sha not in taken and (one := _telling(commit, age=age / max(1, len(commits))))
    ]
    best = sorted(telling, key=lambda one: -one.score)[:MAX_DECISIONS]
    yield from map(_decision, sorted(best, key=lambda one: one.commit.sha))


def _subject(commit: Commit) -> str:
    return commit.message.strip().partition("\n")[0].strip()


def _body(commit: Commit) -> str:
    return commit.message.strip().partition("\n")[2]


def _telling(commit: Commit, *, age: float) -> _Telling | None:
    subject, body = _subject(commit), _body(commit)
    if commit.is_merge and len(body) < 80:
        # The subject of a merged pull request stands in the body.
        return None
    if not subject or _NOISE.search(subject) or not says_something(subject, body):
        return None
    reason = _reason(body, subject=subject)
    decides = bool(_DECIDES.match(subject) or _BREAKS.search(subject))
    says_why = bool(_BECAUSE.search(reason) or _BECAUSE.search(subject))
    if not decides and not says_why:
        return None
    score = 2.0 * decides + min(len(reason), _REASON_CHARS) / _REASON_CHARS
    score += 2.0 * says_why + 0.8 * (1 - age)
    score -= 1.5 * commit.is_bulk + (not commit.files)
    return _Telling(commit, subject, reason, score)


def _reason(body: str, *, subject: str) -> str:
    """The sentences of a body that say why; its first ones when none does."""
    said = set(content_words(subject))
    points = [one for one in commit_points(body) if not _TOOL_LINE.match(one) and len(one) > 15]
    sentences = [part for point in points for part in _SENTENCE.split(point)]
    sentences = [one for one in sentences if not set(content_words(one)) <= said]
    why = [one for one in sentences if _BECAUSE.search(one)]
    chosen = dict.fromkeys([*sentences[:1], *why] if why else sentences[:2])
    ordered = [one for one in dict.fromkeys(sentences) if one in chosen]
    return shorten(" ".join(" ".join(ordered).split()), limit=_REASON_CHARS)


def _decision(one: _Telling) -> Statement:
    commit = one.commit
    subject = re.sub(r"\s*\(#\d+\)$|, (?:refs|closes) #\d+.*$", "", one.subject, flags=re.I)
    said = f"Decided in commit {commit.sha[:9]}{_when(commit)}: {_ended(subject)}"
    if one.reason:
        said += f" {_ended(one.reason)}"
    if commit.files and not commit.is_bulk:
        said += f" It changed {_named(commit.files)}."
    return Statement(
        key=f"commit:{commit.sha}",
        text=said,
        read_from=commit.sha,
        type=MemoryType.DECISION,
        importance=0.45,
        tags=("commit", "decision"),
        files=() if commit.is_bulk else commit.files[:5],
        commit=commit.sha,
        author=commit.author or None,
        at=commit.at,
    )


def _revert(commit: Commit, subjects: dict[str, str]) -> Statement | None:
    found = _REVERT.match(_subject(commit))
    if found is None or found["what"].lower().startswith("revert"):
        return None
    body = _body(commit)
    named = _REVERTED.search(body)
    what = found["what"]
    if named:
        known = [one for sha, one in subjects.items() if sha.startswith(named["sha"])]
        what = known[0] if known and len(what) < 12 else what
    if re.fullmatch(r"(?:commit )?[0-9a-f]{7,40}\.?", what):
        what = next(
            (s for sha, s in subjects.items() if sha.startswith(what.split()[-1].rstrip("."))), ""
        )
    if _NOISE.search(what) or len(what) < 8:
        return None
    reason = _reason(_REVERTED.sub("", body), subject=what)
    what = shorten(what, limit=_SUBJECT_CHARS)
    said = f"Reverted in commit {commit.sha[:9]}{_when(commit)}: “{what}”"
    said += f" was undone. Reason: {_ended(reason)}" if reason else " was undone."
    if commit.files and not commit.is_bulk:
        said += f" It concerned {_named(commit.files)}."
    return Statement(
        key=f"commit:{commit.sha}",
        text=said,
        read_from=commit.sha,
        type=MemoryType.DECISION,
        importance=0.5,
        tags=("commit", "revert"),
        files=() if commit.is_bulk else commit.files[:5],
        commit=commit.sha,
        author=commit.author or None,
        at=commit.at,
    )


def _when(commit: Commit) -> str:
    return f" ({commit.at.date().isoformat()})" if commit.at else ""


def _ended(text: str) -> str:
    text = shorten(text.strip(), limit=_REASON_CHARS)
    return text if text[-1:] in ".!?…" else f"{text}."


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + more
