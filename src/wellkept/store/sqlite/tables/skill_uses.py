"""How often commands were used: the `SkillUses` port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.errors import UsageError
from wellkept.store.sqlite.connection.component import Component

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.core.ports.skills import SkillUse
    from wellkept.store.sqlite.connection.database import Connection


class SqliteSkillUses(Component):
    """The `SkillUses` port."""

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
    """What both projects used counts together."""
    db.execute(
        "INSERT INTO skill_uses SELECT ?, skill, count, last_ms FROM skill_uses"
        " WHERE project = ? ON CONFLICT (project, skill) DO UPDATE SET"
        " count = count + excluded.count, last_ms = max(last_ms, excluded.last_ms)",
        (target, alias),
    )
    db.execute("DELETE FROM skill_uses WHERE project = ?", (alias,))
