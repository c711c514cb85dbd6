"""The `UndoLog` port: memories as rows, kept as JSON until they are brought back or too old.

Invariant: an undone step leaves the rows, labels, vectors, explanations, silent lines and the text
of lines given as they were before it. Vectors name their model, not its number.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from wellkept.core.changes import IndexEntry, Insert
from wellkept.core.clock import to_ms
from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.ports.store import MAINTENANCE
from wellkept.store.queries import require_limit
from wellkept.store.rows import UNDO_STEPS, archived_subject, restored_subject, unknown_step
from wellkept_team.postgres.connection.database import Component, bindable
from wellkept_team.postgres.tables.apply_changes import (
    delete_memory,
    insert_memories,
    replace_memory,
)
from wellkept_team.postgres.tables.memory_rows import SELECTED, to_memory
from wellkept_team.postgres.tables.text_index import IndexWriter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wellkept.core.ports.store import UndoStep
    from wellkept_team.postgres.connection.database import Connection
    from wellkept_team.postgres.tables.activity import ActivityEntry

_LINES: Final = "project, injection, number, text, reason, outcome, outcome_by, outcome_ms"
_OF_STEP: Final = "WHERE tenant = %(tenant)s AND id = %(id)s"


class PostgresUndo(Component):
    """The `UndoLog` port."""

    def begin_undo(self, step: UndoStep, ids: Sequence[str]) -> None:
        with self._database.writing() as db:
            body = {"before": [_kept(db, one) for one in _with_predecessors(db, ids)]}
            _insert_step(db, step, count=step.count, body=body)

    def finish_undo(self, step_id: str, *, made: Sequence[str]) -> None:
        with self._database.writing() as db:
            text = db.value(f"SELECT body FROM undo_steps {_OF_STEP}", id=bindable(step_id))
            if text is None:
                raise unknown_step(step_id)
            body = json.loads(text)
            ids = [*(one["id"] for one in body["before"]), *made]
            body |= {"made": list(made), "after": {one: _state(db, one) for one in ids}}
            db.run(
                f"UPDATE undo_steps SET body = %(body)s {_OF_STEP}",
                body=json.dumps(body),
                id=step_id,
            )

    def archive(self, step: UndoStep, ids: Sequence[str]) -> list[str]:
        from wellkept.core.session.activity import ActivityKind
        from wellkept_team.postgres.tables.activity import write_activity

        at_ms = to_ms(step.at)
        with self._database.writing() as db:
            rows = db.rows(
                "UPDATE memories SET archived_ms = %(at)s WHERE tenant = %(tenant)s"
                " AND archived_ms IS NULL AND NOT pinned AND id = ANY(%(ids)s) RETURNING id",
                at=at_ms,
                ids=list(map(bindable, ids)),
            )
            if not rows:
                return []
            done = sorted(row[0] for row in rows)
            body = {"before": [], "archived": done}
            _insert_step(db, step, count=len(done), body=body)
            told = archived_subject(step.id, len(done))
            news = (ActivityKind.MEMORIES_ARCHIVED, step.project, False, None, None, told)
            write_activity(db, [news], at_ms=at_ms)
        return done

    def archived_by_rule(self, *, project: str) -> set[str]:
        with self._database.reading() as db:
            rows = db.rows(
                "SELECT json_array_elements_text(body::json -> 'archived') FROM undo_steps"
                " WHERE tenant = %(tenant)s AND project = %(project)s AND action = %(action)s",
                project=bindable(project),
                action=MAINTENANCE,
            )
        return {row[0] for row in rows}

    def undo_steps(self, *, project: str, limit: int) -> list[UndoStep]:
        require_limit(limit)
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {UNDO_STEPS.listed()} FROM undo_steps WHERE tenant = %(tenant)s"
                " AND project = %(project)s ORDER BY at_ms DESC, id DESC LIMIT %(limit)s",
                project=bindable(project),
                limit=limit,
            )
        return list(map(UNDO_STEPS.read, rows))

    def undo(self, step_id: str, *, project: str) -> UndoStep:
        from wellkept.core.session.activity import ActivityKind
        from wellkept_team.postgres.tables.activity import write_activity

        at_ms = to_ms(self._clock())
        with self._database.writing() as db:
            row = db.row(
                f"SELECT {UNDO_STEPS.listed()}, body FROM undo_steps {_OF_STEP}"
                " AND project = %(project)s",
                id=bindable(step_id),
                project=bindable(project),
            )
            if row is None:
                raise unknown_step(step_id)
            if row[5] is not None:
                raise ConflictError("This was undone already.")
            body = cast("dict[str, Any]", json.loads(row[6]))
            _require_same(db, body.get("after", {}))
            index = IndexWriter(db)
            for one in body.get("made", ()):
                if _state(db, one) is not None:
                    delete_memory(db, index, one)
            for one in body["before"]:
                _bring_back(db, index, one)
            index.finish()
            db.run(
                "UPDATE memories SET archived_ms = NULL WHERE tenant = %(tenant)s"
                " AND archived_ms = %(at)s AND id = ANY(%(ids)s)",
                at=row[3],
                ids=body.get("archived", []),
            )
            db.run(f"UPDATE undo_steps SET undone_ms = %(at)s {_OF_STEP}", at=at_ms, id=step_id)
            news = [(ActivityKind.MEMORY_DELETED, one) for one in body.get("made", ())]
            news += [(ActivityKind.MEMORY_CHANGED, one["id"]) for one in body["before"]]
            entries: list[ActivityEntry] = [
                (kind, project, False, one, None, None) for kind, one in news
            ]
            if archived := body.get("archived"):
                told = restored_subject(step_id, len(archived))
                entries.append((ActivityKind.MEMORY_CHANGED, project, False, None, None, told))
            write_activity(db, entries, at_ms=at_ms)
        return UNDO_STEPS.read((*row[:5], at_ms))

    def prune_undo(self, *, before: datetime) -> int:
        with self._database.writing() as db:
            return db.run(
                "DELETE FROM undo_steps WHERE tenant = %(tenant)s AND at_ms < %(before)s"
                " AND action <> %(kept)s",
                before=to_ms(before),
                kept=MAINTENANCE,
            ).rowcount


def _insert_step(db: Connection, step: UndoStep, *, count: int, body: dict[str, Any]) -> None:
    db.run(
        "INSERT INTO undo_steps (tenant, project, id, action, at_ms, count, body)"
        " VALUES (%(tenant)s, %(project)s, %(id)s, %(action)s, %(at)s, %(count)s, %(body)s)",
        project=step.project,
        id=step.id,
        action=step.action,
        at=to_ms(step.at),
        count=count,
        body=json.dumps(body),
    )


def _with_predecessors(db: Connection, ids: Sequence[str]) -> list[str]:
    """The memories and those that name them as successor: a deletion takes that from them."""
    named = list(dict.fromkeys(map(bindable, ids)))
    older = db.rows(
        "SELECT id FROM memories WHERE tenant = %(tenant)s AND superseded_by = ANY(%(ids)s)"
        " ORDER BY number",
        ids=named,
    )
    return list(dict.fromkeys([*named, *(row[0] for row in older)]))


def _kept(db: Connection, memory_id: str) -> dict[str, Any]:
    """A memory with everything that goes with it."""
    row = db.row(
        f"SELECT m.extra, m.home, m.number, {SELECTED} FROM memories m"
        " WHERE m.tenant = %(tenant)s AND m.id = %(id)s",
        id=memory_id,
    )
    if row is None:
        raise NotFoundError(f"There is no memory {memory_id!r}.")
    return {
        "id": memory_id,
        "extra": row[0],
        "row": list(row[3:]),
        "vectors": db.rows(
            "SELECT d.model_id, v.codes::text FROM vectors v JOIN models d"
            " ON d.tenant = v.tenant AND d.model = v.model WHERE v.tenant = %(tenant)s"
            " AND v.home = %(home)s AND v.number = %(number)s",
            home=row[1],
            number=row[2],
        ),
        "explanation": db.row(
            "SELECT project, at_ms, body FROM explanations"
            " WHERE tenant = %(tenant)s AND memory_id = %(id)s",
            id=memory_id,
        ),
        "lines": db.rows(
            f"SELECT {_LINES} FROM injected_lines WHERE tenant = %(tenant)s AND memory_id = %(id)s",
            id=memory_id,
        ),
        "silent": db.rows(
            "SELECT project, at_ms, reason FROM silent_lines"
            " WHERE tenant = %(tenant)s AND line_id = %(id)s",
            id=memory_id,
        ),
    }


def _state(db: Connection, memory_id: str) -> list[Any] | None:
    """What tells whether a memory was changed since; uses do not count."""
    row = db.row(
        "SELECT updated_ms, valid_to_ms, superseded_by, archived_ms FROM memories"
        " WHERE tenant = %(tenant)s AND id = %(id)s",
        id=memory_id,
    )
    return None if row is None else list(row)


def _require_same(db: Connection, after: dict[str, Any]) -> None:
    changed = [one for one, state in after.items() if _state(db, one) != state]
    if changed:
        raise ConflictError(
            f"{len(changed)} of the memories were changed since, so this cannot be undone.",
            hint="Correct them one by one.",
        )


def _bring_back(db: Connection, index: IndexWriter, kept: dict[str, Any]) -> None:
    memory, entry = to_memory(kept["row"]), IndexEntry(kept["extra"])
    if _state(db, memory.id) is None:
        insert_memories(db, index, [Insert(memory, entry)])
    else:
        replace_memory(db, index, memory, entry, None)
    db.many(
        "INSERT INTO vectors (tenant, home, model, number, codes)"
        " SELECT m.tenant, m.home, d.model, m.number, %(codes)s::halfvec FROM memories m"
        " JOIN models d ON d.tenant = m.tenant AND d.model_id = %(model_id)s"
        " WHERE m.tenant = %(tenant)s AND m.id = %(id)s",
        [{"id": memory.id, "model_id": name, "codes": codes} for name, codes in kept["vectors"]],
    )
    if kept["explanation"] is not None:
        db.many(
            "INSERT INTO explanations (tenant, project, memory_id, at_ms, body)"
            " VALUES (%(tenant)s, %(project)s, %(id)s, %(at)s, %(body)s)"
            " ON CONFLICT (tenant, project, memory_id)"
            " DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body",
            [
                {"id": memory.id, "project": project, "at": at_ms, "body": body}
                for project, at_ms, body in [kept["explanation"]]
            ],
        )
    names = _LINES.split(", ")
    db.many(
        "UPDATE injected_lines SET text = %(text)s, reason = %(reason)s, outcome = %(outcome)s,"
        " outcome_by = %(outcome_by)s, outcome_ms = %(outcome_ms)s WHERE tenant = %(tenant)s"
        " AND project = %(project)s AND injection = %(injection)s AND number = %(number)s",
        [dict(zip(names, line, strict=True)) for line in kept["lines"]],
    )
    db.run("DELETE FROM silent_lines WHERE tenant = %(tenant)s AND line_id = %(id)s", id=memory.id)
    db.many(
        "INSERT INTO silent_lines (tenant, project, line_id, at_ms, reason)"
        " VALUES (%(tenant)s, %(project)s, %(id)s, %(at)s, %(reason)s)",
        [
            {"id": memory.id, "project": project, "at": at_ms, "reason": reason}
            for project, at_ms, reason in kept["silent"]
        ],
    )
