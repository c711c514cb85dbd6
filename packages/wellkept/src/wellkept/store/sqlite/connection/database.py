"""Connection pool of one SQLite file, and `Component`, the base of the engine's parts.

A connection serves one thread at a time but is tied to none, so threads read in parallel; a forked
child opens its own. Writes are short `BEGIN IMMEDIATE` transactions: threads queue on a lock, other
processes on SQLite's busy time-out. Invariant: a pooled connection is outside any transaction.

A file that was replaced or removed is not used any further: writes would be lost, and its WAL would
be applied to the new file.

Durability: in WAL mode a commit survives the death of the process with synchronous NORMAL, and
a power loss with FULL.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Literal, TypeAlias

from wellkept.core.clock import Clock
from wellkept.core.errors import StoreError, StoreReadOnlyError, UsageError
from wellkept.core.ids import is_full_id, short_id
from wellkept.store.sqlite.connection.errors import translated

Durability: TypeAlias = Literal["normal", "full"]
SqlValue: TypeAlias = str | int | float | bytes | None
Connection: TypeAlias = sqlite3.Connection
_FileId: TypeAlias = tuple[int, int]

OLDEST_SQLITE = (3, 37, 0)
_IDLE_CONNECTIONS = 4
_CACHE_KIB = 32_768
# Memory-mapped reads save a copy and a system call per uncached page. Only one connection of a pool
# maps the file: each further one would count it again as memory of the process.
_MAPPED_BYTES = 1 << 30
_LOG_BYTES = 16 * 1024 * 1024
_MAX_LOG_BYTES = 64 * 1024 * 1024
# Readers keep the log from being reused. Wait so long for them, and try so often.
_CHECKPOINT_WAIT_MS = 100
_CHECKPOINT_EVERY_S = 1.0
_MAX_LIMIT = 2**62


def require_sqlite(version: tuple[int, int, int]) -> None:
    """StoreError when the SQLite library is older than the schema needs."""
    if version < OLDEST_SQLITE:
        found = ".".join(map(str, version))
        raise StoreError(
            f"Wellkept needs SQLite 3.37 or newer; this Python was built with {found}.",
            hint="Use a newer Python or upgrade the system's SQLite library.",
        )


class Database:
    """A pool of connections to one file."""

    def __init__(
        self, path: Path, *, busy_timeout_ms: int, durability: Durability, uri_query: str = ""
    ) -> None:
        self.path = path
        self._busy_timeout_ms = busy_timeout_ms
        self._durability = durability
        self._uri_query = uri_query
        self._idle: list[Connection] = []
        self._idle_lock = threading.Lock()
        self._write_lock = threading.RLock()
        self._closed = False
        self._process = os.getpid()
        self._inherited: list[Connection] = []
        self._file: _FileId | None = None
        self._next_checkpoint_s = 0.0
        self._mapping: Connection | None = None

    @property
    def read_only(self) -> bool:
        """Whether the file was opened for reading only."""
        return "mode=ro" in self._uri_query

    @property
    def closed(self) -> bool:
        """Whether the pool was closed."""
        return self._closed

    @property
    def was_replaced(self) -> bool:
        """Whether the path no longer names the file that was opened."""
        try:
            found = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return self._file is not None
        except OSError:
            return False
        now = (found.st_dev, found.st_ino)
        if self._file is None:
            self._file = now
        return now != self._file

    def use_wal(self) -> None:
        """Switch the file to WAL mode, in which readers and a writer work in parallel."""
        with self._write_lock, self.reading() as db:
            if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                db.execute("PRAGMA journal_mode = WAL")

    @contextmanager
    def alone(self) -> Generator[Connection, None, None]:
        """A connection for work that cannot run inside a transaction."""
        self._require_writable()
        with self._write_lock, self.reading() as db:
            yield db

    @contextmanager
    def reading(self) -> Generator[Connection, None, None]:
        """A connection for queries; each statement sees one consistent state."""
        with translated(self.path):
            connection = self._borrow()
            try:
                yield connection
            finally:
                self._return(connection)

    @contextmanager
    def snapshot(self) -> Generator[Connection, None, None]:
        """A connection whose queries all see the same state."""
        with self.reading() as db:
            db.execute("BEGIN")
            try:
                yield db
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    @contextmanager
    def writing(self, *, busy_timeout_ms: int | None = None) -> Generator[Connection, None, None]:
        """One write transaction: committed at the end, rolled back on any exception.

        Waits for other processes up to the store's busy time-out, or up to its own.
        """
        self._require_writable()
        with self._write_lock, self.reading() as db:
            if busy_timeout_ms is not None:
                db.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
            try:
                yield from _transaction(db)
            finally:
                if busy_timeout_ms is not None:
                    db.execute(f"PRAGMA busy_timeout = {self._busy_timeout_ms}")
            self._bound_log(db)

    def _bound_log(self, db: Connection) -> None:
        """Empty a write-ahead log that grew because there was always a reader.

        SQLite reuses the log only when nobody reads, and never shrinks it by itself.
        """
        if self.log_bytes() <= _MAX_LOG_BYTES or monotonic() < self._next_checkpoint_s:
            return
        self._next_checkpoint_s = monotonic() + _CHECKPOINT_EVERY_S
        db.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_WAIT_MS}")
        try:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError:
            # Somebody else holds the lock; the next write tries again.
            pass
        finally:
            db.execute(f"PRAGMA busy_timeout = {self._busy_timeout_ms}")

    def log_bytes(self) -> int:
        """The size of the write-ahead log."""
        try:
            return os.stat(f"{self.path}-wal").st_size  # noqa: PTH116 - at every write
        except OSError:
            return 0

    def close(self) -> None:
        """Close every connection; those in use are closed when returned."""
        with self._idle_lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _connect(self) -> Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}{self._uri_query}",
            timeout=self._busy_timeout_ms / 1000,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            uri=True,
        )
        try:
            self._set_up(connection)
        except sqlite3.Error:
            if self._mapping is connection:
                self._mapping = None
            connection.close()
            raise
        return connection

    def _require_writable(self) -> None:
        if self.read_only:
            raise StoreReadOnlyError(
                f"The database {self.path} is open for reading only.",
                hint="Check the permissions of the file and of its folder.",
            )

    def _set_up(self, connection: Connection) -> None:
        install_functions(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {self._durability.upper()}")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA temp_store = MEMORY")
        with self._idle_lock:
            if self._mapping is None:
                self._mapping = connection
        mapped_bytes = _MAPPED_BYTES if self._mapping is connection else 0
        connection.execute(f"PRAGMA mmap_size = {mapped_bytes}")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")

    def _borrow(self) -> Connection:
        with self._idle_lock:
            if os.getpid() != self._process:
                self._reset_after_fork()
            if self._closed:
                raise StoreError(f"The store {self.path} is closed.", hint="Open it again.")
            if self.was_replaced:
                raise StoreError(
                    f"The database {self.path} was replaced or removed while it was open.",
                    hint="End this process and start it again.",
                )
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _reset_after_fork(self) -> None:
        """A child may neither use nor close its parent's connections: keep references to them."""
        self._process = os.getpid()
        self._inherited, self._idle = self._idle, []
        self._mapping = None

    def _return(self, connection: Connection) -> None:
        with self._idle_lock:
            if not self._closed and len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
            if self._mapping is connection:
                self._mapping = None
        connection.close()


