"""Connection pool of one SQLite file, and `Component`, the base of the engine's parts.

A connection serves one thread at a time but is tied to none, so threads read in parallel; a forked
child opens its own. Writes are short `BEGIN IMMEDIATE` transactions: threads queue on a lock, other
processes ask again until the time-out. Invariant: a pooled connection is outside any transaction.

A file that was replaced or removed is not used any further: writes would be lost, and its WAL would
be applied to the new file.

Durability: in WAL mode with synchronous FULL a commit survives a power cut.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeAlias

from wellkept.core.clock import Clock
from wellkept.core.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    UsageError,
)
from wellkept.core.ids import is_full_id, short_id
from wellkept.store import tables

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
# SQLite makes the file that readers share in steps of 32 KiB.
_NO_ROOM_BYTES = 128 << 10
_RESTORE = "Run `wellkept admin doctor`; if it cannot repair it, `wellkept admin restore` a backup."
_DEEP = "Run `wellkept admin doctor --deep`: it names the record."
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for errors of the driver itself."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def translate(error: sqlite3.Error, path: Path) -> StoreError | UsageError:
    """The Wellkept error for an SQLite error."""
    code = primary_code(error)
    if code in _BUSY:
        return StoreBusyError(
            f"The database {path} is locked by another process.",
            hint="Try again, end the process that holds it, or raise the busy time-out.",
        )
    # An existing file that cannot be opened lacks permission for its WAL files.
    if code == sqlite3.SQLITE_READONLY or (code == sqlite3.SQLITE_CANTOPEN and path.is_file()):
        return StoreReadOnlyError(
            f"The database {path} cannot be written.",
            hint="Check the permissions of the file and of its folder.",
        )
    # A file-size limit shows as a failed write, not as a full disk.
    cut_off = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_WRITE
    if code == sqlite3.SQLITE_FULL or cut_off or _is_full(code, path):
        return StoreFullError(
            f"No disk space left to write {path}; nothing of this change was stored.",
            hint="Free some disk space and try again.",
        )
    if code in _DAMAGED:
        return StoreCorruptError(
            f"{path} is damaged or is not a Wellkept database ({error}).", hint=_RESTORE
        )
    if "Could not decode to UTF-8" in str(error):
        # SQLite's message would quote the text.
        return StoreCorruptError(f"A text in {path} is damaged.", hint=_DEEP)
    return _less_common(error, code, path)


def _less_common(error: sqlite3.Error, code: int, path: Path) -> StoreError | UsageError:
    if code == sqlite3.SQLITE_CANTOPEN:
        return StoreError(
            f"The database {path} cannot be opened.",
            hint="Check that its folder exists and that you may use it.",
        )
    if code == sqlite3.SQLITE_TOOBIG:
        return UsageError("The text is too large to be stored.", hint="Split it.")
    return StoreError(
        f"The database {path} reported an error: {error}.", hint="Run `wellkept admin doctor`."
    )


def _is_full(code: int, path: Path) -> bool:
    """No room for the files beside the database shows as an error of input or output."""
    if code != sqlite3.SQLITE_IOERR:
        return False
    from shutil import disk_usage

    try:
        return disk_usage(path.parent).free < _NO_ROOM_BYTES
    except OSError:
        return False


@contextmanager
def translated(path: Path) -> Generator[None, None, None]:
    """Translate SQLite errors raised inside the block."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        # Whoever writes something that may break a rule handles it; this one was not to be.
        raise StoreCorruptError(f"A record in {path} is damaged ({error}).", hint=_DEEP) from error
    except sqlite3.Error as error:
        raise translate(error, path) from error
    except UnicodeDecodeError as error:
        # The names in SQLite's own message are damaged.
        raise StoreCorruptError(f"{path} is damaged.", hint=_RESTORE) from error
    except UnicodeEncodeError as error:
        raise UsageError(
            f"A text contains a character that cannot be stored: {error.reason}.",
            hint="Clean it with wellkept.core.text.clean first.",
        ) from error
    except OverflowError as error:
        raise UsageError("A number is too large to be stored.") from error


