"""Numbered migrations from an empty file to the newest schema.

A migration and its record are one transaction, so a file is always at exactly one version. A new
file runs all in one transaction, so that no other process sees an old version. `pending` changes
nothing. An existing file is copied before its first migration. A file of a newer Wellkept is
refused unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from wellkept.core.clock import Clock, to_ms
from wellkept.core.errors import StoreVersionError
from wellkept.store.sqlite.checksums import add_checksums, rename_guards
from wellkept.store.sqlite.database import Connection, Database
from wellkept.store.sqlite.opening import APPLICATION_ID, schema_version
from wellkept.store.sqlite.schema import (
    CHANGED_ROWS,
    FIRST_SCHEMA,
    INDEXED_BY_WRITER,
    INJECTIONS,
    KIND_INDEXES,
    NEWS,
    OBSERVER,
    RENAMED,
    REPORTS,
    SESSION_SCHEMA,
    SHARED_RECORDS,
    SKILL_LIBRARY,
    SKILL_USES,
    TEXT_EDITS,
    WORD_PLACES,
)


class Migration(NamedTuple):
    """One migration; `run` is called inside a transaction."""

    number: int
    name: str
    run: Callable[[Connection], None]


def execute_all(statements: Sequence[str]) -> Callable[[Connection], None]:
    """A migration that is a list of statements."""

    def run(db: Connection) -> None:
        for statement in statements:
            db.execute(statement)

    return run


def rename(db: Connection) -> None:
    """The migration to the names that PostgreSQL has."""
    execute_all(RENAMED)(db)
    rename_guards(db)


STEPS: tuple[Migration, ...] = (
    Migration(1, "memories, text indexes, vectors, shelf", execute_all(FIRST_SCHEMA)),
    Migration(2, "sessions and how far event files were read", execute_all(SESSION_SCHEMA)),
    Migration(3, "listing memories of a kind by importance", execute_all(KIND_INDEXES)),
    Migration(4, "counting edits of indexed texts", execute_all(TEXT_EDITS)),
    Migration(5, "what is new, in the order of commits", execute_all(NEWS)),
    Migration(6, "where words stand and which texts were edited", execute_all(WORD_PLACES)),
    Migration(7, "uses of skills, and what news are about", execute_all(SKILL_USES)),
    Migration(8, "skills made from sessions", execute_all(SKILL_LIBRARY)),
    Migration(9, "what the observer noticed and concluded", execute_all(OBSERVER)),
    Migration(10, "text indexes filled by the writer of a memory", execute_all(INDEXED_BY_WRITER)),
    Migration(11, "which memories were changed last", execute_all(CHANGED_ROWS)),
    Migration(12, "what was injected, and tokens of sessions", execute_all(INJECTIONS)),
    Migration(13, "a checksum for each record", add_checksums),
    Migration(14, "counts by facet, scores of lines given, undo", execute_all(REPORTS)),
    Migration(15, "what a team shares", execute_all(SHARED_RECORDS)),
    Migration(16, "names that both engines have", rename),
)


def pending(
    db: Connection, steps: Sequence[Migration] = STEPS, application_id: int = APPLICATION_ID
) -> list[Migration]:
    """Migrations not yet applied; StoreVersionError when the file is newer than this code."""
    version = schema_version(db, application_id)
    newest = steps[-1].number
    if version > newest:
        raise StoreVersionError(
            f"The database has schema version {version}; this Wellkept knows up to {newest}.",
            hint="Upgrade Wellkept, or `wellkept admin restore` a backup made by this version.",
        )
    return [step for step in steps if step.number > version]


def migrate(
    database: Database,
    *,
    clock: Clock,
    steps: Sequence[Migration] = STEPS,
    application_id: int = APPLICATION_ID,
) -> list[Migration]:
    """Apply pending migrations; returns those applied by this process."""
    with database.snapshot() as db:
        pending_steps = pending(db, steps, application_id)
        version = schema_version(db, application_id)
        if pending_steps and version > 0:
            _copy_before(db, database.path, version)
    together = [pending_steps] if version == 0 else [[step] for step in pending_steps]
    applied: list[Migration] = []
    for these in together:
        with database.writing() as db:
            still = pending(db, steps, application_id)  # another process may have been first
            mine = [step for step in these if step in still]
            for step in mine:
                if step.number == steps[0].number:
                    _make_record_table(db, application_id)
                _apply(db, step, at_ms=to_ms(clock()))
        applied += mine
    return applied


def _apply(db: Connection, step: Migration, *, at_ms: int) -> None:
    step.run(db)
    db.execute("INSERT INTO schema_steps VALUES (?, ?, ?)", (step.number, step.name, at_ms))


def _make_record_table(db: Connection, application_id: int) -> None:
    db.execute(f"PRAGMA application_id = {application_id}")
    db.execute(
        """CREATE TABLE schema_steps (
            number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_ms INTEGER NOT NULL
        ) STRICT"""
    )


def _copy_before(db: Connection, path: Path, version: int) -> None:
    """Copy the file as `NAME.before-vN`; an existing copy stays."""
    target = path.with_name(f"{path.name}.before-v{version + 1}")
    if target.exists():
        return
    from wellkept.store.sqlite.restore import copy_database

    copy_database(db, target)