class Component:
    """Base of the engine's parts: one port over a shared database."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock


def require_limit(limit: int, *, least: int = 0) -> None:
    """UsageError for a limit that is too small, or too large for SQLite."""
    if limit < least:
        raise UsageError(f"limit must be at least {least}, not {limit}.")
    if limit > _MAX_LIMIT:
        raise UsageError(f"A limit of {limit} is out of range.", hint="Use a smaller one.")


def install_functions(connection: Connection) -> None:
    """Add the SQL functions that queries use."""
    connection.create_function("holds", 2, _holds, deterministic=True)
    connection.create_function("short_of", 1, _short_of, deterministic=True)


def _holds(content: str, folded_substring: str) -> bool:
    """Whether a content contains a lower-case substring."""
    return folded_substring in content.lower()


def _short_of(full_id: str) -> str | None:
    """The short form of a full id; NULL for anything else."""
    return short_id(full_id) if is_full_id(full_id) else None


def _transaction(db: Connection) -> Generator[Connection, None, None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        # SQLite rolls back by itself on some errors, such as a full disk.
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def bindable(text: str) -> str:
    """Text for a lookup: lone surrogates, which no stored text contains, become U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def placeholders(values: Sequence[object]) -> str:
    """`?,?,?` for an IN list."""
    return ",".join("?" * len(values))
