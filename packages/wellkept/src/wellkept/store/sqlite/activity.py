"""The `ActivityLog` port, and the log entries of changes.

An entry is written in the transaction of its change, so numbers follow commit order. Only the
latest `ACTIVITY_RETENTION` entries stay.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

from wellkept.store.queries import require_limit
from wellkept.store.rows import ACTIVITY
from wellkept.store.sqlite.database import Component

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.changes import Change, PutInjection, PutSession, PutVerdicts
    from wellkept.core.session.activity import Activity, ActivityKind, ActivityRange
    from wellkept.store.sqlite.database import Connection

    ActivityEntry: TypeAlias = tuple[ActivityKind, str, bool, str | None, str | None, str | None]
    """Kind, project, visible from every project, memory id, session id, subject."""

_INSERT = (
    "INSERT INTO activity (at_ms, kind, project, everywhere, memory_id, session_id, subject)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_SPAN = (
    "SELECT coalesce((SELECT min(number) FROM activity), 0),"
    " coalesce((SELECT max(number) FROM activity), 0)"
)


class SqliteActivityLog(Component):
    """The `ActivityLog` port."""

    def activity(self, *, after: int, project: str | None, limit: int) -> list[Activity]:
        require_limit(limit)
        seen, values = ("1", ()) if project is None else ("(project = ? OR everywhere)", (project,))
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {ACTIVITY.listed()}"
                f" FROM activity WHERE number > ? AND {seen} ORDER BY number LIMIT ?",
                (after, *values, limit),
            ).fetchall()
        return list(map(ACTIVITY.read, rows))

    def activity_range(self) -> ActivityRange:
        from wellkept.core.session.activity import ActivityRange

        with self._database.reading() as db:
            return ActivityRange(*db.execute(_SPAN).fetchone())


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
    db.executemany(_INSERT, [(at_ms, kind.value, *about) for kind, *about in ordered])
    db.execute(
        "DELETE FROM activity WHERE number <= (SELECT max(number) FROM activity) - ?",
        (ACTIVITY_RETENTION,),
    )


def _session_entries(db: Connection, change: PutSession) -> list[ActivityEntry]:
    from wellkept.core.session.activity import session_activity

    session = change.session
    was_open = db.execute(
        "SELECT 1 FROM sessions WHERE id = ? AND ended_ms IS NULL", (session.id,)
    ).fetchone()
    kinds = session_activity(session, was_open=was_open is not None)
    return [(kind, session.project, False, None, session.id, None) for kind in kinds]


def _given_entries(db: Connection, change: PutInjection) -> list[ActivityEntry]:
    """One entry for an injection that is not logged yet."""
    from wellkept.core.session.activity import ActivityKind

    one = change.injection
    if db.execute("SELECT 1 FROM injections WHERE id = ?", (one.id,)).fetchone():
        return []
    return [(ActivityKind.LINES_GIVEN, one.project, False, None, one.session_id, one.id)]


def _judged_entries(db: Connection, change: PutVerdicts) -> list[ActivityEntry]:
    """One entry for each injection whose lines were judged."""
    from wellkept.core.session.activity import ActivityKind

    names = sorted({one.injection_id for one in change.verdicts})
    rows = [
        db.execute("SELECT project, session_id FROM injections WHERE id = ?", (name,)).fetchone()
        for name in names
    ]
    return [
        (ActivityKind.LINES_JUDGED, row[0], False, None, row[1], name)
        for name, row in zip(names, rows, strict=True)
        if row is not None
    ]


def memory_entries(db: Connection, changes: Sequence[Change]) -> list[ActivityEntry]:
    """The log entries of changes of one kind that name their memory."""
    from wellkept.core.changes import Close, Delete, Mark, RequestReview
    from wellkept.core.session.activity import memory_activity

    kind = memory_activity(changes[0])
    if kind is None:
        return []
    logged = [one.id for one in changes if isinstance(one, (Close, Delete, Mark, RequestReview))]
    rows = db.execute(
        "SELECT m.id, m.project, m.scope = 'user', m.session_id FROM json_each(?) j"
        " CROSS JOIN memories m ON m.id = j.value",
        (json.dumps(logged),),
    )
    return [(kind, project, bool(user), one, session, None) for one, project, user, session in rows]
