"""Copies of a tenant as one file: a zip archive with one member per table.

A copy is read in one snapshot while others go on writing. It holds neither the tenant's name nor
what can be rebuilt, except for vectors, which only a model could make again. It can be restored
into any empty tenant of a database with the same or a newer schema.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING, Final, LiteralString, cast

from wellkept.core.errors import StoreCorruptError, StoreError, StoreVersionError, UsageError
from wellkept_team.postgres.connection.database import Connection
from wellkept_team.postgres.migrations import STEPS

if TYPE_CHECKING:
    from wellkept.core.types import Progress

FORMAT: Final = "wellkept-postgres-copy"
_MANIFEST: Final = "manifest.json"
_CHUNK: Final = 1 << 16
TABLES: Final = (
    "memories", "models", "vectors", "project_aliases", "key_values", "file_links", "activity",
    "activity_numbers", "sessions", "processed_events", "read_positions", "scratchpads", "signals",
    "explanations", "skill_uses", "skills", "skill_versions", "skill_runs", "injections",
    "injected_lines", "silent_lines", "undo_steps", "shared_records",
)  # fmt: skip


def write_copy(db: Connection, target: Path, *, version: int, progress: Progress | None) -> None:
    """Write everything of the tenant into a new file. Needs a snapshot."""
    try:
        handle, name = mkstemp(prefix=f"{target.name}.", suffix=".partial", dir=target.parent)
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written: {error.strerror}.",
            hint="Choose a folder that you may write to.",
        ) from error
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as z:
            columns = {table: _columns(db, table) for table in TABLES}
            z.writestr(
                _MANIFEST, json.dumps({"format": FORMAT, "schema": version, "columns": columns})
            )
            for done, table in enumerate(TABLES):
                if progress is not None:
                    progress(done, len(TABLES))
                _copy_out(db, z, table, columns[table])
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise StoreError(
            f"{target} cannot be written: {error.strerror}.", hint="Free some disk space."
        ) from error
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    if progress is not None:
        progress(len(TABLES), len(TABLES))


def read_copy(db: Connection, source: Path) -> None:
    """Restore a copy into the tenant, which must be empty. Rebuild the indexes afterwards. Needs a
    write transaction."""
    if db.value("SELECT 1 FROM memories WHERE tenant = %(tenant)s LIMIT 1") is not None:
        raise UsageError("The tenant is not empty.", hint="Restore into another tenant.")
    try:
        with zipfile.ZipFile(source) as z:
            manifest = json.loads(z.read(_MANIFEST))
            if manifest.get("format") != FORMAT:
                raise _unreadable(source)
            if manifest["schema"] > STEPS[-1].number:
                raise StoreVersionError(
                    f"{source} was written by a newer Wellkept.", hint="Upgrade Wellkept."
                )
            for table in TABLES:
                _copy_in(db, z, table, manifest["columns"][table])
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError) as error:
        raise _unreadable(source) from error
    except OSError as error:
        raise StoreError(f"{source} cannot be read: {error.strerror}.") from error
    _renumber(db)


def _unreadable(source: Path) -> StoreCorruptError:
    return StoreCorruptError(
        f"{source} is damaged or is no copy of a Wellkept store.", hint="Use another copy."
    )


def _columns(db: Connection, table: str) -> list[str]:
    rows = db.rows(
        "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = to_regclass(%(name)s)"
        " AND attnum > 0 AND NOT attisdropped AND attname <> 'tenant' ORDER BY attnum",
        name=table,
    )
    return [name for (name,) in rows]


def _copy_out(db: Connection, archive: zipfile.ZipFile, table: str, columns: list[str]) -> None:
    statement = f"COPY (SELECT {', '.join(columns)} FROM {table} WHERE tenant = %s) TO STDOUT"
    with (
        archive.open(table, "w", force_zip64=True) as member,
        db.raw.cursor() as cursor,
        cursor.copy(_with_literal(db, statement)) as copy,
    ):
        for block in copy:
            member.write(block)


def _copy_in(db: Connection, archive: zipfile.ZipFile, table: str, columns: list[str]) -> None:
    """Through a table of this transaction, because the copy does not know the tenant."""
    named = ", ".join(columns)
    db.run(f"CREATE TEMPORARY TABLE incoming ON COMMIT DROP AS SELECT {named} FROM {table} LIMIT 0")
    with (
        archive.open(table) as member,
        db.raw.cursor() as cursor,
        cursor.copy(cast("LiteralString", f"COPY incoming ({named}) FROM STDIN")) as copy,
    ):
        while block := member.read(_CHUNK):
            copy.write(block)
    db.run(f"INSERT INTO {table} (tenant, {named}) SELECT %(tenant)s, {named} FROM incoming")
    db.run("DROP TABLE incoming")


def _with_literal(db: Connection, statement: str) -> bytes:
    """COPY takes no parameters."""
    from psycopg import sql

    return statement.replace("%s", sql.Literal(db.tenant).as_string(db.raw)).encode()


def _renumber(db: Connection) -> None:
    """Give memories and models numbers of this database, in the order of the old ones."""
    db.run(
        "CREATE TEMPORARY TABLE renumbered ON COMMIT DROP AS SELECT number AS old,"
        " nextval('memory_numbers') AS new FROM"
        " (SELECT number FROM memories WHERE tenant = %(tenant)s ORDER BY number) AS m"
    )
    for table in ("memories", "vectors"):
        # First to negative numbers: a new number may still be an old one.
        db.run(
            f"UPDATE {table} t SET number = -r.new FROM renumbered r"
            " WHERE t.tenant = %(tenant)s AND t.number = r.old"
        )
        db.run(f"UPDATE {table} SET number = -number WHERE tenant = %(tenant)s")
    for (model,) in db.rows("SELECT model FROM models WHERE tenant = %(tenant)s"):
        number = db.value("SELECT nextval(pg_get_serial_sequence('models', 'model'))")
        for table in ("vectors", "models"):
            db.run(
                f"UPDATE {table} SET model = %(new)s WHERE tenant = %(tenant)s AND model = %(old)s",
                new=-number,
                old=model,
            )
    for table in ("vectors", "models"):
        db.run(f"UPDATE {table} SET model = -model WHERE tenant = %(tenant)s")
