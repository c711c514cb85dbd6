"""Commit messages as records: every message with a body is kept whole, never reworded.

Bumps, merges, releases and formatting tell nothing and are left out; so are trailers. A message
without a body is kept when it decides or reverts something. What a prompt needs of them is chosen
when it is asked (`context.decisions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellkept.core.records import replace
from wellkept.core.types import MemoryType
from wellkept.graph.history.git_log import Commit
from wellkept.project.repository.statement import Statement
from wellkept.text.events.commit_messages import commit_points, says_something, without_trailers
from wellkept.text.secrets.redaction import redact

MAX_COMMITS = 4_000
MIN_BODY_CHARS = 30
MAX_CHARS = 6_000
_DECIDES = re.compile(
    r"^(?:\w+(?:\([^)]*\))?!?: *|\[[^\]]+\] *)?(?:drop|deprecate|replace|switch|migrate|adopt"
    r"|rename|rewrite|redesign|rework|disallow|forbid|prefer|stop|require|default|split|extract"
    r"|introduce|get rid of|use \S+ instead|move (?:from|to)|remove (?:support|dependency|the)"
    r"|no longer)|^\w+(?:\([^)]*\))?!:",
    re.IGNORECASE,
)
_REVERT = re.compile(r"^\W*(?:\w+(?:\([^)]*\))?: *)?reverts?\b(?!.{0,4}\brevert)", re.IGNORECASE)
_NOISE = re.compile(
    r"\b(?:dependabot|renovate|release notes|update dependenc\w*)\b|^v?\d+\.\d+|\bdeps?\b", re.I
)


def history_statements(commits: Sequence[Commit]) -> Iterator[Statement]:
    """The records of commits that are given newest first."""
    kept = 0
    for commit in commits:
        subject, _, body = commit.message.strip().partition("\n")
        if kept >= MAX_COMMITS or _NOISE.search(subject) or not says_something(subject, body):
            continue
        told = sum(map(len, commit_points(body)))
        is_revert = _REVERT.match(subject) is not None
        decides = is_revert or _DECIDES.match(subject) is not None
        if told < MIN_BODY_CHARS and (commit.is_merge or not decides):
            continue
        kept += 1
        # As a whole: parts of a secret look like nothing.
        whole = replace(commit, message=redact(commit.message).text)
        yield _statement(whole, tags=("commit", "revert") if is_revert else ("commit",))


def _statement(commit: Commit, *, tags: tuple[str, ...]) -> Statement:
    return Statement(
        key=f"commit:{commit.sha}",
        text=without_trailers(commit.message)[:MAX_CHARS],
        read_from=commit.sha,
        type=MemoryType.EPISODE,
        importance=0.4,
        tags=tags,
        files=() if commit.is_bulk else commit.files[:5],
        commit=commit.sha,
        author=commit.author or None,
        at=commit.at,
    )
