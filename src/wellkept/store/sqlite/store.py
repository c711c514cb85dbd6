"""The engine as a whole: its parts put together, opened and closed."""

from __future__ import annotations

from pathlib import Path

from wellkept.core.clock import Clock
from wellkept.store.sqlite.connection.database import Database, Durability
from wellkept.store.sqlite.maintenance.maintenance import SqliteUpkeep
from wellkept.store.sqlite.opening import open_file
from wellkept.store.sqlite.search.candidates import Facts
from wellkept.store.sqlite.search.fulltext import ProjectSizes
from wellkept.store.sqlite.search.index import SqliteSearch
from wellkept.store.sqlite.search.term_cache import FrequentTerms
from wellkept.store.sqlite.search.vectors import VectorSearch
from wellkept.store.sqlite.tables.activity import SqliteNews
from wellkept.store.sqlite.tables.generated_skills import SqliteSkillLibrary
from wellkept.store.sqlite.tables.key_values import SqliteProjects, SqliteShelf, SqliteVectors
from wellkept.store.sqlite.tables.memories import SqliteRows
from wellkept.store.sqlite.tables.scratchpads import SqliteObserver
from wellkept.store.sqlite.tables.sessions import SqliteSessions
from wellkept.store.sqlite.tables.skill_uses import SqliteSkillUses


class SqliteStore(
    SqliteRows,
    SqliteSearch,
    SqliteVectors,
    SqliteProjects,
    SqliteShelf,
    SqliteSessions,
    SqliteNews,
    SqliteSkillUses,
    SqliteObserver,
    SqliteSkillLibrary,
    SqliteUpkeep,
):
    """A `Store` in one SQLite file."""

    def __init__(self, database: Database, *, clock: Clock, facts: Facts | None = None) -> None:
        super().__init__(database, clock=clock)
        self._facts = facts or Facts()
        self._frequent = FrequentTerms()
        self._sizes = ProjectSizes()
        self._vector_search = VectorSearch()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        busy_timeout_ms: int,
        durability: Durability,
        read_only: bool,
        clock: Clock,
        facts: Facts | None = None,
    ) -> SqliteStore:
        """Open a file for writing where that is possible, else for reading."""
        database = open_file(
            path,
            busy_timeout_ms=busy_timeout_ms,
            durability=durability,
            read_only=read_only,
            clock=clock,
        )
        return cls(database, clock=clock, facts=facts)

    def close(self) -> None:
        """Flush and let go of every connection."""
        if not self._database.closed:
            if not self._database.was_replaced:
                self.flush()
            self._database.close()
            self._facts.forget()
            self._frequent.forget()
            self._vector_search.forget()
