"""The `GeneratedSkillStore` and `SkillUseStore` ports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.store.sqlite.checksums import checksum
from wellkept.store.sqlite.connection.database import Component
from wellkept.store.sqlite.tables.memory_rows import names_damage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wellkept.core.generated_skills import GeneratedSkill, SkillRun, SkillVersion
    from wellkept.core.ports.skills import SkillUse
    from wellkept.store.sqlite.connection.database import Connection, SqlValue

SKILL_COLUMNS: Final = (
    "id, project, name, text, created_ms, updated_ms, origin, made_by, review, reviewed_ms,"
    " enabled, note, session_ids, observation_ids, commit_sha, revision"
)


class SqliteGeneratedSkills(Component):
    """The `GeneratedSkillStore` port."""

    def generated_skills(self, *, project: str | None) -> list[GeneratedSkill]:
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {SKILL_COLUMNS} FROM skill_library"
                " WHERE :project IS NULL OR project = :project ORDER BY created_ms, id",
                {"project": project},
            ).fetchall()
        return [to_skill(row) for row in rows]

    def put_generated_skill(self, skill: GeneratedSkill) -> None:
        from wellkept.core.changes import Announce
        from wellkept.core.session.activity import ActivityKind
        from wellkept.store.sqlite.tables.activity import activity_entries, write_activity

        if not (skill.id and skill.project and skill.name and skill.text):
            raise UsageError("A kept skill needs an id, a project, a name and a text.")
        with self._database.writing() as db:
            self._save_version(db, skill)
            values = skill_values(skill)
            names = [*SKILL_COLUMNS.split(", "), "checksum"]
            db.execute(
                f"INSERT INTO skill_library ({', '.join(names)})"
                f" VALUES ({', '.join('?' * len(names))}) ON CONFLICT (id) DO UPDATE SET"
                f" {', '.join(f'{name} = excluded.{name}' for name in names[1:])}",
                (*values, checksum((values[0], *values[2:]))),
            )
            if skill.revision == 0:
                told = Announce(ActivityKind.SKILL_GENERATED, skill.project, skill.name)
                write_activity(db, activity_entries(db, told), at_ms=to_ms(self._clock()))

    def delete_generated_skill(self, skill_id: str) -> bool:
        with self._database.writing() as db:
            return db.execute("DELETE FROM skill_library WHERE id = ?", (skill_id,)).rowcount > 0

    def skill_versions(self, skill_id: str) -> list[SkillVersion]:
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT revision, text, made_by, until_ms FROM skill_editions WHERE skill = ?"
                " ORDER BY revision DESC",
                (skill_id,),
            ).fetchall()
        return [to_version(row) for row in rows]

    def put_skill_run(self, run: SkillRun) -> None:
        if not (run.session_id and run.used_by):
            raise UsageError("A skill run needs a session and who used it.")
        outcome = None if run.succeeded is None else int(run.succeeded)
        with self._database.writing() as db:
            if not _known(db, run.skill_id):
                raise NotFoundError(f"There is no generated skill with the id {run.skill_id}.")
            db.execute(
                "INSERT INTO skill_runs VALUES (?, ?, ?, ?, ?) ON CONFLICT (skill, session_id)"
                " DO UPDATE SET succeeded = coalesce(excluded.succeeded, succeeded)",
                (run.skill_id, run.session_id, run.used_by, to_ms(run.at), outcome),
            )

    def skill_runs(
        self, *, skill_ids: Sequence[str] | None = None, session_id: str | None = None
    ) -> list[SkillRun]:
        from wellkept.core.generated_skills import SkillRun

        with self._database.reading() as db:
            rows = db.execute(
                "SELECT skill, session_id, used_by, at_ms, succeeded FROM skill_runs"
                " WHERE (:skills IS NULL OR skill IN (SELECT value FROM json_each(:skills)))"
                " AND (:session IS NULL OR session_id = :session)"
                " ORDER BY at_ms, skill, session_id",
                {
                    "skills": None if skill_ids is None else json.dumps(list(skill_ids)),
                    "session": session_id,
                },
            ).fetchall()
        return [
            SkillRun(
                skill_id=skill,
                session_id=session,
                used_by=used_by,
                at=from_ms(at_ms),
                succeeded=None if succeeded is None else bool(succeeded),
            )
            for skill, session, used_by, at_ms, succeeded in rows
        ]

    def _save_version(self, db: Connection, skill: GeneratedSkill) -> None:
        """Check the revision, and save the former text when it changes."""
        before = db.execute(
            "SELECT revision, text, made_by FROM skill_library WHERE id = ?", (skill.id,)
        ).fetchone()
        if (before[0] if before else 0) != skill.revision:
            raise ConflictError(f"The skill {skill.name!r} was changed by another process.")
        if before is not None and before[1] != skill.text:
            row = (skill.id, *before, to_ms(skill.updated_at))
            db.execute(
                "INSERT INTO skill_editions (skill, revision, text, made_by, until_ms, checksum)"
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


def move_skill_uses(db: Connection, alias: str, target: str) -> None:
    """Merge the counts of two projects."""
    db.execute(
        "INSERT INTO skill_uses SELECT ?, skill, count, last_ms FROM skill_uses"
        " WHERE project = ? ON CONFLICT (project, skill) DO UPDATE SET"
        " count = count + excluded.count, last_ms = max(last_ms, excluded.last_ms)",
        (target, alias),
    )
    db.execute("DELETE FROM skill_uses WHERE project = ?", (alias,))


@names_damage("former version of a skill, revision")
def to_version(row: Sequence[Any]) -> SkillVersion:
    """The version of a row."""
    from wellkept.core.generated_skills import SkillVersion

    return SkillVersion(row[0], row[1], row[2], from_ms(row[3]))


def _known(db: Connection, skill_id: str) -> bool:
    found = db.execute("SELECT 1 FROM skill_library WHERE id = ?", (skill_id,)).fetchone()
    return found is not None


def skill_values(skill: GeneratedSkill) -> tuple[SqlValue, ...]:
    """The values of `SKILL_COLUMNS`, under the next revision."""
    return (
        skill.id,
        skill.project,
        skill.name,
        skill.text,
        to_ms(skill.created_at),
        to_ms(skill.updated_at),
        skill.origin.value,
        skill.made_by,
        skill.review.value,
        None if skill.reviewed_at is None else to_ms(skill.reviewed_at),
        int(skill.enabled),
        skill.note,
        json.dumps(skill.session_ids),
        json.dumps(skill.observation_ids),
        skill.commit_sha,
        skill.revision + 1,
    )


@names_damage("skill")
def to_skill(row: Sequence[SqlValue]) -> GeneratedSkill:
    """The skill of a row with the columns of `SKILL_COLUMNS`."""
    from wellkept.core.generated_skills import GeneratedSkill, MadeBy, SkillOrigin, SkillReview

    created, updated, reviewed = row[4], row[5], row[9]
    assert isinstance(created, int)
    assert isinstance(updated, int)
    return GeneratedSkill(
        id=str(row[0]),
        project=str(row[1]),
        name=str(row[2]),
        text=str(row[3]),
        created_at=from_ms(created),
        updated_at=from_ms(updated),
        origin=SkillOrigin(str(row[6])),
        made_by=cast("MadeBy", row[7]),
        review=SkillReview(str(row[8])),
        reviewed_at=from_ms(reviewed) if isinstance(reviewed, int) else None,
        enabled=bool(row[10]),
        note=None if row[11] is None else str(row[11]),
        session_ids=tuple(json.loads(str(row[12]))),
        observation_ids=tuple(json.loads(str(row[13]))),
        commit_sha=None if row[14] is None else str(row[14]),
        revision=int(cast("int", row[15])),
    )
