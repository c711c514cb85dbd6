"""Connection pool of one PostgreSQL database and one tenant, and `Component`.

A statement is written with named parameters; `tenant` is always among them. Writes of a tenant
queue on one advisory lock, so that they behave as in SQLite: one after the other, numbered in the
order of their commits. Readers never wait. Invariant: a pooled connection is outside any
transaction.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString, TypeAlias, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import tuple_row
from psycopg_pool import ConnectionPool

from wellkept.core.clock import Clock
from wellkept.core.errors import StoreError, StoreReadOnlyError, UsageError
from wellkept.store.postgres.connection.errors import away, translated

Row: TypeAlias = tuple[Any, ...]
Value: TypeAlias = object
_Raw: TypeAlias = "psycopg.Connection[Row]"

NAMESPACE = "wellkept"
DEFAULT_TENANT = "main"
_MAX_CONNECTIONS = 8
_CONNECT_S = 5
_IDLE_S = 120.0
_MAX_LIMIT = 2**62
_PRIVATE_MARK = "\ufffd"


class Connection:
    """A borrowed connection; adds the tenant to the parameters of every statement."""

    def __init__(self, raw: _Raw, tenant: str) -> None:
        self.raw = raw
        self.tenant = tenant

    def run(self, sql: str, **params: Value) -> psycopg.Cursor[Row]:
        """Execute one statement."""
        return self.raw.execute(cast("LiteralString", sql), {"tenant": self.tenant, **params})

    def rows(self, sql: str, **params: Value) -> list[Row]:
        """All rows of a query."""
        return self.run(sql, **params).fetchall()

    def row(self, sql: str, **params: Value) -> Row | None:
        """The first row of a query."""
        return self.run(sql, **params).fetchone()

    def value(self, sql: str, **params: Value) -> Any:
        """The first value of the first row; None without a row."""
        found = self.row(sql, **params)
        return None if found is None else found[0]

    def many(self, sql: str, params: Iterable[Mapping[str, Value]]) -> None:
        """Execute a statement once for each set of parameters, in one exchange."""
        rows = [{"tenant": self.tenant, **one} for one in params]
        if rows:
            with self.raw.cursor() as cursor:
                cursor.executemany(cast("LiteralString", sql), rows)


class Database:
    """A pool of connections for one tenant."""

    def __init__(
        self, url: str, *, tenant: str, busy_timeout_ms: int, read_only: bool = False
    ) -> None:
        if not tenant:
            raise UsageError("A tenant needs a name.")
        self.url = url
        self.tenant = tenant
        self.place = place_of(url)
        self._busy_timeout_ms = busy_timeout_ms
        self.read_only = read_only
        self._closed = False
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._pool: ConnectionPool[_Raw] | None = None
        self._inherited: list[object] = []

    @property
    def closed(self) -> bool:
        """Whether the pool was closed."""
        return self._closed

    @contextmanager
    def alone(self) -> Generator[_Raw, None, None]:
        """A connection outside the pool and outside any transaction. Says why it cannot connect."""
        self._require_open()
        with translated(self.place):
            raw = self._connect()
            try:
                yield raw
            finally:
                raw.close()

    @contextmanager
    def reading(self) -> Generator[Connection, None, None]:
        """A connection for queries; each statement sees one consistent state."""
        with translated(self.place), self._borrowed().connection() as raw:
            yield Connection(raw, self.tenant)

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
        """Close every connection; those in use are closed when returned."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None and self._process == os.getpid():
            pool.close()

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"The store {self.place} is closed.", hint="Open it again.")

    def _borrowed(self) -> ConnectionPool[_Raw]:
        with self._lock:
            self._require_open()
            if os.getpid() != self._process:
                # A child may neither use nor close its parent's connections.
                self._inherited.append(self._pool)
                self._process, self._pool = os.getpid(), None
            if self._pool is None:
                self._pool = self._new_pool()
            return self._pool

    def _new_pool(self) -> ConnectionPool[_Raw]:
        return ConnectionPool(
            self.url,
            min_size=0,
            max_size=_MAX_CONNECTIONS,
            timeout=max(self._busy_timeout_ms / 1000, 1.0),
            max_idle=_IDLE_S,
            kwargs={"autocommit": True, "connect_timeout": _CONNECT_S, "row_factory": tuple_row},
            configure=self._set_up,
            check=_check,
            num_workers=1,
            open=True,
        )

    def _connect(self) -> _Raw:
        try:
            raw = psycopg.connect(
                self.url, autocommit=True, connect_timeout=_CONNECT_S, row_factory=tuple_row
            )
        except psycopg.Error as error:
            raise away(self.place, error) from error
        self._set_up(raw)
        return raw

    def _set_up(self, raw: _Raw) -> None:
        raw.execute(
            "SELECT set_config('search_path', %s, false),"
            " set_config('client_min_messages', 'error', false),"
            " set_config('jit', 'off', false),"
            " set_config('default_transaction_read_only', %s, false),"
            " set_config('application_name', 'wellkept', false)",
            (f"{NAMESPACE},public", "on" if self.read_only else "off"),
        )


def _check(raw: _Raw) -> None:
    """Notice a connection that the server has ended, without asking it: nothing is to be read from
    one that is idle and well."""
    if select.select([raw.fileno()], [], [], 0)[0]:
        ConnectionPool.check_connection(raw)


def array_text(numbers: Iterable[int]) -> str:
    """Integers as an SQL array; the driver would look at each of them."""
    return f"{{{','.join(map(str, numbers))}}}"


class Component:
    """Base of the engine's parts: one port over a shared database."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock


def place_of(url: str) -> str:
    """The address without user, password and options, for people."""
    try:
        known = conninfo_to_dict(url)
    except psycopg.Error as error:
        raise UsageError(
            "The address of the PostgreSQL database cannot be read.",
            hint="It looks like postgresql://user@host:5432/database.",
        ) from error
    host = known.get("host") or known.get("hostaddr") or "localhost"
    port = f":{known['port']}" if known.get("port") else ""
    return f"{host}{port}/{known.get('dbname') or known.get('user') or ''}"


def require_limit(limit: int, *, least: int = 0) -> None:
    """UsageError for a limit that is too small or too large."""
    if limit < least:
        raise UsageError(f"limit must be at least {least}, not {limit}.")
    if limit > _MAX_LIMIT:
        raise UsageError(f"A limit of {limit} is out of range.", hint="Use a smaller one.")


def bindable(text: str) -> str:
    """Text for a lookup: NUL and lone surrogates, which no stored text contains, become U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", _PRIVATE_MARK)


def all_bindable(texts: Sequence[str]) -> list[str]:
    """Texts for a lookup, each once."""
    return list(dict.fromkeys(bindable(str(text)) for text in texts))
