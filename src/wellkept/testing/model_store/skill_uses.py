"""The part of the model store that counts uses of commands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime

from wellkept.core.errors import UsageError
from wellkept.core.ports.skills import SkillUse
from wellkept.testing.model_store.data import ModelData


class ModelSkillUses(ABC):
    """The `SkillUses` port over a plain dictionary."""

    @property
    @abstractmethod
    def _data(self) -> ModelData: ...

    def record_skill_use(self, key: str, *, project: str, at: datetime) -> None:
        if not (key and project):
            raise UsageError("A use of a command needs the command and a project.")
        _add(self._data, project, SkillUse(key, 1, at))

    def skill_uses(self, *, project: str) -> dict[str, SkillUse]:
        return {use.key: use for (home, _), use in self._data.uses.items() if home == project}


def move_skill_uses(data: ModelData, alias: str, target: str) -> None:
    """What both projects used counts together."""
    for home, key in [place for place in data.uses if place[0] == alias]:
        _add(data, target, data.uses.pop((home, key)))


def _add(data: ModelData, project: str, more: SkillUse) -> None:
    known = data.uses.get((project, more.key))
    count = more.count + (known.count if known else 0)
    last = max(more.last_used_at, known.last_used_at) if known else more.last_used_at
    data.uses[project, more.key] = SkillUse(more.key, count, last)
