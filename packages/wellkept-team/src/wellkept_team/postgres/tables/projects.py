"""The `ProjectStore` port: project aliases and merging."""

from __future__ import annotations

from wellkept.core.clock import to_ms
from wellkept.core.errors import UsageError
from wellkept_team.postgres.connection.database import Component, Connection, bindable
from wellkept_team.postgres.tables.text_index import DERIVED

_MOVED = "tenant = %(tenant)s AND project = %(alias)s"


class PostgresProjects(Component):
    """The `ProjectStore` port. Aliases are flat: each names its canonical project."""

    def canonical_project(self, identity: str) -> str:
        with self._database.reading() as db:
            return _canonical(db, identity)

    def projects(self) -> list[tuple[str, int]]:
        with self._database.reading() as db:
            rows = db.rows(
                "SELECT project, count(*) AS n FROM memories WHERE tenant = %(tenant)s"
                " GROUP BY project ORDER BY n DESC, project"
            )
        return [(name, n) for name, n in rows]

    def merge_projects(self, alias: str, *, into: str) -> int:
        """Move the memories; of two open memories with one key the later updated stays open."""
        if not alias or not into:
            raise UsageError("A project needs a name.")
        with self._database.writing() as db:
            target = _canonical(db, into)
            if target == alias:
                raise UsageError(f"The project {into!r} is already an alias of {alias!r}.")
            self._close_clashes(db, alias, target)
            moved = _move_memories(db, alias, target)
            for table in (
                "sessions", "activity", "skills", "skill_versions", "skill_runs", "scratchpads",
                "explanations", "injections", "injected_lines",
            ):  # fmt: skip
                db.run(
                    f"UPDATE {table} SET project = %(target)s WHERE {_MOVED}",
                    alias=alias,
                    target=target,
                )
            _merge_rows(db, alias, target)
            # A step would bring rows back under the old name.
            db.run(f"DELETE FROM undo_steps WHERE {_MOVED}", alias=alias)
            db.run(
                "UPDATE project_aliases SET canonical = %(target)s"
                " WHERE tenant = %(tenant)s AND canonical = %(alias)s",
                alias=alias,
                target=target,
            )
            db.run(
                "INSERT INTO project_aliases (tenant, project, canonical)"
                " VALUES (%(tenant)s, %(alias)s, %(target)s)"
                " ON CONFLICT (tenant, project) DO UPDATE SET canonical = excluded.canonical",
                alias=alias,
                target=target,
            )
        return moved

    def _close_clashes(self, db: Connection, alias: str, target: str) -> None:
        clashes = db.rows(
            "SELECT a.id, b.id, a.updated_ms > b.updated_ms FROM memories a JOIN memories b"
            " ON b.tenant = a.tenant AND b.home = %(target)s AND b.key = a.key"
            " AND b.valid_to_ms IS NULL"
            " WHERE a.tenant = %(tenant)s AND a.home = %(alias)s AND a.valid_to_ms IS NULL",
            alias=alias,
            target=target,
        )
        for ours, theirs, ours_is_newer in clashes:
            kept, closed = (ours, theirs) if ours_is_newer else (theirs, ours)
            db.run(
                "UPDATE memories SET valid_to_ms = greatest(valid_from_ms, %(now)s),"
                " updated_ms = greatest(updated_ms, %(now)s), superseded_by = %(kept)s"
                " WHERE tenant = %(tenant)s AND id = %(closed)s",
                now=to_ms(self._clock()),
                kept=kept,
                closed=closed,
            )


def _canonical(db: Connection, identity: str) -> str:
    found = db.value(
        "SELECT canonical FROM project_aliases"
        " WHERE tenant = %(tenant)s AND project = %(identity)s",
        identity=bindable(identity),
    )
    return identity if found is None else str(found)


def _move_memories(db: Connection, alias: str, target: str) -> int:
    """Memories about the person keep their home: they are seen from everywhere."""
    for table in DERIVED:
        db.run(
            f"UPDATE {table} SET home = %(target)s WHERE tenant = %(tenant)s AND home = %(alias)s",
            alias=alias,
            target=target,
        )
    return db.run(
        "UPDATE memories SET project = %(target)s,"
        " home = CASE home WHEN '' THEN '' ELSE %(target)s END"
        f" WHERE {_MOVED} AND home = ANY(%(homes)s)",
        alias=alias,
        target=target,
        homes=[alias, ""],
    ).rowcount


def _merge_rows(db: Connection, alias: str, target: str) -> None:
    """Rows that both projects may have: file links keep the larger weight, counts are added, of
    two silent lines the target's stays, of two signals of one session the alias's."""
    statements = (
        "INSERT INTO file_links (tenant, project, file_a, file_b, weight, count)"
        " SELECT tenant, %(target)s, file_a, file_b, weight, count FROM file_links"
        f" WHERE {_MOVED} ON CONFLICT (tenant, project, file_a, file_b) DO UPDATE SET"
        " weight = greatest(file_links.weight, excluded.weight),"
        " count = file_links.count + excluded.count",
        "INSERT INTO skill_uses (tenant, project, skill, count, last_ms)"
        f" SELECT tenant, %(target)s, skill, count, last_ms FROM skill_uses WHERE {_MOVED}"
        " ON CONFLICT (tenant, project, skill) DO UPDATE SET"
        " count = skill_uses.count + excluded.count,"
        " last_ms = greatest(skill_uses.last_ms, excluded.last_ms)",
        "INSERT INTO silent_lines (tenant, project, line_id, at_ms, reason)"
        f" SELECT tenant, %(target)s, line_id, at_ms, reason FROM silent_lines WHERE {_MOVED}"
        " ON CONFLICT (tenant, project, line_id) DO NOTHING",
        "INSERT INTO signals (tenant, project, kind, subject, session_id, at_ms, count, module,"
        " detail) SELECT tenant, %(target)s, kind, subject, session_id, at_ms, count, module,"
        f" detail FROM signals WHERE {_MOVED}"
        " ON CONFLICT (tenant, project, kind, subject, session_id) DO UPDATE SET"
        " at_ms = excluded.at_ms, count = excluded.count, module = excluded.module,"
        " detail = excluded.detail",
        *(
            f"DELETE FROM {table} WHERE {_MOVED}"
            for table in ("file_links", "skill_uses", "silent_lines", "signals")
        ),
    )
    for statement in statements:
        db.run(statement, alias=alias, target=target)
