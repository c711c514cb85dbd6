"""The part of the model store that keeps what the observer noticed and concluded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from tests.support.model_store.data import ModelData
from wellkept.core.errors import UsageError
from wellkept.core.records import replace
from wellkept.core.session.scratchpad import (
    Explanation,
    Scratchpad,
    ScratchpadStatus,
    SessionSignal,
    SignalKind,
)


class ModelScratchpads(ABC):
    """The `ScratchpadStore` port over plain dictionaries."""

    @property
    @abstractmethod
    def _data(self) -> ModelData: ...

    def scratchpad(self, session_id: str) -> Scratchpad | None:
        return self._data.pads.get(session_id)

    def scratchpads(
        self,
        *,
        project: str | None,
        statuses: Sequence[ScratchpadStatus] = (),
        before: datetime | None = None,
        limit: int = 50,
    ) -> list[Scratchpad]:
        _require_limit(limit)
        found = [
            pad
            for pad in self._data.pads.values()
            if (project is None or pad.project == project)
            and (not statuses or pad.state in statuses)
            and (before is None or pad.updated_at < before)
        ]
        return sorted(found, key=lambda p: (p.updated_at, p.session_id), reverse=True)[:limit]

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
        _require_limit(limit)
        found = [
            s
            for s in self._data.signals.values()
            if s.project == project
            and (not kinds or s.kind in kinds)
            and (not subjects or s.subject in subjects)
            and (not modules or s.module in modules)
            and (not sessions or s.session_id in sessions)
            and (since is None or s.at >= since)
        ]
        found.sort(key=lambda s: (s.kind.value, s.subject))
        return sorted(found, key=lambda s: (s.at, s.session_id), reverse=True)[:limit]

    def count_signals(self, *, project: str) -> dict[SignalKind, int]:
        return dict(Counter(s.kind for s in self._data.signals.values() if s.project == project))

    def explanations(self, memory_ids: Sequence[str]) -> dict[str, Explanation]:
        return {i: self._data.reasons[i] for i in memory_ids if i in self._data.reasons}

    def latest_explanations(self, *, project: str, limit: int = 50) -> list[Explanation]:
        _require_limit(limit)
        found = [why for why in self._data.reasons.values() if why.project == project]
        return sorted(found, key=lambda why: (why.at, why.memory_id), reverse=True)[:limit]

    def drop_scratchpads(
        self, *, before: datetime, statuses: Sequence[ScratchpadStatus] = ()
    ) -> int:
        old = [
            key
            for key, pad in self._data.pads.items()
            if pad.updated_at < before and (not statuses or pad.state in statuses)
        ]
        for key in old:
            del self._data.pads[key]
        return len(old)


def move_observed(data: ModelData, alias: str, target: str) -> None:
    """Everything that was noticed goes with its project."""
    for key, pad in data.pads.items():
        if pad.project == alias:
            data.pads[key] = replace(pad, project=target)
    for key, why in data.reasons.items():
        if why.project == alias:
            data.reasons[key] = replace(why, project=target)
    moved = [s for s in data.signals.values() if s.project == alias]
    data.signals = {key: s for key, s in data.signals.items() if s.project != alias}
    for s in moved:
        data.signals[target, s.kind, s.subject, s.session_id] = replace(s, project=target)


def _require_limit(limit: int) -> None:
    if limit < 0:
        raise UsageError(f"limit must be at least 0, not {limit}.")
