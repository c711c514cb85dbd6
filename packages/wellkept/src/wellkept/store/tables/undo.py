"""The `UndoLog` port: memories as rows, kept as JSON until they are brought back or too old.

Invariant: an undone step leaves the rows, labels, vectors, explanations, silent lines and the text
of lines given as they were before it. How a memory itself is kept is each engine's own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from wellkept.core.clock import to_ms
from wellkept.core.errors import ConflictError
from wellkept.store.queries import require_limit
from wellkept.store.rows import UNDO_STEPS, archived_subject, restored_subject, unknown_step
from wellkept.store.tables import Component, Connection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wellkept.core.ports.store import UndoStep
    from wellkept.store.tables.activity import ActivityEntry

_STEP = "FROM undo_steps WHERE tenant = :tenant AND id = :id"
_OF_PROJECT = "FROM undo_steps WHERE tenant = :tenant AND project = :project"
_OF_MEMORY = "WHERE tenant = :tenant AND memory_id = :id"


class Undo(Component):
    """The `UndoLog` port."""

    def begin_undo(self, step: UndoStep, ids: Sequence[str]) -> None:
        with self._tables.writing() as db:
            before = [
                {"id": one, **self._kept(db, one), **_kept_beside(db, one)}
                for one in _with_predecessors(db, ids)
            ]
            _insert_step(db, step, count=step.count, body={"before": before})

    def finish_undo(self, step_id: str, *, made: Sequence[str]) -> None:
        with self._tables.writing() as db:
            text = db.value(f"SELECT body {_STEP}", id=step_id)
            if text is None:
                raise unknown_step(step_id)
            body = json.loads(text)
            ids = [*(one["id"] for one in body["before"]), *made]
            body |= {"made": list(made), "after": {one: _state(db, one) for one in ids}}
            db.write(
                "UPDATE undo_steps SET body = :body WHERE tenant = :tenant AND id = :id",
                body=json.dumps(body),
                id=step_id,
            )

    def archive(self, step: UndoStep, ids: Sequence[str]) -> list[str]:
        from wellkept.core.session.activity import ActivityKind
        from wellkept.store.tables.activity import write_activity

        at_ms = to_ms(step.at)
        with self._tables.writing() as db:
            rows = db.rows(
                "UPDATE memories SET archived_ms = :at_ms WHERE tenant = :tenant"
                " AND archived_ms IS NULL AND NOT pinned AND id IN :ids RETURNING id",
                at_ms=at_ms,
                ids=ids,
            )
            if not rows:
                return []
            done = sorted(row[0] for row in rows)
            _insert_step(db, step, count=len(done), body={"before": [], "archived": done})
            told = archived_subject(step.id, len(done))
            news = (ActivityKind.MEMORIES_ARCHIVED, step.project, False, None, None, told)
            write_activity(db, [news], at_ms=at_ms)
        return done

    def archived_by_rule(self, *, project: str) -> set[str]:
        from wellkept.core.ports.store import MAINTENANCE

        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT body {_OF_PROJECT} AND action = :action",
                project=project,
                action=MAINTENANCE,
            )
        return {one for (body,) in rows for one in json.loads(body).get("archived", ())}

    def undo_steps(self, *, project: str, limit: int) -> list[UndoStep]:
        require_limit(limit)
        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT {UNDO_STEPS.listed()} {_OF_PROJECT}"
                " ORDER BY at_ms DESC, id DESC LIMIT :limit",
                project=project,
                limit=limit,
            )
        return list(map(UNDO_STEPS.read, rows))

    def undo(self, step_id: str, *, project: str) -> UndoStep:
        from wellkept.core.session.activity import ActivityKind
        from wellkept.store.tables.activity import write_activity

        at_ms = to_ms(self._clock())
        with self._tables.writing() as db:
            row = db.row(
                f"SELECT {UNDO_STEPS.listed()}, body {_STEP} AND project = :project",
                id=step_id,
                project=project,
            )
            if row is None:
                raise unknown_step(step_id)
            if row[5] is not None:
                raise ConflictError("This was undone already.")
            body = cast("dict[str, Any]", json.loads(row[6]))
            _require_same(db, body.get("after", {}))
            made = [one for one in body.get("made", ()) if _state(db, one) is not None]
            self._take_back(db, made, body["before"])
            for kept in body["before"]:
                _restore_beside(db, kept)
            db.write(
                "UPDATE memories SET archived_ms = NULL"
                " WHERE tenant = :tenant AND archived_ms = :at_ms AND id IN :ids",
                at_ms=row[3],
                ids=body.get("archived", []),
            )
            db.write(
                "UPDATE undo_steps SET undone_ms = :at_ms WHERE tenant = :tenant AND id = :id",
                at_ms=at_ms,
                id=step_id,
            )
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
        from wellkept.core.ports.store import MAINTENANCE

        with self._tables.writing() as db:
            return db.write(
                "DELETE FROM undo_steps"
                " WHERE tenant = :tenant AND at_ms < :before_ms AND action <> :kept",
                before_ms=to_ms(before),
                kept=MAINTENANCE,
            )

    def _kept(self, db: Any, memory_id: str) -> dict[str, Any]:
        """A memory with its labels and vectors; NotFoundError for one that is not there."""
        raise NotImplementedError

    def _take_back(self, db: Any, made: Sequence[str], before: Sequence[dict[str, Any]]) -> None:
        """Delete what a step made, and write what `_kept` gave of what was there."""
        raise NotImplementedError


def _insert_step(db: Connection, step: UndoStep, *, count: int, body: dict[str, Any]) -> None:
    row = UNDO_STEPS.named(step) | {"count": count, "body": json.dumps(body)}
    db.put("undo_steps", [row])


def _with_predecessors(db: Connection, ids: Sequence[str]) -> list[str]:
    """The memories and those that name them as successor: a deletion takes that from them."""
    older = db.rows(
        "SELECT id FROM memories WHERE tenant = :tenant AND superseded_by IN :ids"
        " ORDER BY created_ms, id",
        ids=ids,
    )
    return list(dict.fromkeys([*ids, *(row[0] for row in older)]))


def _line_names(db: Connection) -> tuple[str, ...]:
    own = ("injection", "number", "text", "reason", "outcome", "outcome_by", "outcome_ms")
    return ("project", *own) if db.hanging else own


def _kept_beside(db: Connection, memory_id: str) -> dict[str, Any]:
    """What is kept of a memory in other tables."""
    return {
        "explanation": db.row(
            f"SELECT project, at_ms, body FROM explanations {_OF_MEMORY}", id=memory_id
        ),
        "lines": db.rows(
            f"SELECT {', '.join(_line_names(db))} FROM injected_lines {_OF_MEMORY}", id=memory_id
        ),
        "silent": db.rows(
            "SELECT project, at_ms, reason FROM silent_lines"
            " WHERE tenant = :tenant AND line_id = :id",
            id=memory_id,
        ),
    }


def _restore_beside(db: Connection, kept: dict[str, Any]) -> None:
    names = _line_names(db)
    if kept["explanation"] is not None:
        row = dict(zip(("project", "at_ms", "body"), kept["explanation"], strict=True))
        db.put("explanations", [{"memory_id": kept["id"], **row}], key=("memory_id",))
    same = " AND project = :project" if db.hanging else ""
    db.many(
        "UPDATE injected_lines SET text = :text, reason = :reason, outcome = :outcome,"
        " outcome_by = :outcome_by, outcome_ms = :outcome_ms"
        f" WHERE tenant = :tenant AND injection = :injection AND number = :number{same}",
        [dict(zip(names, line, strict=True)) for line in kept["lines"]],
    )
    db.write("DELETE FROM silent_lines WHERE tenant = :tenant AND line_id = :id", id=kept["id"])
    silent = [
        {"project": project, "line_id": kept["id"], "at_ms": at_ms, "reason": reason}
        for project, at_ms, reason in kept["silent"]
    ]
    db.put("silent_lines", silent)


def _state(db: Connection, memory_id: str) -> list[Any] | None:
    """What tells whether a memory was changed since; uses do not count."""
    row = db.row(
        "SELECT updated_ms, valid_to_ms, superseded_by, archived_ms FROM memories"
        " WHERE tenant = :tenant AND id = :id",
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
