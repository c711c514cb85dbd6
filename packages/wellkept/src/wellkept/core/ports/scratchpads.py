"""Learning data of an engine: scratchpads, session signals, explanations.

Written through `apply` (`PutScratchpad`, `PutSignals`, `PutExplanation`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wellkept.core.session.scratchpad import (
        Explanation,
        Scratchpad,
        ScratchpadStatus,
        SessionSignal,
        SignalKind,
    )


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
