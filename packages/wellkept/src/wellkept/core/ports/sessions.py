"""Sessions of an engine, the ids of processed events, and read positions of event files.

Written through `apply` (`PutSession`, `SaveReadPosition`) in one transaction with the memories
made from the events, so each event counts exactly once.

Learning data of sessions stands here too: scratchpads, signals, explanations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from wellkept.core.session.scratchpad import (
        Explanation,
        Scratchpad,
        ScratchpadStatus,
        SessionSignal,
        SignalKind,
    )
    from wellkept.core.session.sessions import ReadPosition, SessionRecord, SpoolDamage, SpoolEntry


class ScratchpadStore(Protocol):
    """Scratchpads, signals and explanations of promoted memories."""

    def scratchpad(self, session_id: str) -> Scratchpad | None:
        """The scratchpad of a session."""
        ...

    def scratchpads(
        self,
        *,
        project: str | None,
        statuses: Sequence[ScratchpadStatus] = (),
        before: datetime | None = None,
        limit: int = 50,
    ) -> list[Scratchpad]:
        """Scratchpads, latest written first; None means every project. `before` keeps those last
        written before that moment."""
        ...

    def signals(
        self,
        *,
        project: str,
        kinds: Sequence[SignalKind],
        subjects: Sequence[str] = (),
        modules: Sequence[str] = (),
        sessions: Sequence[str] = (),
        since: datetime | None = None,
        limit: int = 1_000,
    ) -> list[SessionSignal]:
        """Signals, latest first, then by session, kind and subject. Empty means "any"."""
        ...

    def count_signals(self, *, project: str) -> dict[SignalKind, int]:
        """Number of signals by kind; kinds without any are left out."""
        ...

    def explanations(self, memory_ids: Sequence[str]) -> dict[str, Explanation]:
        """Why memories were promoted, by memory id; memories without one are left out."""
        ...

    def latest_explanations(self, *, project: str, limit: int = 50) -> list[Explanation]:
        """Explanations of a project, latest first."""
        ...

    def drop_scratchpads(
        self, *, before: datetime, statuses: Sequence[ScratchpadStatus] = ()
    ) -> int:
        """Delete scratchpads last written before a moment; returns how many there were."""
        ...


class SessionStore(Protocol):
    """Stored sessions and ingest progress."""

    def get_session(self, session_id: str) -> SessionRecord | None:
        """The session with that id."""
        ...

    def sessions(
        self,
        *,
        project: str | None,
        open_only: bool = False,
        needs_summary: bool = False,
        idle_since: datetime | None = None,
        limit: int = 50,
    ) -> list[SessionRecord]:
        """Sessions, latest active first; None means every project. `idle_since` keeps those
        without an event at or after that moment."""
        ...

    def resolve_session(self, text: str) -> list[str]:
        """Ids matching an id or a prefix (>= 4 characters); at most 10."""
        ...

    def processed_events(self, event_ids: Sequence[str]) -> set[str]:
        """Those of the events that were already processed."""
        ...

    def prune_processed_events(self, *, before: datetime) -> int:
        """Delete event ids of sessions last active before a moment; returns how many."""
        ...

    def read_position(self, source: str) -> ReadPosition | None:
        """How far a file was read."""
        ...

    def delete_read_position(self, position: ReadPosition) -> None:
        """Delete the position of a removed file, unless it has advanced since."""
        ...


class Spool(Protocol):
    """Files of captured events. A file is removed after all of it was processed."""

    def sources(self) -> list[str]:
        """File names, least recently written first; also of what turns out to be unreadable."""
        ...

    def read(self, source: str, *, offset: int) -> Iterator[SpoolEntry | SpoolDamage]:
        """The items of a file from an offset on; nothing when the file is gone."""
        ...

    def idle_since(self, source: str) -> datetime | None:
        """When a file was last written; None when it is gone."""
        ...

    def remove(self, source: str, *, offset: int) -> bool:
        """Remove a file that was read up to `offset`, unless it has grown; returns whether it is
        gone."""
        ...

    def clear(self, source: str, *, start: int, end: int) -> None:
        """Overwrite what was processed between two offsets of a file that cannot be removed yet."""
        ...

    def set_aside(self, source: str, entry: SpoolEntry) -> None:
        """Save a copy of an entry that cannot be processed, for a later attempt."""
        ...

    def set_source_aside(self, source: str) -> str | None:
        """Move away what is no spool file to read and say why; None when it can be read."""
        ...

    def note_damage(self, source: str, *, size_bytes: int) -> None:
        """Count bytes of a file that were no entry."""
        ...
