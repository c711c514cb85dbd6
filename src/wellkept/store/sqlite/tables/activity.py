"""News beside the changes that they tell of: the `NewsBook` port, and how the rows come to be.

A row of news is written in the transaction of its change, so there is one if and only if the
change is there, and numbers follow the order of commits. Only the latest are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from wellkept.core.clock import from_ms
from wellkept.store.sqlite.connection.component import Component, require_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.activity import Activity, ActivityKind, ActivityRange
    from wellkept.core.changes import Change, PutSession
    from wellkept.store.sqlite.connection.database import Connection, SqlValue

    Told: TypeAlias = tuple[ActivityKind, str, bool, str | None, str | None, str | None]
    """Kind, project, whether it is seen everywhere, memory, session and subject."""

_INSERT = (
    "INSERT INTO news (at_ms, kind, project, everywhere, memory_id, session_id, subject)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_SPAN = (
    "SELECT coalesce((SELECT min(number) FROM news), 0),"
    " coalesce((SELECT max(number) FROM news), 0)"
)


class SqliteActivityLog(Component):
    """The `NewsBook` port."""

    def activity(self, *, after: int, project: str | None, limit: int) -> list[Activity]:
        require_limit(limit)
        seen, values = ("1", ()) if project is None else ("(project = ? OR everywhere)", (project,))
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT number, kind, at_ms, project, everywhere, memory_id, session_id, subject"
                f" FROM news WHERE number > ? AND {seen} ORDER BY number LIMIT ?",
                (after, *values, limit),
            ).fetchall()
        return [_to_news(row) for row in rows]

    def activity_range(self) -> ActivityRange:
        from wellkept.core.activity import ActivityRange

        with self._database.reading() as db:
            return ActivityRange(*db.execute(_SPAN).fetchone())


def news_of(db: Connection, change: Change) -> list[Told]:
    """What a change that is about to be made will have brought."""
    from wellkept.core.activity import memory_activity
    from wellkept.core.changes import Announce, Insert, PutSession, Replace
    from wellkept.core.types import Scope

    if isinstance(change, PutSession):
        return _of_session(db, change)
    if isinstance(change, Announce):
        return [(change.kind, change.project, False, None, None, change.subject)]
    kind = memory_activity(change)
    if kind is None:
        return []
    if isinstance(change, (Insert, Replace)):
        new = change.memory
        return [(kind, new.project, new.scope is Scope.USER, new.id, new.session_id, None)]
    return _of_known_memory(db, change, kind)


def write_news(db: Connection, told: Sequence[Told], *, at_ms: int) -> None:
    """Write the news of one transaction, and let go of the oldest."""
    from wellkept.core.activity import ACTIVITY_RETENTION, write_order

    if not told:
        return
    ordered = sorted(told, key=lambda one: write_order(one[0]))
    db.executemany(_INSERT, [(at_ms, kind.value, *about) for kind, *about in ordered])
    db.execute(
        "DELETE FROM news WHERE number <= (SELECT max(number) FROM news) - ?", (ACTIVITY_RETENTION,)
    )


def _of_session(db: Connection, change: PutSession) -> list[Told]:
    from wellkept.core.activity import session_activity

    session = change.session
    was_open = db.execute(
        "SELECT 1 FROM sessions WHERE id = ? AND ended_ms IS NULL", (session.id,)
    ).fetchone()
    kinds = session_activity(session, was_open=was_open is not None)
    return [(kind, session.project, False, None, session.id, None) for kind in kinds]


def _of_known_memory(db: Connection, change: Change, kind: ActivityKind) -> list[Told]:
    from wellkept.core.changes import Close, Delete, Mark

    assert isinstance(change, (Close, Delete, Mark))
    rows = db.execute(
        "SELECT project, scope = 'user', session_id FROM memories WHERE id = ?", (change.id,)
    ).fetchall()
    return [
        (kind, project, bool(user), change.id, session, None) for project, user, session in rows
    ]


def _to_news(row: tuple[SqlValue, ...]) -> Activity:
    from wellkept.core.activity import Activity, ActivityKind

    number, kind, at_ms, project, everywhere, memory_id, session_id, subject = row
    assert isinstance(number, int)
    assert isinstance(at_ms, int)
    return Activity(
        number=number,
        kind=ActivityKind(str(kind)),
        at=from_ms(at_ms),
        project=str(project),
        everywhere=bool(everywhere),
        memory_id=None if memory_id is None else str(memory_id),
        session_id=None if session_id is None else str(session_id),
        subject=None if subject is None else str(subject),
    )
