"""The tables that both engines have, each in one module: `key_values` is the shortest.

A statement is PostgreSQL's, with named parameters (`:name`, and `IN :name` for a list). It names
its tenant: `tenant = :tenant`. What belongs to a whole tenant has the project ''. SQLite has no
tenants, and no project in rows that hang on others: its connection leaves both out
(`store.sqlite.database`). A value that is looked up may hold what no stored text can.
Knows no engine, and no memories: they are read too often to be read the same way everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from wellkept.core.clock import Clock
    from wellkept.store.rows import Row


HANGING = ("injected_lines", "skill_versions", "skill_runs")
"""Tables whose rows hang on others; not every engine repeats their project."""


class Connection(Protocol):
    """A borrowed connection of an engine."""

    session_key: tuple[str, str]
    """The column of `processed_events` that names a session, and the one of `sessions`."""
    hanging: Sequence[str]
    """Those of `HANGING` that have a project."""

    def rows(self, sql: str, **params: object) -> Sequence[Row]:
        """All rows of a query."""
        ...

    def row(self, sql: str, **params: object) -> Row | None:
        """The first row of a query."""
        ...

    def value(self, sql: str, **params: object) -> Any:
        """The first value of the first row; None without a row."""
        ...

    def write(self, sql: str, **params: object) -> int:
        """Execute one statement; returns how many rows it wrote. What is no text that can be stored
        raises."""
        ...

    def many(self, sql: str, params: Sequence[Mapping[str, object]]) -> None:
        """Execute a statement once for each set of parameters."""
        ...

    def put(
        self, table: str, rows: Sequence[Mapping[str, object]], *, key: Sequence[str] = ()
    ) -> None:
        """Insert rows; with a key, those that have it already are overwritten."""
        ...

    def new_activity(self, count: int) -> int:
        """The last of as many new numbers for the log, which whoever listens is told of."""
        ...


class Database(Protocol):
    """Connections of an engine."""

    def reading(self) -> AbstractContextManager[Connection]:
        """For queries; each statement sees one consistent state."""
        ...

    def snapshot(self) -> AbstractContextManager[Connection]:
        """For queries that all see the same state."""
        ...

    def writing(self) -> AbstractContextManager[Connection]:
        """One write transaction; all writers of a tenant queue."""
        ...


class Component:
    """Base of the tables: one port over the database of an engine."""

    _tables: Database
    _clock: Clock