@contextmanager
def readable_index(path: Path) -> Generator[None, None, None]:
    """Report values of a search index that cannot be: a damaged page gives nonsense, not an
    error of SQLite."""
    try:
        yield
    except (ArithmeticError, IndexError, ValueError, TypeError) as error:
        raise StoreCorruptError(
            f"The search index in {path} is damaged.",
            hint="Run `wellkept admin doctor --repair`: it makes the index anew from the memories.",
        ) from error


SqlValue: TypeAlias = str | int | float | bytes | None
Connection: TypeAlias = sqlite3.Connection
_ABSENT = r"(?:\w+\.)?(?:tenant = (?::|\w+\.)tenant|project = (?:''|\w+\.project))"


@lru_cache(maxsize=512)
def _own(sql: str) -> str:
    """A statement of `store.tables` as SQLite takes it: without a tenant, and any number of listed
    values in one parameter."""
    sql = re.sub(f"{_ABSENT} AND ", "", sql)
    sql = re.sub(":?tenant, ", "", re.sub(_ABSENT, "1", sql)).replace("greatest(", "max(")
    return re.sub(r"\bIN :(\w+)", r"IN (SELECT value FROM json_each(:\1))", sql)


def _asked(value: Any) -> Any:
    """A value for a lookup."""
    if isinstance(value, str):
        return bindable(value)
    # A lone surrogate in a list is escaped, and equals nothing that is stored.
    return json.dumps(value) if isinstance(value, (list, tuple)) else value


class TableConnection(sqlite3.Connection):
    """A connection that also takes the statements of `store.tables`."""

    session_key: tuple[str, str] = ("session", "row")
    hanging: Sequence[str] = ()

    def rows(self, sql: str, **params: object) -> list[Any]:
        """All rows of a query."""
        given = {name: _asked(value) for name, value in params.items()}
        return self.execute(_own(sql), given).fetchall()

    def row(self, sql: str, **params: object) -> Any:
        """The first row of a query; None without one."""
        return next(iter(self.rows(sql, **params)), None)

    def value(self, sql: str, **params: object) -> Any:
        """The first value of the first row; None without a row."""
        found = self.row(sql, **params)
        return None if found is None else found[0]

    def write(self, sql: str, **params: object) -> int:
        """Execute one statement; returns how many rows it wrote."""
        lists = {name: _asked(one) for name, one in params.items() if not isinstance(one, str)}
        return self.execute(_own(sql), params | lists).rowcount

    def many(self, sql: str, params: Sequence[Mapping[str, object]]) -> None:
        """Execute a statement once for each set of parameters."""
        self.executemany(_own(sql), params)  # pyright: ignore[reportArgumentType]

    def put(
        self, table: str, rows: Sequence[Mapping[str, object]], *, key: Sequence[str] = ()
    ) -> None:
        """Insert rows with their checksums; those that have the key already are overwritten."""
        if not rows:
            return
        from wellkept.store.sqlite.checksums import with_checksum

        left_out = {"project"} if table in tables.HANGING else set[str]()
        whole = [with_checksum(table, row) for row in rows]
        names = [name for name in whole[0] if name not in left_out]
        changed = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
        same = f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changed}" if key else ""
        self.executemany(
            f"INSERT INTO {table} ({', '.join(names)})"
            f" VALUES ({', '.join(f':{name}' for name in names)}){same}",
            whole,
        )

    def new_activity(self, count: int) -> int:
        """The last of as many new numbers for the log."""
        (last,) = self.execute("SELECT coalesce(max(number), 0) FROM activity").fetchone()
        return last + count


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
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.02


def require_sqlite(version: tuple[int, int, int]) -> None:
    """StoreError when the SQLite library is older than the schema needs."""
    if version < OLDEST_SQLITE:
        found = ".".join(map(str, version))
        raise StoreError(
            f"Wellkept needs SQLite 3.37 or newer; this Python was built with {found}.",
            hint="Use a newer Python or upgrade the system's SQLite library.",
        )


_Lent: TypeAlias = Generator[TableConnection, None, None]


