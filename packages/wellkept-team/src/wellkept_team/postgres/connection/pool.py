"""A pool of connections to one database, shared by all handles of a process.

Whoever borrows a connection says as whom: the credential of a person, or none. It is set on the
connection before anything else runs, and the database looks it up itself at every statement
(`team/schema.py`). Invariant: a pooled connection is outside any transaction.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import tuple_row
from psycopg_pool import ConnectionPool

from wellkept.core.errors import StoreError, UsageError
from wellkept_team.postgres.connection.errors import away, translated

if TYPE_CHECKING:
    from psycopg import Connection

Row: TypeAlias = tuple[Any, ...]
Raw: TypeAlias = "Connection[Row]"

NAMESPACE: Final = "wellkept"
MAX_CONNECTIONS: Final = 8
_CONNECT_S: Final = 5
_IDLE_S: Final = 120.0


class Session(NamedTuple):
    """As whom statements run. Without a credential, as the user of the address."""

    credential: str = ""
    read_only: bool = False


class Pool:
    """Connections that are made when needed and closed when idle for long."""

    def __init__(
        self, url: str, *, busy_timeout_ms: int, max_connections: int = MAX_CONNECTIONS
    ) -> None:
        self.url = url
        self.place = place_of(url)
        self._timeout_s = max(busy_timeout_ms / 1000, 1.0)
        self._max_connections = max_connections
        self._closed = False
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._pool: ConnectionPool[Raw] | None = None
        self._inherited: list[object] = []
        self._sessions: WeakKeyDictionary[Raw, Session] = WeakKeyDictionary()

    @property
    def closed(self) -> bool:
        """Whether the pool was closed."""
        return self._closed

    @contextmanager
    def borrowed(self, session: Session) -> Generator[Raw, None, None]:
        """A connection of the pool, set up for a session."""
        with translated(self.place), self._opened().connection() as raw:
            if self._sessions.get(raw) != session:
                self._sessions.pop(raw, None)
                self._enter(raw, session)
                self._sessions[raw] = session
            yield raw

    @contextmanager
    def alone(self, session: Session) -> Generator[Raw, None, None]:
        """A connection outside the pool and outside any transaction. Says why it cannot connect."""
        self._require_open()
        with translated(self.place):
            raw = self._connect()
            try:
                self._enter(raw, session)
                yield raw
            finally:
                raw.close()

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

    def _opened(self) -> ConnectionPool[Raw]:
        with self._lock:
            self._require_open()
            if os.getpid() != self._process:
                # A child may neither use nor close its parent's connections.
                self._inherited.append(self._pool)
                self._process, self._pool = os.getpid(), None
            if self._pool is None:
                self._pool = self._new_pool()
            return self._pool

    def _new_pool(self) -> ConnectionPool[Raw]:
        return ConnectionPool(
            self.url,
            min_size=0,
            max_size=self._max_connections,
            timeout=self._timeout_s,
            max_idle=_IDLE_S,
            kwargs={
                "autocommit": True,
                "connect_timeout": _CONNECT_S,
                "row_factory": tuple_row,
                # A general plan cannot tell the partitions of a list of homes and reads them all.
                "options": "-c plan_cache_mode=force_custom_plan",
            },
            configure=_set_up,
            check=_check,
            num_workers=1,
            open=True,
        )

    def _connect(self) -> Raw:
        try:
            raw = psycopg.connect(
                self.url, autocommit=True, connect_timeout=_CONNECT_S, row_factory=tuple_row
            )
        except psycopg.Error as error:
            raise away(self.place, error) from error
        _set_up(raw)
        return raw

    @staticmethod
    def _enter(raw: Raw, session: Session) -> None:
        raw.execute(
            "SELECT set_config('wellkept.credential', %s, false),"
            " set_config('default_transaction_read_only', %s, false)",
            (session.credential, "on" if session.read_only else "off"),
        )


def _set_up(raw: Raw) -> None:
    raw.execute(
        "SELECT set_config('search_path', %s, false),"
        " set_config('client_min_messages', 'error', false),"
        " set_config('jit', 'off', false),"
        " set_config('application_name', 'wellkept', false)",
        (f"{NAMESPACE},public",),
    )


def _check(raw: Raw) -> None:
    """Notice a connection that the server has ended, without asking it: nothing is to be read from
    one that is idle and well."""
    if select.select([raw.fileno()], [], [], 0)[0]:
        ConnectionPool.check_connection(raw)


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
