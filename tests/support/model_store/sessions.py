"""The part of the model store that keeps sessions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime

from tests.support.model_store.data import ModelData
from wellkept.core.errors import UsageError
from wellkept.core.session.sessions import ReadPosition, SessionRecord


class ModelSessions(ABC):
    """The `SessionStore` port over plain dictionaries."""

    @property
    @abstractmethod
    def _data(self) -> ModelData: ...

    def get_session(self, session_id: str) -> SessionRecord | None:
        return self._data.sessions.get(session_id)

    def sessions(
        self,
        *,
        project: str | None,
        open_only: bool = False,
        needs_summary: bool = False,
        idle_since: datetime | None = None,
        limit: int = 50,
    ) -> list[SessionRecord]:
        if limit < 0:
            raise UsageError(f"limit must be at least 0, not {limit}.")
        found = [
            s
            for s in self._data.sessions.values()
            if (project is None or s.project == project)
            and (s.is_open or not open_only)
            and (s.needs_summary or not needs_summary)
            and (idle_since is None or s.last_event_at < idle_since)
        ]
        return sorted(found, key=lambda s: (s.last_event_at, s.id), reverse=True)[:limit]

    def resolve_session(self, text: str) -> list[str]:
        wanted = text.strip()
        if wanted in self._data.sessions:
            return [wanted]
        begun = sorted(i for i in self._data.sessions if i.startswith(wanted))
        return begun[:10] if len(wanted) >= 4 else []

    def processed_events(self, event_ids: Sequence[str]) -> set[str]:
        return self._data.taken.keys() & set(event_ids)

    def prune_processed_events(self, *, before: datetime) -> int:
        old = {i for i, s in self._data.sessions.items() if s.last_event_at < before}
        dropped = [event for event, session in self._data.taken.items() if session in old]
        for event in dropped:
            del self._data.taken[event]
        return len(dropped)

    def read_position(self, source: str) -> ReadPosition | None:
        return self._data.marks.get(source)

    def delete_read_position(self, position: ReadPosition) -> None:
        if self._data.marks.get(position.source) == position:
            del self._data.marks[position.source]
