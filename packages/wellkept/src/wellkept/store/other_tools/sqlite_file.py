"""Opening somebody else's SQLite database without leaving a trace.

The file and its write-ahead log are copied and the copy is opened: the tool may be running, its log
may hold what the file does not, and SQLite would write beside the file even to read it.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from wellkept.core.errors import UsageError

_MAGIC = b"SQLite format 3\0"
_MOST_COPIES = 5


class ToolDatabase:
    """A database whose schema may be of any version: what is not there reads as None."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.row_factory = sqlite3.Row

    def has(self, table: str) -> bool:
        """Whether there is a table of that name."""
        found = self._connection.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        )
        return found.fetchone() is not None

    def rows(
        self, table: str, *, order: str, where: tuple[str, str] | None = None
    ) -> Generator[dict[str, object], None, None]:
        """Every row of a table, or those with a value in a column, as far as it can be read."""
        columns = {row["name"] for row in self._connection.execute(f'PRAGMA table_info("{table}")')}
        by = f'"{order}"' if order in columns else "rowid"
        only = f'WHERE "{where[0]}" = ?' if where else ""
        given = where[1:] if where else ()
        for row in self._connection.execute(f'SELECT * FROM "{table}" {only} ORDER BY {by}', given):
            yield {name: row[name] for name in row.keys()}  # noqa: SIM118 - a Row is no mapping


@contextmanager
def open_copy(path: Path) -> Generator[ToolDatabase, None, None]:
    """A copy of a database, gone when it is closed. UsageError when the file is none."""
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise UsageError(f"{path} is no SQLite database.", hint="Name another file.")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None
    with TemporaryDirectory(prefix="wellkept-import-") as folder:
        copy = Path(folder) / "copy.db"
        try:
            _copy_both(path, copy)
            with closing(sqlite3.connect(copy)) as connection:
                connection.text_factory = _text
                yield ToolDatabase(connection)
        except sqlite3.DatabaseError as error:
            raise UsageError(f"{path} cannot be read as a database: {error}.") from None
        except OSError as error:
            raise UsageError(f"{path} cannot be copied: {error.strerror or error}.") from None


def _copy_both(path: Path, copy: Path) -> None:
    """Copy the file and its log as they were at one moment: again when either changed meanwhile,
    since a log does not fit a file that has taken it in."""
    log = path.with_name(path.name + "-wal")
    for _ in range(_MOST_COPIES):
        before = _state(path), _state(log)
        shutil.copyfile(path, copy)
        copied_log = copy.with_name(copy.name + "-wal")
        copied_log.unlink(missing_ok=True)
        if before[1] is not None:
            shutil.copyfile(log, copied_log)
        if before == (_state(path), _state(log)):
            return
    raise UsageError(
        f"{path} is being written all the time.", hint="Close the program that uses it."
    )


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
