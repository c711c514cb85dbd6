"""What a client wrote down of a session, as the observer reads it: events, each with its place.

The vocabulary between those who know clients' files and the one who takes events in. A file is read
from its beginning every time, because an answer may stand far behind its question; `end` tells
which of its events were taken before. Invariant: the ends of a file's events never go back, and the
same file gives the same events with the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from wellkept.core.records import field, record
from wellkept.core.session.events import Event, TokenUsage


@record
class TranscriptEvent:
    """An event and where in its file the record that told it ends.

    `final` marks what only the end of the file tells: it holds once nobody writes there any more.
    """

    event: Event
    end: int
    final: bool = False


@record(frozen=False)
class ReadStats:
    """The account of reading one file: how much was looked at, and what was left out and why."""

    records: int = 0
    passed_over: dict[str, int] = field(default_factory=dict[str, int])
    damaged: int = 0
    too_long: int = 0
    torn_bytes: int = 0

    def pass_over(self, kind: str) -> None:
        """Count a record that tells nothing worth an event."""
        self.passed_over[kind] = self.passed_over.get(kind, 0) + 1

    def add(self, other: ReadStats) -> None:
        """Take another file's account into this one."""
        self.records += other.records
        self.damaged += other.damaged
        self.too_long += other.too_long
        self.torn_bytes += other.torn_bytes
        for kind, count in other.passed_over.items():
            self.passed_over[kind] = self.passed_over.get(kind, 0) + count


Reader: TypeAlias = Callable[[ReadStats], Iterator[TranscriptEvent]]


@record(kw_only=True)
class TranscriptFile:
    """One file of a session. `head` tells it from another file under the same name."""

    path: Path
    head: str
    size_bytes: int
    read: Reader


def _unmeasured() -> TokenUsage | None:
    return None


@record(kw_only=True)
class Transcript:
    """A session as its client wrote it down; sub-agents may have files of their own.

    `cwd` decides the project; None when the client does not tell it. `usage` reads the tokens that
    the session took.
    """

    client: str
    session_id: str
    cwd: str | None
    last_at: datetime
    parts: tuple[TranscriptFile, ...]
    usage: Callable[[], TokenUsage | None] = _unmeasured

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""
        return sum(part.size_bytes for part in self.parts)


@record
class UnreadableFile:
    """A file that could not be read or is no transcript, and why."""

    path: Path
    reason: str
