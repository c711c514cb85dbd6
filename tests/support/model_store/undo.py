"""The part of the model store that takes steps back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tests.support.model_store.data import ModelData
from wellkept.core.clock import Clock
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.ports.store import MAINTENANCE, UndoStep
from wellkept.core.records import replace
from wellkept.core.session.activity import Activity, ActivityKind
from wellkept.core.text import counted


class ModelUndo(ABC):
    """The `UndoLog` port over plain dictionaries."""

    _clock: Clock

    @property
    @abstractmethod
    def _data(self) -> ModelData: ...

    def begin_undo(self, step: UndoStep, ids: Sequence[str]) -> None:
        data = self._data
        missing = [one for one in ids if one not in data.memories]
        if missing:
            raise NotFoundError(f"There is no memory {missing[0]!r}.")
        older = [m.id for m in data.memories.values() if m.superseded_by in ids]
        named = list(dict.fromkeys([*ids, *older]))
        data.steps[step.id] = (step, {one: _kept(data, one) for one in named}, (), None)

    def finish_undo(self, step_id: str, *, made: Sequence[str]) -> None:
        if step_id not in self._data.steps:
            raise NotFoundError(f"There is no step {step_id!r} to undo.")
        step, before, _, _ = self._data.steps[step_id]
        after = {one: _state(self._data, one) for one in (*before, *made)}
        self._data.steps[step_id] = (step, before, tuple(made), after)

    def archive(self, step: UndoStep, ids: Sequence[str]) -> list[str]:
        known = (one for one in map(self._data.memories.get, sorted(set(ids))) if one is not None)
        due = [one for one in known if one.archived_at is None and not one.pinned]
        for memory in due:
            self._data.memories[memory.id] = replace(memory, archived_at=step.at)
        if due:
            done = tuple(memory.id for memory in due)
            self._data.steps[step.id] = (replace(step, count=len(done)), {}, (), None)
            self._data.archived[step.id] = done
            told = f"{counted(len(done), 'memory', 'memories')}; undo {step.id} takes it back"
            self._tell(ActivityKind.MEMORIES_ARCHIVED, step.project, at=step.at, subject=told)
        return [memory.id for memory in due]

    def archived_by_rule(self, *, project: str) -> set[str]:
        return {
            one
            for name, (step, *_) in self._data.steps.items()
            if step.project == project and step.action == MAINTENANCE
            for one in self._data.archived[name]
        }

    def undo_steps(self, *, project: str, limit: int) -> list[UndoStep]:
        if limit < 0:
            raise UsageError(f"limit must be at least 0, not {limit}.")
        steps = [step for step, *_ in self._data.steps.values() if step.project == project]
        return sorted(steps, key=lambda one: (one.at, one.id), reverse=True)[:limit]

    def undo(self, step_id: str, *, project: str) -> UndoStep:
        data = self._data
        known = data.steps.get(step_id)
        if known is None or known[0].project != project:
            raise NotFoundError(f"There is no step {step_id!r} to undo.")
        step, before, made, after = known
        if step.undone_at is not None:
            raise ConflictError("This was undone already.")
        if any(_state(data, one) != state for one, state in (after or {}).items()):
            raise ConflictError("A memory was changed since, so this cannot be undone.")
        for one in made:
            data.memories.pop(one, None)
        for one, kept in before.items():
            _bring_back(data, one, kept)
        archived = data.archived.get(step_id, ())
        for memory in [data.memories[one] for one in archived if one in data.memories]:
            if memory.archived_at == step.at:
                data.memories[memory.id] = replace(memory, archived_at=None)
        undone = replace(step, undone_at=self._clock())
        data.steps[step_id] = (undone, before, made, after)
        for one in made:
            self._tell(ActivityKind.MEMORY_DELETED, project, at=self._clock(), memory_id=one)
        for one in before:
            self._tell(ActivityKind.MEMORY_CHANGED, project, at=self._clock(), memory_id=one)
        if archived:
            told = f"{counted(len(archived), 'memory', 'memories')} back by undo {step_id}"
            self._tell(ActivityKind.MEMORY_CHANGED, project, at=self._clock(), subject=told)
        return undone

    def _tell(
        self,
        kind: ActivityKind,
        project: str,
        *,
        at: datetime,
        memory_id: str | None = None,
        subject: str | None = None,
    ) -> None:
        news = self._data.news
        told = Activity(
            number=news[-1].number + 1 if news else 1,
            kind=kind,
            at=at,
            project=project,
            memory_id=memory_id,
            subject=subject,
        )
        self._data.news = [*news, told]

    def prune_undo(self, *, before: datetime) -> int:
        old = [
            name
            for name, (step, *_) in self._data.steps.items()
            if step.at < before and step.action != MAINTENANCE
        ]
        for name in old:
            del self._data.steps[name]
        return len(old)


def _kept(data: ModelData, memory_id: str) -> dict[str, Any]:
    return {
        "memory": data.memories[memory_id],
        "extra": data.extras.get(memory_id),
        "vectors": {key: value for key, value in data.vectors.items() if memory_id in key},
        "reason": data.reasons.get(memory_id),
        "lines": {
            name: one
            for name, one in data.injections.items()
            if any(line.memory_id == memory_id for line in one.lines)
        },
        "silent": {key: line for key, line in data.silent.items() if key[1] == memory_id},
    }


def _bring_back(data: ModelData, memory_id: str, kept: dict[str, Any]) -> None:
    data.memories[memory_id] = kept["memory"]
    data.extras.pop(memory_id, None)
    if kept["extra"] is not None:
        data.extras[memory_id] = kept["extra"]
    data.vectors = {key: value for key, value in data.vectors.items() if memory_id not in key}
    data.vectors |= kept["vectors"]
    if kept["reason"] is not None:
        data.reasons[memory_id] = kept["reason"]
    for name, former in kept["lines"].items():
        now = data.injections.get(name)
        if now is not None:
            pairs = zip(former.lines, now.lines, strict=True)
            lines = tuple(old if old.memory_id == memory_id else new for old, new in pairs)
            data.injections[name] = replace(now, lines=lines)
    data.silent = {key: line for key, line in data.silent.items() if key[1] != memory_id}
    data.silent |= kept["silent"]


def _state(data: ModelData, memory_id: str) -> tuple[Any, ...] | None:
    memory: Memory | None = data.memories.get(memory_id)
    if memory is None:
        return None
    return (memory.updated_at, memory.valid_to, memory.superseded_by, memory.archived_at)
