"""Merging of two projects: what one has goes to the other, whose names then count for both."""

from __future__ import annotations

from wellkept.core.clock import to_ms
from wellkept.core.errors import UsageError
from wellkept.store.tables import Component, Connection
from wellkept.store.tables.key_values import canonical

_OF_ALIAS = "WHERE tenant = :tenant AND project = :alias"
# Rows that both projects may have: file links keep the larger weight, counts are added, of two
# suppressed lines the target's stays, of two signals of one session the alias's.
_MERGED = {
    "file_links": (
        "file_a, file_b, weight, count",
        "(tenant, project, file_a, file_b) DO UPDATE SET"
        " weight = greatest(file_links.weight, excluded.weight),"
        " count = file_links.count + excluded.count",
    ),
    "skill_uses": (
        "skill, count, last_ms",
        "(tenant, project, skill) DO UPDATE SET count = skill_uses.count + excluded.count,"
        " last_ms = greatest(skill_uses.last_ms, excluded.last_ms)",
    ),
    "silent_lines": ("line_id, at_ms, reason", "(tenant, project, line_id) DO NOTHING"),
}


class ProjectMerge(Component):
    """The writing part of the `ProjectStore` port."""

    def merge_projects(self, alias: str, *, into: str) -> int:
        """Move the memories; of two open memories with one key the later updated stays open."""
        if not alias or not into:
            raise UsageError("A project needs a name.")
        with self._tables.writing() as db:
            target = canonical(db, into)
            if target == alias:
                raise UsageError(f"The project {into!r} is already an alias of {alias!r}.")
            names = {"alias": alias, "target": target}
            self._close_clashes(db, names)
            moved = self._move_memories(db, names)
            for table, (columns, conflict) in _MERGED.items():
                db.write(
                    f"INSERT INTO {table} (tenant, project, {columns}) SELECT tenant, :target,"
                    f" {columns} FROM {table} {_OF_ALIAS} ON CONFLICT {conflict}",
                    **names,
                )
            # A step that can be undone would bring rows back under the old name.
            for table in (*_MERGED, "undo_steps"):
                db.write(f"DELETE FROM {table} {_OF_ALIAS}", alias=alias)
            for table in (
                "sessions", "activity", "skills", "scratchpads", "signals", "explanations",
                "injections", *db.hanging,
            ):  # fmt: skip
                db.write(f"UPDATE {table} SET project = :target {_OF_ALIAS}", **names)
            db.write(
                "UPDATE project_aliases SET canonical = :target"
                " WHERE tenant = :tenant AND canonical = :alias",
                **names,
            )
            db.put("project_aliases", [{"project": alias, "canonical": target}], key=("project",))
        return moved

    def _close_clashes(self, db: Connection, names: dict[str, str]) -> None:
        clashes = db.rows(
            "SELECT a.id, b.id, a.updated_ms > b.updated_ms FROM memories a JOIN memories b"
            " ON b.tenant = a.tenant AND b.home = :target AND b.project = :target"
            " AND b.key = a.key AND b.valid_to_ms IS NULL AND b.scope <> 'user'"
            " WHERE a.tenant = :tenant AND a.home = :alias AND a.valid_to_ms IS NULL",
            **names,
        )
        for ours, theirs, ours_is_newer in clashes:
            kept, closed = (ours, theirs) if ours_is_newer else (theirs, ours)
            db.write(
                "UPDATE memories SET valid_to_ms = greatest(valid_from_ms, :now),"
                " updated_ms = greatest(updated_ms, :now), superseded_by = :kept"
                " WHERE tenant = :tenant AND id = :closed",
                now=to_ms(self._clock()),
                kept=kept,
                closed=closed,
            )

    def _move_memories(self, db: Connection, names: dict[str, str]) -> int:
        return db.write(f"UPDATE memories SET project = :target {_OF_ALIAS}", **names)
