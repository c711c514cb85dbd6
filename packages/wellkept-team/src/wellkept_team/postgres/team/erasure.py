"""Erases a person: what they wrote, where they are named, tokens; the audit log loses the name.

One transaction. Afterwards a second look counts what is left, in every column that names people.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from wellkept.core.errors import NotFoundError
from wellkept.core.team.records import ErasureReport
from wellkept_team.postgres.connection.database import Connection
from wellkept_team.postgres.tables.apply_changes import delete_memory
from wellkept_team.postgres.tables.text_index import IndexWriter

_LEFT: Final = (
    "SELECT count(*) FROM memories WHERE tenant = %(tenant)s"
    " AND (owner = %(person)s OR author = %(person)s)",
    "SELECT count(*) FROM tokens WHERE tenant = %(tenant)s AND person = %(person)s",
    "SELECT count(*) FROM people WHERE tenant = %(tenant)s AND name = %(person)s",
    "SELECT count(*) FROM audit WHERE tenant = %(tenant)s"
    " AND (person = %(person)s OR subjects @> ARRAY[%(person)s::text])",
    "SELECT count(*) FROM policies WHERE tenant = %(tenant)s AND updated_by = %(person)s",
    "SELECT count(*) FROM managed_skills WHERE tenant = %(tenant)s AND updated_by = %(person)s",
    "SELECT count(*) FROM shared_records WHERE tenant = %(tenant)s"
    " AND (owner = %(person)s OR strpos(body, to_json(%(person)s::text)::text) > 0)",
)


def erase_person(db: Connection, person: str, *, dry_run: bool) -> ErasureReport:
    """Erase a person, or count what would be erased."""
    ids = _column(
        db, "SELECT id FROM memories WHERE tenant = %(tenant)s AND owner = %(person)s", person
    )
    mentions = _count(
        db,
        "SELECT count(*) FROM memories WHERE tenant = %(tenant)s AND author = %(person)s"
        " AND owner <> %(person)s",
        person,
    )
    tokens = _count(db, _LEFT[1], person)
    entries = _count(db, _LEFT[3], person)
    if not (ids or mentions or tokens or entries or _count(db, _LEFT[2], person)):
        raise NotFoundError(f"Nothing here is of {person!r}.")
    steps = _undo_steps_with(db, ids)
    if not dry_run:
        _erase(db, person, ids, steps)
    return ErasureReport(
        person=person,
        memories=len(ids),
        mentions=mentions,
        tokens=tokens,
        audit_entries=entries,
        undo_steps=len(steps),
        is_dry_run=dry_run,
        is_verified=not dry_run
        and not any(_count(db, left, person) for left in _LEFT)
        and not _undo_steps_with(db, ids),
    )


def _erase(db: Connection, person: str, ids: list[str], steps: list[str]) -> None:
    index = IndexWriter(db)
    for full_id in ids:
        delete_memory(db, index, full_id)
    index.finish()
    db.run("DELETE FROM undo_steps WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)", ids=steps)
    nobody = "erased-" + sha256(f"{db.tenant}\0{person}".encode()).hexdigest()[:8]
    for statement in (
        # Under the next numbers, so that the laptops of the others hear of it.
        "UPDATE shared_records r SET state = 'erased', statement = '', waiting = false,"
        " body = '{\"shared\": null}', owner = %(nobody)s, seq = n.seq FROM"
        " (SELECT project, id, max(seq) OVER (PARTITION BY project)"
        " + sum((owner = %(person)s)::int) OVER (PARTITION BY project ORDER BY seq) AS seq,"
        " owner FROM shared_records WHERE tenant = %(tenant)s) AS n"
        " WHERE r.tenant = %(tenant)s AND r.project = n.project AND r.id = n.id"
        " AND n.owner = %(person)s",
        "UPDATE shared_records SET body = replace(body, to_json(%(person)s::text)::text,"
        " to_json(%(nobody)s::text)::text) WHERE tenant = %(tenant)s"
        " AND strpos(body, to_json(%(person)s::text)::text) > 0",
        "UPDATE memories SET author = NULL WHERE tenant = %(tenant)s AND author = %(person)s",
        "DELETE FROM tokens WHERE tenant = %(tenant)s AND person = %(person)s",
        "DELETE FROM people WHERE tenant = %(tenant)s AND name = %(person)s",
        "UPDATE policies SET updated_by = %(nobody)s"
        " WHERE tenant = %(tenant)s AND updated_by = %(person)s",
        "UPDATE managed_skills SET updated_by = %(nobody)s"
        " WHERE tenant = %(tenant)s AND updated_by = %(person)s",
        # Last: the statements above were noted with the name.
        "UPDATE audit SET person = CASE person WHEN %(person)s THEN %(nobody)s ELSE person END,"
        " subjects = array_replace(subjects, %(person)s::text, %(nobody)s::text)"
        " WHERE tenant = %(tenant)s"
        " AND (person = %(person)s OR subjects @> ARRAY[%(person)s::text])",
    ):
        db.run(statement, person=person, nobody=nobody)


def _undo_steps_with(db: Connection, ids: list[str]) -> list[str]:
    """Undo steps whose record holds one of the memories."""
    rows = db.rows(
        "SELECT id FROM undo_steps u WHERE tenant = %(tenant)s AND EXISTS"
        " (SELECT 1 FROM unnest(%(ids)s::text[]) AS one (id) WHERE strpos(u.body, one.id) > 0)",
        ids=ids,
    )
    return [step for (step,) in rows]


def _column(db: Connection, sql: str, person: str) -> list[str]:
    return [value for (value,) in db.rows(sql, person=person)]


def _count(db: Connection, sql: str, person: str) -> int:
    return db.value(sql, person=person)
