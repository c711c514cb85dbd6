"""The `ProjectStore` port: project aliases and merging."""

from __future__ import annotations

from wellkept.core.clock import to_ms
from wellkept.core.errors import UsageError
from wellkept.store.sqlite.connection.database import Component, Connection
from wellkept.store.sqlite.tables.injections import move_silent_lines
from wellkept.store.sqlite.tables.scratchpads import move_signals
from wellkept.store.sqlite.tables.skills import move_skill_uses
from wellkept.store.sqlite.tables.undo import drop_undo


class SqliteProjects(Component):
    """The `ProjectStore` port. Aliases are flat: each names its canonical project."""

    def canonical_project(self, identity: str) -> str:
        with self._database.reading() as db:
            return _canonical(db, identity)

    def projects(self) -> list[tuple[str, int]]:
        with self._database.reading() as db:
            return db.execute(
                "SELECT project, count(*) AS n FROM memories GROUP BY project"
                " ORDER BY n DESC, project"
            ).fetchall()

    def merge_projects(self, alias: str, *, into: str) -> int:
        """Move the memories; of two open memories with one key the later updated stays open."""
        if not alias or not into:
            raise UsageError("A project needs a name.")
        with self._database.writing() as db:
            target = _canonical(db, into)
            if target == alias:
                raise UsageError(f"The project {into!r} is already an alias of {alias!r}.")
            self._close_clashes(db, alias, target)
            moved = db.execute(
                "UPDATE memories SET project = ? WHERE project = ?", (target, alias)
            ).rowcount
            for table in (
                "sessions", "news", "skill_library", "scratchpads", "explanations", "injections",
            ):  # fmt: skip
                db.execute(f"UPDATE {table} SET project = ? WHERE project = ?", (target, alias))
            _move_file_links(db, alias, target)
            move_skill_uses(db, alias, target)
            move_signals(db, alias, target)
            move_silent_lines(db, alias, target)
            # A step would bring rows back under the old name.
            drop_undo(db, alias)
            db.execute(
                "UPDATE project_aliases SET canonical = ? WHERE canonical = ?", (target, alias)
            )
            db.execute("INSERT OR REPLACE INTO project_aliases VALUES (?, ?)", (alias, target))
        return moved

    def _close_clashes(self, db: Connection, alias: str, target: str) -> None:
        clashes = db.execute(
            "SELECT a.id, b.id, a.updated_ms > b.updated_ms FROM memories a JOIN memories b"
            " ON b.project = ? AND b.key = a.key AND b.valid_to_ms IS NULL AND b.scope <> 'user'"
            " WHERE a.project = ? AND a.valid_to_ms IS NULL AND a.scope <> 'user'",
            (target, alias),
        ).fetchall()
        now_ms = to_ms(self._clock())
        for ours, theirs, ours_is_newer in clashes:
            kept, closed = (ours, theirs) if ours_is_newer else (theirs, ours)
            db.execute(
                "UPDATE memories SET valid_to_ms = max(valid_from_ms, ?),"
                " updated_ms = max(updated_ms, ?), superseded_by = ? WHERE id = ?",
                (now_ms, now_ms, kept, closed),
            )


def _canonical(db: Connection, identity: str) -> str:
    row = db.execute(
        "SELECT canonical FROM project_aliases WHERE alias = ?", (identity,)
    ).fetchone()
    return identity if row is None else str(row[0])


def _move_file_links(db: Connection, alias: str, target: str) -> None:
    """A pair in both projects keeps the larger weight and the sum of the counts."""
    db.execute(
        "INSERT INTO file_links SELECT ?, file_a, file_b, weight, count FROM file_links"
        " WHERE project = ? ON CONFLICT (project, file_a, file_b) DO UPDATE SET"
        " weight = max(weight, excluded.weight), count = count + excluded.count",
        (target, alias),
    )
    db.execute("DELETE FROM file_links WHERE project = ?", (alias,))
