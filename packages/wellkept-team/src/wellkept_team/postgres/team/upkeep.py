"""Runs the upkeep that the database does (`upkeep_schema`), in short transactions."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from wellkept.core.errors import StoreError
from wellkept.core.team.records import RetentionReport, UpkeepReport
from wellkept_team.postgres.connection.database import Connection
from wellkept_team.postgres.connection.pool import Raw

AT_ONCE: Final = 1_000
"""Memories, and entries of the audit log, that one transaction deletes at most."""


def upkeep_preview(db: Connection) -> UpkeepReport:
    """What would go."""
    rows = db.rows("SELECT project, days, ids, entries FROM upkeep_preview(%(tenant)s)")
    projects = tuple(
        RetentionReport(project=project, days=days, ids=tuple(ids))
        for project, days, ids, _ in rows
        if project
    )
    return UpkeepReport(
        is_dry_run=True,
        memories=sum(len(one.ids) for one in projects),
        audit_entries=sum(row[3] for row in rows),
        projects=projects,
    )


def keep_up(db: Connection) -> tuple[int, int]:
    """Delete some of it; returns how many memories and entries went."""
    row = db.row("SELECT memories, entries FROM keep_up(%(tenant)s, %(most)s)", most=AT_ONCE)
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def keep_up_due(raw: Raw, *, every: timedelta) -> UpkeepReport | None:
    """Every organisation whose time has come, until none is left or another process is at it."""
    memories = entries = failed = done = 0
    every_ms = int(every.total_seconds() * 1000)
    while True:
        row = raw.execute(
            "SELECT outcome, memories, entries FROM keep_up_next(%s, %s)", (every_ms, AT_ONCE)
        ).fetchone()
        if row is None or row[0] in ("busy", "none"):
            break
        done += 1
        failed += row[0] == "failed"
        memories, entries = memories + int(row[1]), entries + int(row[2])
    if failed:
        raise StoreError(f"The upkeep of {failed} organisations failed; it is tried again later.")
    if not done:
        return None
    return UpkeepReport(is_dry_run=False, memories=memories, audit_entries=entries)
