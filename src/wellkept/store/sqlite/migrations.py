"""Numbered steps from an empty file to the newest schema.

A step and the record of it are one transaction, so a file is always at exactly one version. A new
file takes all steps in one, so that nobody who opens it meanwhile takes it for an old one.
Looking at pending steps changes nothing. Before the first step on a file that already holds a
schema, a copy is put beside it. A file from a newer Wellkept is refused untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from wellkept.core.clock import Clock, to_ms
from wellkept.core.errors import StoreCorruptError, StoreVersionError
from wellkept.store.sqlite.connection.database import Connection, Database
from wellkept.store.sqlite.schema import (
    CHANGED_ROWS,
    FIRST_SCHEMA,
    INDEXED_BY_WRITER,
    KIND_INDEXES,
    NEWS,
    OBSERVER,
    SESSION_SCHEMA,
    SKILL_LIBRARY,
    SKILL_USES,
    TEXT_EDITS,
    WORD_PLACES,
)

# "Hold" in ASCII: tells a Wellkept file from any other SQLite database.
APPLICATION_ID = 0x486F6C64


class Migration(NamedTuple):
    """One migration: its number, what it is for, and what it does inside a transaction."""

    number: int
    name: str
    run: Callable[[Connection], None]


def _first_schema(db: Connection) -> None:
    for statement in FIRST_SCHEMA:
        db.execute(statement)


def _sessions(db: Connection) -> None:
    for statement in SESSION_SCHEMA:
        db.execute(statement)


def _kind_indexes(db: Connection) -> None:
    for statement in KIND_INDEXES:
        db.execute(statement)


def _text_edits(db: Connection) -> None:
    for statement in TEXT_EDITS:
        db.execute(statement)


def _news(db: Connection) -> None:
    for statement in NEWS:
        db.execute(statement)


def _word_places(db: Connection) -> None:
    for statement in WORD_PLACES:
        db.execute(statement)


def _skill_uses(db: Connection) -> None:
    for statement in SKILL_USES:
        db.execute(statement)


def _skill_library(db: Connection) -> None:
    for statement in SKILL_LIBRARY:
        db.execute(statement)


def _observer(db: Connection) -> None:
    for statement in OBSERVER:
        db.execute(statement)


def _indexed_by_writer(db: Connection) -> None:
    for statement in INDEXED_BY_WRITER:
        db.execute(statement)


def _changed_rows(db: Connection) -> None:
    for statement in CHANGED_ROWS:
        db.execute(statement)


STEPS: tuple[Migration, ...] = (
    Migration(1, "memories, text indexes, vectors, shelf", _first_schema),
    Migration(2, "sessions and how far event files were read", _sessions),
    Migration(3, "listing memories of a kind by importance", _kind_indexes),
    Migration(4, "counting edits of indexed texts", _text_edits),
    Migration(5, "what is new, in the order of commits", _news),
    Migration(6, "where words stand and which texts were edited", _word_places),
    Migration(7, "uses of skills, and what news are about", _skill_uses),
    Migration(8, "skills made from sessions", _skill_library),
    Migration(9, "what the observer noticed and concluded", _observer),
    Migration(10, "text indexes filled by the writer of a memory", _indexed_by_writer),
    Migration(11, "which memories were changed last", _changed_rows),
)


def schema_version(db: Connection, application_id: int = APPLICATION_ID) -> int:
    """The number of the last step taken; 0 for an empty file."""
    if int(db.execute("PRAGMA application_id").fetchone()[0]) != application_id:
        if db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            raise StoreCorruptError(
                "The file is an SQLite database, but not one of Wellkept's.",
                hint="Choose another path for the database.",
            )
        return 0
    return int(db.execute("SELECT coalesce(max(number), 0) FROM schema_steps").fetchone()[0])


def pending(
    db: Connection, steps: Sequence[Migration] = STEPS, application_id: int = APPLICATION_ID
) -> list[Migration]:
    """The steps a file still lacks; StoreVersionError when it is ahead of this code."""
    version = schema_version(db, application_id)
    newest = steps[-1].number
    if version > newest:
        raise StoreVersionError(
            f"The database has schema version {version}; this Wellkept knows up to {newest}.",
            hint="Upgrade Wellkept, or `wellkept restore` a backup made by this version.",
        )
    return [step for step in steps if step.number > version]


def migrate(
    database: Database,
    *,
    clock: Clock,
    steps: Sequence[Migration] = STEPS,
    application_id: int = APPLICATION_ID,
) -> list[Migration]:
    """Take every pending step; returns those taken by this process."""
    with database.snapshot() as db:
        waiting = pending(db, steps, application_id)
        version = schema_version(db, application_id)
        if waiting and version > 0:
            _copy_before(db, database.path, version)
    together = [waiting] if version == 0 else [[step] for step in waiting]
    taken: list[Migration] = []
    for these in together:
        with database.writing() as db:
            still = pending(db, steps, application_id)  # another process may have got there first
            mine = [step for step in these if step in still]
            for step in mine:
                if step.number == steps[0].number:
                    _make_record_table(db, application_id)
                _take(db, step, at_ms=to_ms(clock()))
        taken += mine
    return taken


def _take(db: Connection, step: Migration, *, at_ms: int) -> None:
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
    """A copy named after the version it comes before; one that is already there is kept."""
    target = path.with_name(f"{path.name}.before-v{version + 1}")
    if target.exists():
        return
    from wellkept.store.sqlite.maintenance.backup import copy_database

    copy_database(db, target)
