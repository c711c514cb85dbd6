"""The `ActivityLog` port, and the log entries of changes.

An entry is written in the transaction of its change, under the lock of the tenant, so numbers
follow commit order. Each write also sends a notification: `listen.py` waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from wellkept.store.queries import require_limit
from wellkept.store.rows import ACTIVITY
from wellkept_team.postgres.connection.database import Component, bindable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.changes import Change, PutInjection, PutSession, PutVerdicts
    from wellkept.core.session.activity import Activity, ActivityKind, ActivityRange
    from wellkept_team.postgres.connection.database import Connection, Row

    ActivityEntry: TypeAlias = tuple[ActivityKind, str, bool, str | None, str | None, str | None]
    """Kind, project, visible from every project, memory id, session id, subject."""

CHANNEL = "wellkept_activity"


class PostgresActivityLog(Component):
    """The `ActivityLog` port."""

    def activity(self, *, after: int, project: str | None, limit: int) -> list[Activity]:
        require_limit(limit)
        seen = "" if project is None else " AND (project = %(project)s OR everywhere)"
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {ACTIVITY.listed()}"
                f" FROM activity WHERE tenant = %(tenant)s AND number > %(after)s{seen}"
                " ORDER BY number LIMIT %(limit)s",
                after=after,
                project=None if project is None else bindable(project),
                limit=limit,
            )
        return list(map(ACTIVITY.read, rows))

    def activity_range(self) -> ActivityRange:
        from wellkept.core.session.activity import ActivityRange

        with self._database.reading() as db:
            row = db.row(
                "SELECT coalesce(min(number), 0), coalesce(max(number), 0) FROM activity"
                " WHERE tenant = %(tenant)s"
            )
        assert row is not None
        return ActivityRange(*row)


def activity_entries(db: Connection, change: Change) -> list[ActivityEntry]:
    """The log entries of a change that is about to be made."""
    from wellkept.core.changes import (
        Announce,
        Insert,
        PutInjection,
        PutSession,
        PutVerdicts,
        Replace,
    )
    from wellkept.core.session.activity import memory_activity
    from wellkept.core.types import Scope

    if isinstance(change, PutSession):
        return _session_entries(db, change)
    if isinstance(change, Announce):
        return [(change.kind, change.project, False, None, None, change.subject)]
    if isinstance(change, PutInjection):
        return _given_entries(db, change)
    if isinstance(change, PutVerdicts):
        return _judged_entries(db, change)
    kind = memory_activity(change)
    if kind is None:
        return []
    if isinstance(change, (Insert, Replace)):
        new = change.memory
        return [(kind, new.project, new.scope is Scope.USER, new.id, new.session_id, None)]
    return _memory_entries(db, change, kind)


def write_activity(db: Connection, entries: Sequence[ActivityEntry], *, at_ms: int) -> None:
    """Write the entries of one transaction and delete the oldest."""
    from wellkept.core.session.activity import ACTIVITY_RETENTION, write_order

    if not entries:
        return
    ordered = sorted(entries, key=lambda one: write_order(one[0]))
    last = db.value(
        "INSERT INTO activity_numbers (tenant, project, last) VALUES (%(tenant)s, '', %(n)s)"
        " ON CONFLICT (tenant, project) DO UPDATE SET last = activity_numbers.last + excluded.last"
        " RETURNING last",
        n=len(ordered),
    )
    first = last - len(ordered) + 1
    columns = list(zip(*ordered, strict=True))
    db.run(
        "INSERT INTO activity (tenant, project, number, at_ms, kind, everywhere, memory_id,"
        " session_id, subject) SELECT %(tenant)s, project, number, %(at_ms)s, kind, everywhere,"
        " memory_id, session_id, subject FROM unnest(%(numbers)s::bigint[], %(kinds)s::text[],"
        " %(projects)s::text[], %(everywhere)s::boolean[], %(memories)s::text[],"
        " %(sessions)s::text[], %(subjects)s::text[])"
        " AS e (number, kind, project, everywhere, memory_id, session_id, subject)",
        at_ms=at_ms,
        numbers=list(range(first, last + 1)),
        kinds=[kind.value for kind in columns[0]],
        projects=list(columns[1]),
        everywhere=list(columns[2]),
        memories=list(columns[3]),
        sessions=list(columns[4]),
        subjects=list(columns[5]),
    )
    db.run(
        "DELETE FROM activity WHERE tenant = %(tenant)s AND number <= %(oldest)s",
        oldest=last - ACTIVITY_RETENTION,
    )
    db.run("SELECT pg_notify(%(channel)s, %(tenant)s)", channel=CHANNEL)


def _session_entries(db: Connection, change: PutSession) -> list[ActivityEntry]:
    from wellkept.core.session.activity import session_activity

    session = change.session
    was_open = db.row(
        "SELECT 1 FROM sessions WHERE tenant = %(tenant)s AND id = %(id)s AND ended_ms IS NULL",
        id=session.id,
    )
    kinds = session_activity(session, was_open=was_open is not None)
    return [(kind, session.project, False, None, session.id, None) for kind in kinds]


def _given_entries(db: Connection, change: PutInjection) -> list[ActivityEntry]:
    """One entry for an injection that is not logged yet."""
    from wellkept.core.session.activity import ActivityKind

    one = change.injection
    if _injections(db, [one.id]):
        return []
    return [(ActivityKind.LINES_GIVEN, one.project, False, None, one.session_id, one.id)]


def _judged_entries(db: Connection, change: PutVerdicts) -> list[ActivityEntry]:
    """One entry for each injection whose lines were judged."""
    from wellkept.core.session.activity import ActivityKind

    known = _injections(db, sorted({one.injection_id for one in change.verdicts}))
    return [
        (ActivityKind.LINES_JUDGED, project, False, None, session_id, injection_id)
        for injection_id, project, session_id in known
    ]


def _injections(db: Connection, ids: Sequence[str]) -> list[Row]:
    return db.rows(
        "SELECT id, project, session_id FROM injections"
        " WHERE tenant = %(tenant)s AND id = ANY(%(ids)s) ORDER BY id",
        ids=list(ids),
    )


def _memory_entries(db: Connection, change: Change, kind: ActivityKind) -> list[ActivityEntry]:
    from wellkept.core.changes import Close, Delete, RequestReview

    assert isinstance(change, (Close, Delete, RequestReview))
    rows = db.rows(
        "SELECT project, scope = 'user', session_id FROM memories"
        " WHERE tenant = %(tenant)s AND id = %(id)s",
        id=change.id,
    )
    return [
        (kind, project, bool(user), change.id, session, None) for project, user, session in rows
    ]
