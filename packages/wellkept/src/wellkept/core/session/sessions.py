"""Stored sessions, read positions of event files, and items of the event spool.

A memory names its session by id. `SessionRecord.work` is the serialised state of the session
builder and opaque to everything else.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from wellkept.core.codec import Json
from wellkept.core.records import record


@record(kw_only=True)
class SessionRecord:
    """One session. `revision` counts how often it was written; 0 means never.

    Input and output tokens are what the client reports of its model calls, None when it reports
    none; `cached_tokens` is the input that came from the provider's cache, not in `input_tokens`.
    """

    not_shown = ("summarised_turn", "revision", "work")

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
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    summarised_at: datetime | None = None
    summarised_turn: int = 0
    revision: int = 0
    work: Json = None
    not_shown: ClassVar[tuple[str, ...]] = ("summarised_turn", "revision", "work")

    @property
    def state(self) -> str:
        """Open, or how it ended."""
        return "open" if self.is_open else f"ended ({self.end_reason or 'unknown'})"

    @property
    def is_open(self) -> bool:
        """Whether the session has not ended."""
        return self.ended_at is None

    @property
    def needs_summary(self) -> bool:
        """Whether there were events since the last summary."""
        return self.summarised_at is None or self.last_event_at > self.summarised_at


@record
class ReadPosition:
    """How far an event file was processed.

    `head` is the id of the file's first event: a new file under an old name has another one and is
    read from its start.
    """

    source: str
    head: str
    offset: int


@record(kw_only=True)
class SpoolEntry:
    """One captured event, from `start` to `end` of its file."""

    event_id: str
    at: datetime
    client: str
    event: str
    payload: bytes
    start: int = 0
    end: int


@record
class SpoolDamage:
    """Bytes of a spool file that are no entry; `torn` when nothing follows them."""

    start: int
    end: int
    torn: bool = False
