"""The `GeneratedSkillStore` and `SkillUseStore` ports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.records import replace
from wellkept.store.rows import SKILL_RUNS, SKILL_VERSIONS, SKILLS
from wellkept.store.sqlite.checksums import checksum
from wellkept.store.sqlite.database import Component

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wellkept.core.ports.skills import SkillUse
    from wellkept.core.skills import GeneratedSkill, SkillRun, SkillVersion
    from wellkept.store.sqlite.database import Connection


class SqliteGeneratedSkills(Component):
    """The `GeneratedSkillStore` port."""

    def generated_skills(self, *, project: str | None) -> list[GeneratedSkill]:
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {SKILLS.listed()} FROM skills"
                " WHERE :project IS NULL OR project = :project ORDER BY created_ms, id",
                {"project": project},
            ).fetchall()
        return list(map(SKILLS.read, rows))

    def put_generated_skill(self, skill: GeneratedSkill) -> None:
        from wellkept.core.changes import Announce
        from wellkept.core.session.activity import ActivityKind
        from wellkept.store.sqlite.activity import activity_entries, write_activity

        if not (skill.id and skill.project and skill.name and skill.text):
            raise UsageError("A kept skill needs an id, a project, a name and a text.")
        with self._database.writing() as db:
            self._save_version(db, skill)
            values = SKILLS.values(replace(skill, revision=skill.revision + 1))
            names = [*SKILLS.columns, "checksum"]
            db.execute(
                f"INSERT INTO skills ({', '.join(names)})"
                f" VALUES ({', '.join('?' * len(names))}) ON CONFLICT (id) DO UPDATE SET"
                f" {', '.join(f'{name} = excluded.{name}' for name in names[1:])}",
                (*values, checksum((values[0], *values[2:]))),
            )
            if skill.revision == 0:
                told = Announce(ActivityKind.SKILL_GENERATED, skill.project, skill.name)
                write_activity(db, activity_entries(db, told), at_ms=to_ms(self._clock()))

    def delete_generated_skill(self, skill_id: str) -> bool:
        with self._database.writing() as db:
            return db.execute("DELETE FROM skills WHERE id = ?", (skill_id,)).rowcount > 0

    def skill_versions(self, skill_id: str) -> list[SkillVersion]:
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {SKILL_VERSIONS.listed()} FROM skill_versions WHERE skill = ?"
                " ORDER BY revision DESC",
                (skill_id,),
            ).fetchall()
        return list(map(SKILL_VERSIONS.read, rows))

    def put_skill_run(self, run: SkillRun) -> None:
        if not (run.session_id and run.used_by):
            raise UsageError("A skill run needs a session and who used it.")
        with self._database.writing() as db:
            known = db.execute("SELECT 1 FROM skills WHERE id = ?", (run.skill_id,))
            if known.fetchone() is None:
                raise NotFoundError(f"There is no generated skill with the id {run.skill_id}.")
            db.execute(
                "INSERT INTO skill_runs VALUES (?, ?, ?, ?, ?) ON CONFLICT (skill, session_id)"
                " DO UPDATE SET succeeded = coalesce(excluded.succeeded, succeeded)",
                SKILL_RUNS.values(run),
            )

    def skill_runs(
        self, *, skill_ids: Sequence[str] | None = None, session_id: str | None = None
    ) -> list[SkillRun]:
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {SKILL_RUNS.listed()} FROM skill_runs"
                " WHERE (:skills IS NULL OR skill IN (SELECT value FROM json_each(:skills)))"
                " AND (:session IS NULL OR session_id = :session)"
                " ORDER BY at_ms, skill, session_id",
                {
                    "skills": None if skill_ids is None else json.dumps(list(skill_ids)),
                    "session": session_id,
                },
            ).fetchall()
        return list(map(SKILL_RUNS.read, rows))

    def _save_version(self, db: Connection, skill: GeneratedSkill) -> None:
        """Check the revision, and save the former text when it changes."""
        before = db.execute(
            "SELECT revision, text, made_by FROM skills WHERE id = ?", (skill.id,)
        ).fetchone()
        if (before[0] if before else 0) != skill.revision:
            raise ConflictError(f"The skill {skill.name!r} was changed by another process.")
        if before is not None and before[1] != skill.text:
            row = (skill.id, *before, to_ms(skill.updated_at))
            db.execute(
                "INSERT INTO skill_versions (skill, revision, text, made_by, until_ms, checksum)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (*row, checksum(row)),
            )


class SqliteSkillUses(Component):
    """The `SkillUseStore` port."""

    def record_skill_use(self, key: str, *, project: str, at: datetime) -> None:
        if not (key and project):
            raise UsageError("A use of a command needs the command and a project.")
        with self._database.writing() as db:
            db.execute(
                "INSERT INTO skill_uses VALUES (?, ?, 1, ?) ON CONFLICT (project, skill)"
                " DO UPDATE SET count = count + 1, last_ms = max(last_ms, excluded.last_ms)",
                (project, key, to_ms(at)),
            )

    def skill_uses(self, *, project: str) -> dict[str, SkillUse]:
        from wellkept.core.ports.skills import SkillUse

        with self._database.reading() as db:
            rows = db.execute(
                "SELECT skill, count, last_ms FROM skill_uses WHERE project = ?", (project,)
            ).fetchall()
        return {key: SkillUse(key, count, from_ms(last_ms)) for key, count, last_ms in rows}
