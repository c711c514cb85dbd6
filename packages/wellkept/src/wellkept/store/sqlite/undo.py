"""The `UndoLog` port: memories as rows, kept as JSON until they are brought back or too old.

Invariant: an undone step leaves the rows, labels, vectors, explanations, silent lines and the text
of lines given as they were before it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from wellkept.core.clock import to_ms
from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.store.memory_rows import COLUMNS, SELECTED, to_memory
from wellkept.store.queries import require_limit
from wellkept.store.rows import UNDO_STEPS, archived_subject, restored_subject, unknown_step
from wellkept.store.sqlite.checksums import checksum, vector_checksum
from wellkept.store.sqlite.database import Component

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from wellkept.core.ports.store import UndoStep
    from wellkept.store.sqlite.activity import ActivityEntry
    from wellkept.store.sqlite.database import Connection

_ALL: Final = (*COLUMNS, "checksum", "extra")
_INSERT: Final = f"INSERT INTO memories ({', '.join(_ALL)}) VALUES ({', '.join('?' * len(_ALL))})"
_UPDATE: Final = f"UPDATE memories SET {', '.join(f'{name} = ?' for name in _ALL)} WHERE row = ?"
_LINES: Final = "injection, number, text, reason, outcome, outcome_by, outcome_ms"


class SqliteUndo(Component):
    """The `UndoLog` port."""

    def begin_undo(self, step: UndoStep, ids: Sequence[str]) -> None:
        with self._database.writing() as db:
            body = {"before": [_kept(db, one) for one in _with_predecessors(db, ids)]}
            db.execute(
                "INSERT INTO undo_steps (id, project, action, at_ms, count, body)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (step.id, step.project, step.action, to_ms(step.at), step.count, json.dumps(body)),
            )

    def finish_undo(self, step_id: str, *, made: Sequence[str]) -> None:
        with self._database.writing() as db:
            row = db.execute("SELECT body FROM undo_steps WHERE id = ?", (step_id,)).fetchone()
            if row is None:
                raise unknown_step(step_id)
            body = json.loads(row[0])
            ids = [*(one["id"] for one in body["before"]), *made]
            body |= {"made": list(made), "after": {one: _state(db, one) for one in ids}}
            db.execute("UPDATE undo_steps SET body = ? WHERE id = ?", (json.dumps(body), step_id))

    def archive(self, step: UndoStep, ids: Sequence[str]) -> list[str]:
        from wellkept.core.session.activity import ActivityKind
        from wellkept.store.sqlite.activity import write_activity

        at_ms = to_ms(step.at)
        with self._database.writing() as db:
            rows = db.execute(
                "UPDATE memories SET archived_ms = ? WHERE archived_ms IS NULL AND NOT pinned"
                " AND id IN (SELECT value FROM json_each(?)) RETURNING id",
                (at_ms, json.dumps(list(ids))),
            ).fetchall()
            if not rows:
                return []
            done = sorted(row[0] for row in rows)
            body = json.dumps({"before": [], "archived": done})
            db.execute(
                "INSERT INTO undo_steps (id, project, action, at_ms, count, body)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (step.id, step.project, step.action, at_ms, len(done), body),
            )
            told = archived_subject(step.id, len(done))
            news = (ActivityKind.MEMORIES_ARCHIVED, step.project, False, None, None, told)
            write_activity(db, [news], at_ms=at_ms)
        return done

    def archived_by_rule(self, *, project: str) -> set[str]:
        from wellkept.core.ports.store import MAINTENANCE

        with self._database.reading() as db:
            rows = db.execute(
                "SELECT value FROM undo_steps, json_each(body, '$.archived')"
                " WHERE project = ? AND action = ?",
                (project, MAINTENANCE),
            ).fetchall()
        return {row[0] for row in rows}

    def undo_steps(self, *, project: str, limit: int) -> list[UndoStep]:
        require_limit(limit)
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {UNDO_STEPS.listed()} FROM undo_steps WHERE project = ?"
                " ORDER BY at_ms DESC, id DESC LIMIT ?",
                (project, limit),
            ).fetchall()
        return list(map(UNDO_STEPS.read, rows))

    def undo(self, step_id: str, *, project: str) -> UndoStep:
        from wellkept.core.session.activity import ActivityKind
        from wellkept.store.sqlite.activity import write_activity

        at_ms = to_ms(self._clock())
        with self._database.writing() as db:
            row = db.execute(
                f"SELECT {UNDO_STEPS.listed()}, body FROM undo_steps WHERE id = ? AND project = ?",
                (step_id, project),
            ).fetchone()
            if row is None:
                raise unknown_step(step_id)
            if row[5] is not None:
                raise ConflictError("This was undone already.")
            body = cast("dict[str, Any]", json.loads(row[6]))
            _require_same(db, body.get("after", {}))
            for one in body.get("made", ()):
                db.execute("DELETE FROM memories WHERE id = ?", (one,))
            for one in body["before"]:
                _bring_back(db, one)
            db.execute(
                "UPDATE memories SET archived_ms = NULL WHERE archived_ms = ?"
                " AND id IN (SELECT value FROM json_each(?))",
                (row[3], json.dumps(body.get("archived", []))),
            )
            db.execute("UPDATE undo_steps SET undone_ms = ? WHERE id = ?", (at_ms, step_id))
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

        with self._database.writing() as db:
            return db.execute(
                "DELETE FROM undo_steps WHERE at_ms < ? AND action <> ?",
                (to_ms(before), MAINTENANCE),
            ).rowcount


def _with_predecessors(db: Connection, ids: Iterable[str]) -> list[str]:
    """The memories and those that name them as successor: a deletion takes that from them."""
    named = list(dict.fromkeys(ids))
    older = [
        row[0]
        for one in named
        for row in db.execute("SELECT id FROM memories WHERE superseded_by = ?", (one,))
    ]
    return list(dict.fromkeys([*named, *older]))


def _kept(db: Connection, memory_id: str) -> dict[str, Any]:
    """A memory with everything that goes with it."""
    row = db.execute(
        f"SELECT {', '.join(_ALL)}, row FROM memories WHERE id = ?", (memory_id,)
    ).fetchone()
    if row is None:
        raise NotFoundError(f"There is no memory {memory_id!r}.")
    vectors = db.execute(
        "SELECT model, home, scale, hex(codes) FROM vectors WHERE memory = ?", (row[-1],)
    ).fetchall()
    return {
        "id": memory_id,
        "row": list(row[:-1]),
        "vectors": vectors,
        "explanation": db.execute(
            "SELECT project, at_ms, body FROM explanations WHERE memory_id = ?", (memory_id,)
        ).fetchone(),
        "lines": db.execute(
            f"SELECT {_LINES} FROM injected_lines WHERE memory_id = ?", (memory_id,)
        ).fetchall(),
        "silent": db.execute(
            "SELECT project, at_ms, reason FROM silent_lines WHERE line_id = ?", (memory_id,)
        ).fetchall(),
    }


def _state(db: Connection, memory_id: str) -> list[Any] | None:
    """What tells whether a memory was changed since; uses do not count."""
    row = db.execute(
        "SELECT updated_ms, valid_to_ms, superseded_by, archived_ms FROM memories WHERE id = ?",
        (memory_id,),
    ).fetchone()
    return None if row is None else list(row)


def _require_same(db: Connection, after: dict[str, Any]) -> None:
    changed = [one for one, state in after.items() if _state(db, one) != state]
    if changed:
        raise ConflictError(
            f"{len(changed)} of the memories were changed since, so this cannot be undone.",
            hint="Correct them one by one.",
        )


def _bring_back(db: Connection, kept: dict[str, Any]) -> None:
    from wellkept.store.sqlite.apply_changes import put_labels
    from wellkept.store.sqlite.schema import INDEX_FRAGMENTS, INDEX_WORDS

    found = db.execute("SELECT row FROM memories WHERE id = ?", (kept["id"],)).fetchone()
    if found is not None:
        row = found[0]
        db.execute(_UPDATE, (*kept["row"], row))
        db.execute("DELETE FROM labels WHERE memory = ?", (row,))
        db.execute("DELETE FROM vectors WHERE memory = ?", (row,))
    else:
        row = int(db.execute(_INSERT, kept["row"]).lastrowid or 0)
        values = dict(zip(_ALL, kept["row"], strict=True))
        db.execute(INDEX_WORDS, (row, values["content"], values["extra"]))
        db.execute(INDEX_FRAGMENTS, (row, values["content"]))
    (stored,) = db.execute(f"SELECT {SELECTED} FROM memories m WHERE m.row = ?", (row,)).fetchall()
    put_labels(db, row, to_memory(stored))
    db.executemany(
        "INSERT INTO vectors (memory, model, home, scale, codes, checksum)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (row, model, home, scale, packed, vector_checksum(scale, packed))
            for model, home, scale, codes in kept["vectors"]
            for packed in (bytes.fromhex(codes),)
        ],
    )
    if kept["explanation"] is not None:
        project, at_ms, body = kept["explanation"]
        db.execute(
            "INSERT OR REPLACE INTO explanations (memory_id, project, at_ms, body, checksum)"
            " VALUES (?, ?, ?, ?, ?)",
            (kept["id"], project, at_ms, body, checksum((kept["id"], at_ms, body))),
        )
    db.executemany(
        "UPDATE injected_lines SET text = ?, reason = ?, outcome = ?, outcome_by = ?,"
        " outcome_ms = ? WHERE injection = ? AND number = ?",
        [(*line[2:], line[0], line[1]) for line in kept["lines"]],
    )
    db.execute("DELETE FROM silent_lines WHERE line_id = ?", (kept["id"],))
    db.executemany(
        "INSERT INTO silent_lines VALUES (?, ?, ?, ?)",
        [(project, kept["id"], at_ms, reason) for project, at_ms, reason in kept["silent"]],
    )
