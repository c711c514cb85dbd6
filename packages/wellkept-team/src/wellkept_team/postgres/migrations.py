"""Numbered migrations from an empty database to the newest schema.

Several processes may open a database at once: an advisory lock lets one migrate, the others wait
and find it done. All pending migrations and their records are one transaction. A database of a
newer Wellkept is refused unchanged, unless that newer schema says that this version may still use
it (`oldest_reader`): servers can be upgraded one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, LiteralString, NamedTuple, cast

from psycopg import errors as pg

from wellkept.core.clock import Clock, to_ms
from wellkept.core.errors import StoreError, StoreReadOnlyError, StoreVersionError
from wellkept_team.postgres.connection.database import NAMESPACE, Database
from wellkept_team.postgres.schema import FIRST_SCHEMA, SHARED_RECORDS
from wellkept_team.postgres.team.schema import SHARED_SECURITY, TEAM_SCHEMA
from wellkept_team.postgres.team.upkeep_schema import UPKEEP

if TYPE_CHECKING:
    import psycopg

    from wellkept_team.postgres.connection.database import Row

LOCK: Final = 0x57656C6C  # "Well" in ASCII
_OLDEST_SERVER: Final = 150_000
_OLDEST_VECTOR: Final = (0, 8)


class Migration(NamedTuple):
    """One migration. `oldest_reader` is the oldest schema whose programs can use the result."""

    number: int
    name: str
    statements: Sequence[str]
    oldest_reader: int


STEPS: tuple[Migration, ...] = (
    Migration(1, "memories, indexes, sessions, skills, injections", FIRST_SCHEMA, 1),
    # Programs of the first version go on: they neither name nor need what is new.
    Migration(2, "people, tokens, audit, policies, row-level security", TEAM_SCHEMA, 1),
    Migration(3, "what a team shares", (*SHARED_RECORDS, *SHARED_SECURITY), 1),
    Migration(4, "upkeep by policy, reads of shared records noted", UPKEEP, 1),
)


def schema_version(raw: psycopg.Connection[Row]) -> int:
    """Number of the last applied migration; 0 for an empty database."""
    return _version(raw)[0]


def migrate(database: Database, *, clock: Clock, steps: Sequence[Migration] = STEPS) -> int:
    """Apply pending migrations; returns how many this call applied. A handle for reading, and a
    replica, must find them applied."""
    with database.alone() as raw:
        if not _pending(raw, steps):
            return 0
        if database.read_only or _is_replica(raw):
            raise StoreReadOnlyError(
                f"The database at {database.place} has no Wellkept schema of this version.",
                hint="Open it once for writing so that it can be migrated.",
            )
        _require_server(raw, database.place)
        # Held until the connection ends. Taken before the transaction: one that had begun to wait
        # inside would not see the tables that were made meanwhile.
        raw.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        with raw.transaction():
            pending = _pending(raw, steps)  # another process may have been first
            if pending:
                _prepare(raw, database.place)
            for step in pending:
                for statement in step.statements:
                    raw.execute(cast("LiteralString", statement))
                raw.execute(
                    "INSERT INTO schema_steps VALUES (%s, %s, %s, %s)",
                    (step.number, step.name, to_ms(clock()), step.oldest_reader),
                )
        return len(pending)


def _version(raw: psycopg.Connection[Row]) -> tuple[int, int]:
    """Number of the last migration, and the oldest schema whose programs may use the database."""
    found = raw.execute("SELECT to_regclass(%s)", (f"{NAMESPACE}.schema_steps",)).fetchone()
    if found is None or found[0] is None:
        return 0, 0
    row = raw.execute(
        "SELECT coalesce(max(number), 0), coalesce(max(oldest_reader), 0) FROM schema_steps"
    ).fetchone()
    return (0, 0) if row is None else (row[0], row[1])


def _pending(raw: psycopg.Connection[Row], steps: Sequence[Migration]) -> list[Migration]:
    version, oldest_reader = _version(raw)
    newest = steps[-1].number
    if oldest_reader > newest:
        raise StoreVersionError(
            f"The database has schema version {version}; this Wellkept knows up to {newest}.",
            hint="Upgrade Wellkept.",
        )
    return [step for step in steps if step.number > version]


def _is_replica(raw: psycopg.Connection[Row]) -> bool:
    found = raw.execute("SELECT pg_is_in_recovery()").fetchone()
    return found is not None and bool(found[0])


def _require_server(raw: psycopg.Connection[Row], place: str) -> None:
    if raw.info.server_version < _OLDEST_SERVER:
        found = raw.info.server_version // 10_000
        raise StoreError(
            f"Wellkept needs PostgreSQL 15 or newer; {place} runs {found}.",
            hint="Upgrade the server.",
        )


def _prepare(raw: psycopg.Connection[Row], place: str) -> None:
    """The namespace, the extension and the table of migrations."""
    raw.execute(f"CREATE SCHEMA IF NOT EXISTS {NAMESPACE}")
    try:
        with raw.transaction():
            raw.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
    except (pg.FeatureNotSupported, pg.UndefinedFile, pg.InsufficientPrivilege) as error:
        raise StoreError(
            f"The extension pgvector is missing in {place}.",
            hint="Install it on the server; an administrator runs CREATE EXTENSION vector.",
        ) from error
    found = raw.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    version = "" if found is None else str(found[0])
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_VECTOR:
        raise StoreError(
            f"Wellkept needs pgvector 0.8 or newer; {place} has {version}.",
            hint="An administrator upgrades it: ALTER EXTENSION vector UPDATE.",
        )
    raw.execute(
        "CREATE TABLE IF NOT EXISTS schema_steps (number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
        " applied_ms BIGINT NOT NULL, oldest_reader INTEGER NOT NULL)"
    )
