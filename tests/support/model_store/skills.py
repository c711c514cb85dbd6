"""Generated skills and usage counts of the reference store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime

from tests.support.model_store.data import ModelData
from wellkept.core.changes import Announce, Change
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.ports.skills import SkillUse
from wellkept.core.records import replace
from wellkept.core.session.activity import ActivityKind
from wellkept.core.skills import GeneratedSkill, SkillRun, SkillVersion


class ModelGeneratedSkills(ABC):
    """The `GeneratedSkillStore` port over dicts."""

    @property
    @abstractmethod
    def _data(self) -> ModelData: ...

    @abstractmethod
    def apply(self, changes: Sequence[Change]) -> None: ...

    def generated_skills(self, *, project: str | None) -> list[GeneratedSkill]:
        found = [s for s in self._data.library.values() if project in (None, s.project)]
        return sorted(found, key=lambda skill: (skill.created_at, skill.id))

    def put_generated_skill(self, skill: GeneratedSkill) -> None:
        if not (skill.id and skill.project and skill.name and skill.text):
            raise UsageError("A kept skill needs an id, a project, a name and a text.")
        before = self._data.library.get(skill.id)
        if (before.revision if before else 0) != skill.revision:
            raise ConflictError(f"The skill {skill.name!r} was changed meanwhile.")
        if before is not None and before.text != skill.text:
            edition = SkillVersion(before.revision, before.text, before.made_by, skill.updated_at)
            self._data.editions.setdefault(skill.id, []).append(edition)
        self._data.library[skill.id] = replace(skill, revision=skill.revision + 1)
        if before is None:
            self.apply([Announce(ActivityKind.SKILL_GENERATED, skill.project, skill.name)])

    def delete_generated_skill(self, skill_id: str) -> bool:
        self._data.editions.pop(skill_id, None)
        for key in [key for key in self._data.runs if key[0] == skill_id]:
            del self._data.runs[key]
        return self._data.library.pop(skill_id, None) is not None

    def skill_versions(self, skill_id: str) -> list[SkillVersion]:
        return self._data.editions.get(skill_id, [])[::-1]

    def put_skill_run(self, run: SkillRun) -> None:
        if not (run.session_id and run.used_by):
            raise UsageError("A run of a skill needs a session and someone who used it.")
        if run.skill_id not in self._data.library:
            raise NotFoundError(f"There is no kept skill with the id {run.skill_id}.")
        known = self._data.runs.get((run.skill_id, run.session_id), run)
        outcome = known.succeeded if run.succeeded is None else run.succeeded
        self._data.runs[run.skill_id, run.session_id] = replace(known, succeeded=outcome)

    def skill_runs(
        self, *, skill_ids: Sequence[str] | None = None, session_id: str | None = None
    ) -> list[SkillRun]:
        found = [
            run
            for run in self._data.runs.values()
            if (skill_ids is None or run.skill_id in skill_ids)
            and session_id in (None, run.session_id)
        ]
        return sorted(found, key=lambda run: (run.at, run.skill_id, run.session_id))


def move_generated(data: ModelData, alias: str, target: str) -> None:
    """Kept skills go where their project goes; names that meet are shown as a clash."""
    for skill in [skill for skill in data.library.values() if skill.project == alias]:
        data.library[skill.id] = replace(skill, project=target)


class ModelSkillUses(ABC):
    """The `SkillUseStore` port over a dict."""

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
    """Merge the counts of two projects."""
    for home, key in [place for place in data.uses if place[0] == alias]:
        _add(data, target, data.uses.pop((home, key)))


def _add(data: ModelData, project: str, more: SkillUse) -> None:
    known = data.uses.get((project, more.key))
    count = more.count + (known.count if known else 0)
    last = max(more.last_used_at, known.last_used_at) if known else more.last_used_at
    data.uses[project, more.key] = SkillUse(more.key, count, last)
