"""What the observer needs from a storage engine: scratchpads, sightings, explanations.

All three are written through `apply` (`PutScratchpad`, `PutSightings`, `PutExplanation`), together
with what they belong to. Nothing here says how an engine keeps them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wellkept.core.scratchpad import (
        Explanation,
        Scratchpad,
        ScratchpadStatus,
        SessionSignal,
        SignalKind,
    )


class ScratchpadStore(Protocol):
    """What was noticed, and why things were concluded from it."""

    def scratchpad(self, session_id: str) -> Scratchpad | None:
        """The scratchpad of a session."""
        ...

    def scratchpads(
        self,
        *,
        project: str | None,
        states: Sequence[ScratchpadStatus] = (),
        before: datetime | None = None,
        limit: int = 50,
    ) -> list[Scratchpad]:
        """Scratchpads, the latest written first; None means every project. With `before` only
        those last written before that moment."""
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
        """Sightings, the latest first, then by session, kind and subject. Empty means "any"."""
        ...

    def count_signals(self, *, project: str) -> dict[SignalKind, int]:
        """How many sightings of each kind a project has; kinds without any are left out."""
        ...

    def explanations(self, memory_ids: Sequence[str]) -> dict[str, Explanation]:
        """Why memories were promoted, by memory id; those without an explanation are left out."""
        ...

    def explained(self, *, project: str, limit: int = 50) -> list[Explanation]:
        """The latest explanations of a project, latest first."""
        ...

    def drop_scratchpads(self, *, before: datetime, states: Sequence[ScratchpadStatus] = ()) -> int:
        """Remove scratchpads last written before a moment; returns how many there were."""
        ...