class Database:
    """A pool of connections to one file."""

    def __init__(self, path: Path, *, busy_timeout_ms: int, uri_query: str = "") -> None:
        self.path = path
        self._busy_timeout_ms = busy_timeout_ms
        self._uri_query = uri_query
        self._idle: list[TableConnection] = []
        self._idle_lock = threading.Lock()
        self._write_lock = threading.RLock()
        self._closed = False
        self._process = os.getpid()
        self._inherited: list[TableConnection] = []
        self._file: _FileId | None = None
        self._next_checkpoint_s = 0.0
        self._mapping: TableConnection | None = None
        self._shared = threading.local()

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
    def alone(self) -> _Lent:
        """A connection for work that cannot run inside a transaction."""
        self._require_writable()
        with self._write_lock, self._borrowed() as db:
            yield db

    @contextmanager
    def reading(self) -> _Lent:
        """A connection for queries; each statement sees one consistent state."""
        shared: TableConnection | None = getattr(self._shared, "connection", None)
        if shared is not None:
            with translated(self.path):
                yield shared
            return
        with self._borrowed() as db:
            yield db

    @contextmanager
    def one_read(self) -> Generator[None, None, None]:
        """Inside the block all queries of this thread see one state, through one connection."""
        if getattr(self._shared, "connection", None) is not None:
            yield
            return
        with self.snapshot() as db:
            self._shared.connection = db
            try:
                yield
            finally:
                self._shared.connection = None

    @contextmanager
    def _borrowed(self) -> _Lent:
        with translated(self.path):
            connection = self._borrow()
            try:
                yield connection
            finally:
                self._return(connection)

    @contextmanager
    def snapshot(self) -> _Lent:
        """A connection whose queries all see the same state."""
        with self.reading() as db:
            if db.in_transaction:  # inside `one_read`
                yield db
                return
            db.execute("BEGIN")
            try:
                yield db
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    @contextmanager
    def writing(self, *, busy_timeout_ms: int | None = None) -> _Lent:
        """One write transaction: committed at the end, rolled back on any exception.

        Waits for other processes up to the store's busy time-out, or up to its own.
        """
        self._require_writable()
        patience_ms = self._busy_timeout_ms if busy_timeout_ms is None else busy_timeout_ms
        with self._write_lock, self._borrowed() as db:
            db.execute("PRAGMA busy_timeout = 0")
            try:
                _begin(db, patience_s=patience_ms / 1000)
            finally:
                db.execute(f"PRAGMA busy_timeout = {self._busy_timeout_ms}")
            yield from _transaction(db)
            self._bound_log(db)

    def _bound_log(self, db: TableConnection) -> None:
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

    def _connect(self) -> TableConnection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}{self._uri_query}",
            timeout=self._busy_timeout_ms / 1000,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            factory=TableConnection,
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

    def _set_up(self, connection: TableConnection) -> None:
        install_functions(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA temp_store = MEMORY")
        with self._idle_lock:
            if self._mapping is None:
                self._mapping = connection
        mapped_bytes = _MAPPED_BYTES if self._mapping is connection else 0
        connection.execute(f"PRAGMA mmap_size = {mapped_bytes}")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")

    def _borrow(self) -> TableConnection:
        with self._idle_lock:
            if os.getpid() != self._process:
                # A child may neither use nor close its parent's connections: keep references to
                # them.
                self._process = os.getpid()
                self._inherited, self._idle = self._idle, []
                self._mapping = None
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

    def _return(self, connection: TableConnection) -> None:
        with self._idle_lock:
            if not self._closed and len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
            if self._mapping is connection:
                self._mapping = None
        connection.close()


class Component(tables.Component):
    """Base of the engine's parts: one port over a shared database."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._tables = self._database = database
        self._clock = clock

    def let_go(self) -> None:
        """Drop what searches and counts have kept in memory."""
        for name in ("_term_cache", "_vector_search", "_facet_counts"):
            if name in self.__dict__:
                getattr(self, name).clear()


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


def _begin(db: Connection, *, patience_s: float) -> None:
    """Begin to write. Whoever waited longer asks more often; SQLite's own waiting asks ever more
    seldom, so that some starve."""
    end_s = monotonic() + patience_s
    while True:
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            left_s = end_s - monotonic()
            if primary_code(error) != sqlite3.SQLITE_BUSY or left_s <= 0:
                raise
            waited_s = patience_s - left_s
            sleep(max(_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S * (1 - waited_s)))
        else:
            return


def _transaction(db: TableConnection) -> Generator[TableConnection, None, None]:
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
