"""The `ActivityLog` port, and the log entries of changes.

An entry is written in the transaction of its change, so numbers follow commit order. Only the
latest `ACTIVITY_RETENTION` entries stay; the latest is never removed, so no number is given twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from wellkept.store.queries import require_limit
from wellkept.store.rows import ACTIVITY
from wellkept.store.tables import Component, Connection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.changes import Change, PutInjection, PutSession, PutVerdicts
    from wellkept.core.session.activity import Activity, ActivityKind, ActivityRange

    ActivityEntry: TypeAlias = tuple[ActivityKind, str, bool, str | None, str | None, str | None]
    """Kind, project, visible from every project, memory id, session id, subject."""

_NAMES = ("kind", "project", "everywhere", "memory_id", "session_id", "subject")
_OF_TENANT = "FROM activity WHERE tenant = :tenant"


class ActivityLog(Component):
    """The `ActivityLog` port."""

    def activity(self, *, after: int, project: str | None, limit: int) -> list[Activity]:
        require_limit(limit)
        seen = "" if project is None else " AND (project = :project OR everywhere)"
        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT {ACTIVITY.listed()} {_OF_TENANT} AND number > :after{seen}"
                " ORDER BY number LIMIT :limit",
                after=after,
                project=project,
                limit=limit,
            )
        return list(map(ACTIVITY.read, rows))

    def activity_range(self) -> ActivityRange:
        from wellkept.core.session.activity import ActivityRange

        with self._tables.reading() as db:
            row = db.row(
                f"SELECT coalesce((SELECT min(number) {_OF_TENANT}), 0),"
                f" coalesce((SELECT max(number) {_OF_TENANT}), 0)"
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
    if isinstance(change, (Insert, Replace)):
        kind, new = memory_activity(change), change.memory
        assert kind is not None
        return [(kind, new.project, new.scope is Scope.USER, new.id, new.session_id, None)]
    return memory_entries(db, [change])


def write_activity(db: Connection, entries: Sequence[ActivityEntry], *, at_ms: int) -> None:
    """Write the entries of one transaction and delete the oldest."""
    from wellkept.core.session.activity import ACTIVITY_RETENTION, write_order

    if not entries:
        return
    ordered = sorted(entries, key=lambda one: write_order(one[0]))
    last = db.new_activity(len(ordered))
    rows = [
        {"number": number, "at_ms": at_ms, **dict(zip(_NAMES, (kind.value, *about), strict=True))}
        for number, (kind, *about) in enumerate(ordered, start=last - len(ordered) + 1)
    ]
    db.put("activity", rows)
    db.write(f"DELETE {_OF_TENANT} AND number <= :oldest", oldest=last - ACTIVITY_RETENTION)


def _session_entries(db: Connection, change: PutSession) -> list[ActivityEntry]:
    from wellkept.core.session.activity import session_activity

    session = change.session
    was_open = db.row(
        "SELECT 1 FROM sessions WHERE tenant = :tenant AND id = :id AND ended_ms IS NULL",
        id=session.id,
    )
    kinds = session_activity(session, was_open=was_open is not None)
    return [(kind, session.project, False, None, session.id, None) for kind in kinds]


def _given_entries(db: Connection, change: PutInjection) -> list[ActivityEntry]:
    """One entry for an injection that is not logged yet."""
    from wellkept.core.session.activity import ActivityKind

    one = change.injection
    if db.row("SELECT 1 FROM injections WHERE tenant = :tenant AND id = :id", id=one.id):
        return []
    return [(ActivityKind.LINES_GIVEN, one.project, False, None, one.session_id, one.id)]


def _judged_entries(db: Connection, change: PutVerdicts) -> list[ActivityEntry]:
    """One entry for each injection whose lines were judged."""
    from wellkept.core.session.activity import ActivityKind

    rows = db.rows(
        "SELECT id, project, session_id FROM injections"
        " WHERE tenant = :tenant AND id IN :ids ORDER BY id",
        ids=[one.injection_id for one in change.verdicts],
    )
    kind = ActivityKind.LINES_JUDGED
    return [(kind, project, False, None, session, name) for name, project, session in rows]


def memory_entries(db: Connection, changes: Sequence[Change]) -> list[ActivityEntry]:
    """The log entries of changes of one kind that name their memory."""
    from wellkept.core.changes import Close, Delete, Mark, RequestReview
    from wellkept.core.session.activity import memory_activity

    kind = memory_activity(changes[0])
    if kind is None:
        return []
    named = [one.id for one in changes if isinstance(one, (Close, Delete, Mark, RequestReview))]
    rows = db.rows(
        "SELECT id, project, scope = 'user', session_id FROM memories"
        " WHERE tenant = :tenant AND id IN :ids",
        ids=named,
    )
    about = {row[0]: row[1:] for row in rows}
    return [
        (kind, project, bool(is_user), one, session, None)
        for one in named
        if one in about
        for project, is_user, session in (about[one],)
    ]
