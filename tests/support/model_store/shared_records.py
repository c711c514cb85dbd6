"""The part of the model store that keeps what a team shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tests.support.model_store.data import ModelData
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.records import replace
from wellkept.core.team.records import OPEN_STATES, SharedRecord, SharedState


class ModelSharedRecords(ABC):
    """The `SharedRecordStore` port over a plain dictionary."""

    @property
    @abstractmethod
    def _data(self) -> ModelData: ...

    def _team(self, project: str) -> list[SharedRecord]:
        found = (one for one in self._data.team.values() if one.project == project)
        return sorted(found, key=lambda one: one.seq)

    def shared_records(self, project: str, ids: Sequence[str]) -> list[SharedRecord]:
        keys = ((project, one) for one in ids)
        return [self._data.team[key] for key in keys if key in self._data.team]

    def shared_statements(self, project: str, statements: Sequence[str]) -> list[SharedRecord]:
        return [
            one
            for one in self._team(project)
            if one.statement in statements and one.state in OPEN_STATES
        ]

    def shared_changes(
        self, project: str, *, after: int, limit: int, seen_by: str | None, waiting: bool = False
    ) -> list[SharedRecord]:
        if limit < 0:
            raise UsageError(f"limit must be at least 0, not {limit}.")
        found = [
            one
            for one in self._team(project)
            if one.seq > after
            and (seen_by is None or one.state is not SharedState.PROPOSED or one.owner == seen_by)
            and (one.waiting or not waiting)
        ]
        return found[:limit]

    def shared_head(self, project: str) -> int:
        return max((one.seq for one in self._team(project)), default=0)

    def put_shared_records(self, project: str, records: Sequence[SharedRecord]) -> int:
        last = self.shared_head(project)
        made = dict(self._data.team)
        for one in records:
            known = made.get((project, one.id))
            if one.seq != (0 if known is None else known.seq):
                raise ConflictError(f"The shared record {one.id} was changed meanwhile.")
            last += 1
            made[project, one.id] = replace(one, project=project, seq=last)
        written = {one.id for one in records}
        said = {
            one.statement for one in self._team(project) if _holds(one) and one.id not in written
        }
        if any(one.statement in said for one in records if not one.seq and _holds(one)):
            raise ConflictError("Another shared record says the same.")
        self._data.team = made
        return last


def _holds(one: SharedRecord) -> bool:
    return bool(one.statement) and one.state in OPEN_STATES
