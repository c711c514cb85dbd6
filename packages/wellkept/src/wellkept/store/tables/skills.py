"""The `GeneratedSkillStore` and `SkillUseStore` ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.records import replace
from wellkept.store.rows import SKILL_RUNS, SKILL_VERSIONS, SKILLS
from wellkept.store.tables import Component, Connection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wellkept.core.ports.skills import SkillUse
    from wellkept.core.skills import GeneratedSkill, SkillRun, SkillVersion

_SKILL = "FROM skills WHERE tenant = :tenant AND id = :id"


class GeneratedSkills(Component):
    """The `GeneratedSkillStore` port."""

    def generated_skills(self, *, project: str | None) -> list[GeneratedSkill]:
        some = "" if project is None else " AND project = :project"
        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT {SKILLS.listed()} FROM skills WHERE tenant = :tenant{some}"
                " ORDER BY created_ms, id",
                project=project,
            )
        return list(map(SKILLS.read, rows))

    def put_generated_skill(self, skill: GeneratedSkill) -> None:
        from wellkept.core.changes import Announce
        from wellkept.core.session.activity import ActivityKind
        from wellkept.store.tables.activity import activity_entries, write_activity

        if not (skill.id and skill.project and skill.name and skill.text):
            raise UsageError("A kept skill needs an id, a project, a name and a text.")
        with self._tables.writing() as db:
            _save_version(db, skill)
            db.put(
                "skills", [SKILLS.named(replace(skill, revision=skill.revision + 1))], key=("id",)
            )
            if skill.revision == 0:
                told = Announce(ActivityKind.SKILL_GENERATED, skill.project, skill.name)
                write_activity(db, activity_entries(db, told), at_ms=to_ms(self._clock()))

    def delete_generated_skill(self, skill_id: str) -> bool:
        with self._tables.writing() as db:
            if db.row(f"SELECT 1 {_SKILL}", id=skill_id) is None:
                return False
            for table in ("skill_versions", "skill_runs"):
                db.write(f"DELETE FROM {table} WHERE tenant = :tenant AND skill = :id", id=skill_id)
            return db.write(f"DELETE {_SKILL}", id=skill_id) > 0

    def skill_versions(self, skill_id: str) -> list[SkillVersion]:
        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT {SKILL_VERSIONS.listed()} FROM skill_versions"
                " WHERE tenant = :tenant AND skill = :id ORDER BY revision DESC",
                id=skill_id,
            )
        return list(map(SKILL_VERSIONS.read, rows))

    def put_skill_run(self, run: SkillRun) -> None:
        if not (run.session_id and run.used_by):
            raise UsageError("A skill run needs a session and who used it.")
        with self._tables.writing() as db:
            project = db.value(f"SELECT project {_SKILL}", id=run.skill_id)
            if project is None:
                raise NotFoundError(f"There is no generated skill with the id {run.skill_id}.")
            row = SKILL_RUNS.named(run)
            judged = db.write(
                "UPDATE skill_runs SET succeeded = coalesce(:succeeded, succeeded)"
                " WHERE tenant = :tenant AND skill = :skill AND session_id = :session_id",
                **row,
            )
            if not judged:
                db.put("skill_runs", [{"project": project, **row}])

    def skill_runs(
        self, *, skill_ids: Sequence[str] | None = None, session_id: str | None = None
    ) -> list[SkillRun]:
        some = "" if skill_ids is None else " AND skill IN :skills"
        one = "" if session_id is None else " AND session_id = :session"
        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT {SKILL_RUNS.listed()} FROM skill_runs"
                f" WHERE tenant = :tenant{some}{one} ORDER BY at_ms, skill, session_id",
                skills=skill_ids or (),
                session=session_id,
            )
        return list(map(SKILL_RUNS.read, rows))


class SkillUses(Component):
    """The `SkillUseStore` port."""

    def record_skill_use(self, key: str, *, project: str, at: datetime) -> None:
        if not (key and project):
            raise UsageError("A use of a command needs the command and a project.")
        with self._tables.writing() as db:
            db.write(
                "INSERT INTO skill_uses (tenant, project, skill, count, last_ms)"
                " VALUES (:tenant, :project, :skill, 1, :at_ms)"
                " ON CONFLICT (tenant, project, skill) DO UPDATE SET count = skill_uses.count + 1,"
                " last_ms = greatest(skill_uses.last_ms, excluded.last_ms)",
                project=project,
                skill=key,
                at_ms=to_ms(at),
            )

    def skill_uses(self, *, project: str) -> dict[str, SkillUse]:
        from wellkept.core.ports.skills import SkillUse

        with self._tables.reading() as db:
            rows = db.rows(
                "SELECT skill, count, last_ms FROM skill_uses"
                " WHERE tenant = :tenant AND project = :project",
                project=project,
            )
        return {key: SkillUse(key, count, from_ms(last_ms)) for key, count, last_ms in rows}


def _save_version(db: Connection, skill: GeneratedSkill) -> None:
    """Check the revision, and save the former text when it changes."""
    before = db.row(f"SELECT revision, text, made_by {_SKILL}", id=skill.id)
    if (before[0] if before else 0) != skill.revision:
        raise ConflictError(f"The skill {skill.name!r} was changed by another process.")
    if before is not None and before[1] != skill.text:
        former = dict(zip(("revision", "text", "made_by"), before, strict=True))
        about = {"project": skill.project, "skill": skill.id, "until_ms": to_ms(skill.updated_at)}
        db.put("skill_versions", [about | former])
