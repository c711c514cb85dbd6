"""What a team shares, as its server keeps it: one record for each statement, numbered by change.

A record has a state, an owner and a body that only `wellkept_team.sharing` reads. Every change
gives it the next number of its project, so that "what changed since" is one ordered question.
"""

from __future__ import annotations

from enum import StrEnum

from wellkept.core.records import record


class SharedState(StrEnum):
    """Where a record stands."""

    PROPOSED = "proposed"
    """Somebody pushed it; only its owner and reviewers see it."""
    TEAM = "team"
    """Everybody has it."""
    BROUGHT_BACK = "brought back"
    """It ended, and somebody proposes it again: open for its owner, closed for all others."""
    CLOSED = "closed"
    """It no longer holds; its history stays."""
    ERASED = "erased"
    """Its text was deleted; the record only says so."""


OPEN_STATES = (SharedState.PROPOSED, SharedState.BROUGHT_BACK, SharedState.TEAM)
"""What somebody holds, or proposes."""


@record(kw_only=True)
class SharedRecord:
    """One shared statement of a project. `seq` is 0 until it is stored."""

    id: str
    project: str
    state: SharedState
    owner: str
    statement: str
    """Fingerprint of what is said: equal for two people who say the same."""
    waiting: bool
    """Whether it waits for somebody's decision."""
    body: str
    seq: int = 0
