"""One tenant of one PostgreSQL database, and `Component`.

A statement is written with named parameters, `%(name)s` or as in `store.tables`; `tenant` is always
among them. Writes of a tenant
queue on one advisory lock, so that they behave as in SQLite: one after the other, numbered in the
order of their commits. Readers never wait. Connections come from a pool (`pool`).
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, LiteralString, TypeAlias, cast

from wellkept.core.clock import Clock
from wellkept.core.errors import StoreError, StoreReadOnlyError, UsageError
from wellkept.core.team.people import LOCAL_TENANT
from wellkept.store import tables
from wellkept_team.postgres.connection.pool import NAMESPACE, Pool, Raw, Row, Session, place_of

if TYPE_CHECKING:
    import psycopg

__all__ = [
    "DEFAULT_TENANT",
    "NAMESPACE",
    "Component",
    "Connection",
    "Database",
    "Row",
    "Value",
    "all_bindable",
    "array_text",
    "bindable",
    "place_of",
]

Value: TypeAlias = object

DEFAULT_TENANT = LOCAL_TENANT
CHANNEL = "wellkept_activity"
_PRIVATE_MARK = "\ufffd"


# Choices that are kept as 0 or 1 everywhere else.
_FLAGS = ("everywhere", "waiting")


@lru_cache(maxsize=1024)
def for_psycopg(sql: str) -> LiteralString:
    """A statement of `store.tables` as psycopg takes it."""
    sql = re.sub(r"\bNOT IN :(\w+)", r"<> ALL(:\1)", sql)
    sql = re.sub(r"\bIN :(\w+)", r"= ANY(:\1)", sql)
    return cast("LiteralString", re.sub(r"(?<![:\w]):([a-z]\w*)", r"%(\1)s", sql))


def _asked(value: Value) -> Value:
    """A value for a lookup."""
    if isinstance(value, str):
        return bindable(value)
    if isinstance(value, (list, tuple)):
        return [_asked(one) for one in cast("Sequence[Value]", value)]
    return value


class Connection:
    """A borrowed connection; adds the tenant to the parameters of every statement."""

    session_key: tuple[str, str] = ("session_id", "id")
    hanging: Sequence[str] = tables.HANGING

    def __init__(self, raw: Raw, tenant: str, *, is_guarded: bool = False) -> None:
        self.raw = raw
        self.tenant = tenant
        self.is_guarded = is_guarded
        """Whether row-level security applies."""

    def run(self, sql: str, **params: Value) -> psycopg.Cursor[Row]:
        """Execute one statement."""
        return self.raw.execute(for_psycopg(sql), {"tenant": self.tenant, **params})

    def rows(self, sql: str, **params: Value) -> list[Row]:
        """All rows of a query."""
        return self.run(sql, **{name: _asked(one) for name, one in params.items()}).fetchall()

    def row(self, sql: str, **params: Value) -> Row | None:
        """The first row of a query."""
        return self.run(sql, **{name: _asked(one) for name, one in params.items()}).fetchone()

    def value(self, sql: str, **params: Value) -> Any:
        """The first value of the first row; None without a row."""
        found = self.row(sql, **params)
        return None if found is None else found[0]

    def write(self, sql: str, **params: Value) -> int:
        """Execute one statement; returns how many rows it wrote."""
        return self.run(sql, **params).rowcount

    def put(
        self, table: str, rows: Sequence[Mapping[str, Value]], *, key: Sequence[str] = ()
    ) -> None:
        """Insert rows; those that have the key already are overwritten. A row without a project
        belongs to the whole tenant."""
        if not rows:
            return
        whole = [
            {"project": "", **row, **{name: bool(row[name]) for name in _FLAGS if name in row}}
            for row in rows
        ]
        names = ("tenant", *whole[0])
        listed, values = (", ".join(map(form.format, names)) for form in ('"{}"', "%({})s"))
        if key and "project" in rows[0] and "project" not in key:
            # The key of the table has the project in it, and that may be another one now.
            sets = ", ".join(f'"{name}" = %({name})s' for name in whole[0] if name not in key)
            own = " AND ".join(f"{name} = %({name})s" for name in ("tenant", *key))
            update = f"UPDATE {table} SET {sets} WHERE {own}"
            whole, key = [row for row in whole if not self.write(update, **row)], ()
        same = ""
        if key:
            changed = (
                f'"{name}" = excluded."{name}"'
                for name in whole[0]
                if name not in (*key, "project")
            )
            target = ", ".join(dict.fromkeys(("tenant", "project", *key)))
            same = f" ON CONFLICT ({target}) DO UPDATE SET {', '.join(changed)}"
        self.many(f"INSERT INTO {table} ({listed}) VALUES ({values}){same}", whole)

    def new_activity(self, count: int) -> int:
        """The last of as many new numbers for the log, which whoever listens is told of."""
        self.run("SELECT pg_notify(%(channel)s, %(tenant)s)", channel=CHANNEL)
        return self.value(
            "INSERT INTO activity_numbers (tenant, project, last)"
            " VALUES (%(tenant)s, '', %(count)s) ON CONFLICT (tenant, project)"
            " DO UPDATE SET last = activity_numbers.last + excluded.last RETURNING last",
            count=count,
        )

    def many(self, sql: str, params: Iterable[Mapping[str, Value]]) -> None:
        """Execute a statement once for each set of parameters, in one exchange."""
        rows = [{"tenant": self.tenant, **one} for one in params]
        if rows:
            with self.raw.cursor() as cursor:
                cursor.executemany(for_psycopg(sql), rows)


class Database:
    """Everything of one tenant in a database, as one person or as the user of the address."""

    def __init__(
        self,
        where: str | Pool,
        *,
        tenant: str,
        busy_timeout_ms: int,
        read_only: bool = False,
        credential: str = "",
    ) -> None:
        """`where` is an address, or a pool that others share; a shared one stays open."""
        if not tenant:
            raise UsageError("A tenant needs a name.")
        self._owns_pool = isinstance(where, str)
        self._pool = (
            Pool(where, busy_timeout_ms=busy_timeout_ms) if isinstance(where, str) else where
        )
        self.tenant = tenant
        self.place = self._pool.place
        self.read_only = read_only
        self.is_guarded = bool(credential)
        """Whether the database itself holds back what the person may not see."""
        # What a person reads is noted, so their session can write; rules hold it back.
        self._session = Session(credential, read_only and not credential)
        self._busy_timeout_ms = busy_timeout_ms
        self._closed = False

    @property
    def url(self) -> str:
        """The address, which may hold a password."""
        return self._pool.url

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed or self._pool.closed

    @contextmanager
    def alone(self) -> Generator[Raw, None, None]:
        """A connection outside the pool and outside any transaction. Says why it cannot connect."""
        self._require_open()
        with self._pool.alone(self._session) as raw:
            yield raw

    @contextmanager
    def reading(self) -> Generator[Connection, None, None]:
        """A connection for queries; each statement sees one consistent state."""
        self._require_open()
        with self._pool.borrowed(self._session) as raw:
            yield Connection(raw, self.tenant, is_guarded=self.is_guarded)

    @contextmanager
    def snapshot(self) -> Generator[Connection, None, None]:
        """A connection whose queries all see the same state."""
        with self.reading() as db:
            db.raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield db
            finally:
                db.raw.rollback()

    @contextmanager
    def writing(self, *, busy_timeout_ms: int | None = None) -> Generator[Connection, None, None]:
        """One write transaction: committed at the end, rolled back on any exception.

        Waits for other writers of the tenant up to the store's busy time-out, or up to its own.
        """
        if self.read_only:
            raise StoreReadOnlyError(
                f"The store {self.place} is open for reading only.", hint="Open it for writing."
            )
        wait_ms = self._busy_timeout_ms if busy_timeout_ms is None else busy_timeout_ms
        with self.reading() as db, db.raw.transaction():
            db.run(
                "SELECT set_config('lock_timeout', %(wait)s, true),"
                " pg_advisory_xact_lock(hashtextextended(%(tenant)s, 0))",
                wait=f"{max(wait_ms, 1)}ms",
            )
            yield db

    def close(self) -> None:
        """Close every connection of an own pool; those in use are closed when returned."""
        self._closed = True
        if self._owns_pool:
            self._pool.close()

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"The store {self.place} is closed.", hint="Open it again.")


def array_text(numbers: Iterable[int]) -> str:
    """Integers as an SQL array; the driver would look at each of them."""
    return f"{{{','.join(map(str, numbers))}}}"


class Component(tables.Component):
    """Base of the engine's parts: one port over a shared database."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._tables = self._database = database
        self._clock = clock


def bindable(text: str) -> str:
    """Text for a lookup: NUL and lone surrogates, which no stored text contains, become U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", _PRIVATE_MARK)


def all_bindable(texts: Sequence[str]) -> list[str]:
    """Texts for a lookup, each once."""
    return list(dict.fromkeys(bindable(str(text)) for text in texts))
