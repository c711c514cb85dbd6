"""A coding session as it is kept: whose it is, how far it got, and what its observer holds open.

Sessions are small rows beside the memories that were made in them; a memory names its session by
id. `work` belongs to whoever folds events into the session and means nothing to anyone else.
"""

from __future__ import annotations

from datetime import datetime

from wellkept.core.codec import Json
from wellkept.core.records import record


@record(kw_only=True)
class SessionRecord:
    """One session. `revision` counts how often it was written; 0 means never."""

    id: str
    client: str
    project: str
    started_at: datetime
    last_event_at: datetime
    cwd: str | None = None
    ended_at: datetime | None = None
    end_reason: str | None = None
    title: str | None = None
    model: str | None = None
    branch: str | None = None
    commit_sha: str | None = None
    prompt_count: int = 0
    turn_count: int = 0
    tool_count: int = 0
    error_count: int = 0
    agent_count: int = 0
    observation_count: int = 0
    discovery_tokens: int = 0
    summarised_at: datetime | None = None
    summarised_turn: int = 0
    revision: int = 0
    work: Json = None

    @property
    def is_open(self) -> bool:
        """Whether the session may still go on."""
        return self.ended_at is None

    @property
    def needs_summary(self) -> bool:
        """Whether something happened since it was last summed up."""
        return self.summarised_at is None or self.last_event_at > self.summarised_at


@record
class ReadPosition:
    """How far a file of events was taken in.

    `head` is the id of the first event of the file: a new file under an old name has another one,
    and is read from its beginning.
    """

    source: str
    head: str
    offset: int


@record(kw_only=True)
class SpoolEntry:
    """One event as it was caught. `end` is where the next item of its file begins."""

    event_id: str
    at: datetime
    client: str
    event: str
    payload: bytes
    end: int


@record
class SpoolDamage:
    """Bytes of a spool file that are no entry."""

    start: int
    end: int
