"""The `GeneratedSkillStore` and `SkillUseStore` ports. Rows are those of
`store.rows`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.records import replace
from wellkept.store.rows import SKILL_RUNS, SKILL_VERSIONS, SKILLS
from wellkept_team.postgres.connection.database import Component, all_bindable, bindable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wellkept.core.ports.skills import SkillUse
    from wellkept.core.skills import GeneratedSkill, SkillRun, SkillVersion
    from wellkept_team.postgres.connection.database import Connection

_SKILL = "WHERE tenant = %(tenant)s AND id = %(id)s"


class PostgresGeneratedSkills(Component):
    """The `GeneratedSkillStore` port."""

    def generated_skills(self, *, project: str | None) -> list[GeneratedSkill]:
        some = "" if project is None else " AND project = %(project)s"
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {SKILLS.listed()} FROM skills WHERE tenant = %(tenant)s{some}"
                " ORDER BY created_ms, id",
                project=None if project is None else bindable(project),
            )
        return list(map(SKILLS.read, rows))

    def put_generated_skill(self, skill: GeneratedSkill) -> None:
        from wellkept.core.changes import Announce
        from wellkept.core.session.activity import ActivityKind
        from wellkept_team.postgres.tables.activity import activity_entries, write_activity

        if not (skill.id and skill.project and skill.name and skill.text):
            raise UsageError("A kept skill needs an id, a project, a name and a text.")
        with self._database.writing() as db:
            _save_version(db, skill)
            db.run(f"DELETE FROM skills {_SKILL}", id=skill.id)
            db.run(
                f"INSERT INTO skills (tenant, {SKILLS.listed()})"
                f" VALUES (%(tenant)s, {', '.join(f'%({name})s' for name in SKILLS.columns)})",
                **SKILLS.named(replace(skill, revision=skill.revision + 1)),
            )
            if skill.revision == 0:
                told = Announce(ActivityKind.SKILL_GENERATED, skill.project, skill.name)
                write_activity(db, activity_entries(db, told), at_ms=to_ms(self._clock()))

    def delete_generated_skill(self, skill_id: str) -> bool:
        with self._database.writing() as db:
            found = db.run(f"DELETE FROM skills {_SKILL}", id=bindable(skill_id)).rowcount > 0
            for table in ("skill_versions", "skill_runs"):
                db.run(
                    f"DELETE FROM {table} WHERE tenant = %(tenant)s AND skill = %(id)s",
                    id=bindable(skill_id),
                )
            return found

    def skill_versions(self, skill_id: str) -> list[SkillVersion]:
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {SKILL_VERSIONS.listed()} FROM skill_versions"
                " WHERE tenant = %(tenant)s AND skill = %(id)s ORDER BY revision DESC",
                id=bindable(skill_id),
            )
        return list(map(SKILL_VERSIONS.read, rows))

    def put_skill_run(self, run: SkillRun) -> None:
        if not (run.session_id and run.used_by):
            raise UsageError("A skill run needs a session and who used it.")
        with self._database.writing() as db:
            project = db.value(f"SELECT project FROM skills {_SKILL}", id=bindable(run.skill_id))
            if project is None:
                raise NotFoundError(f"There is no generated skill with the id {run.skill_id}.")
            db.run(
                "INSERT INTO skill_runs (tenant, project, skill, session_id, used_by, at_ms,"
                " succeeded) VALUES (%(tenant)s, %(project)s, %(skill)s, %(session)s, %(by)s,"
                " %(at)s, %(outcome)s) ON CONFLICT (tenant, project, skill, session_id)"
                " DO UPDATE SET succeeded = coalesce(excluded.succeeded, skill_runs.succeeded)",
                project=project,
                skill=run.skill_id,
                session=run.session_id,
                by=run.used_by,
                at=to_ms(run.at),
                outcome=None if run.succeeded is None else int(run.succeeded),
            )

    def skill_runs(
        self, *, skill_ids: Sequence[str] | None = None, session_id: str | None = None
    ) -> list[SkillRun]:
        some = "" if skill_ids is None else " AND skill = ANY(%(skills)s)"
        one = "" if session_id is None else " AND session_id = %(session)s"
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {SKILL_RUNS.listed()} FROM skill_runs"
                f" WHERE tenant = %(tenant)s{some}{one} ORDER BY at_ms, skill, session_id",
                skills=all_bindable(skill_ids or ()),
                session=bindable(session_id or ""),
            )
        return list(map(SKILL_RUNS.read, rows))


def _save_version(db: Connection, skill: GeneratedSkill) -> None:
    """Check the revision, and save the former text when it changes."""
    before = db.row(f"SELECT revision, text, made_by FROM skills {_SKILL}", id=skill.id)
    if (before[0] if before else 0) != skill.revision:
        raise ConflictError(f"The skill {skill.name!r} was changed by another process.")
    if before is not None and before[1] != skill.text:
        db.run(
            "INSERT INTO skill_versions (tenant, project, skill, revision, text, made_by, until_ms)"
            " VALUES (%(tenant)s, %(project)s, %(id)s, %(revision)s, %(text)s, %(by)s, %(at)s)",
            project=skill.project,
            id=skill.id,
            revision=before[0],
            text=before[1],
            by=before[2],
            at=to_ms(skill.updated_at),
        )


class PostgresSkillUses(Component):
    """The `SkillUseStore` port."""

    def record_skill_use(self, key: str, *, project: str, at: datetime) -> None:
        if not (key and project):
            raise UsageError("A use of a command needs the command and a project.")
        with self._database.writing() as db:
            db.run(
                "INSERT INTO skill_uses (tenant, project, skill, count, last_ms)"
                " VALUES (%(tenant)s, %(project)s, %(key)s, 1, %(at)s)"
                " ON CONFLICT (tenant, project, skill) DO UPDATE SET count = skill_uses.count + 1,"
                " last_ms = greatest(skill_uses.last_ms, excluded.last_ms)",
                project=project,
                key=key,
                at=to_ms(at),
            )

    def skill_uses(self, *, project: str) -> dict[str, SkillUse]:
        from wellkept.core.ports.skills import SkillUse

        with self._database.reading() as db:
            rows = db.rows(
                "SELECT skill, count, last_ms FROM skill_uses"
                " WHERE tenant = %(tenant)s AND project = %(project)s",
                project=bindable(project),
            )
        return {key: SkillUse(key, count, from_ms(last_ms)) for key, count, last_ms in rows}
