"""`PostgresStore`: the engine's parts combined, opened and closed."""

from __future__ import annotations

from wellkept.core.clock import Clock
from wellkept.store.postgres.connection.database import DEFAULT_TENANT, Database
from wellkept.store.postgres.listen import PostgresListener
from wellkept.store.postgres.maintenance.maintenance import PostgresMaintenance
from wellkept.store.postgres.migrations import migrate
from wellkept.store.postgres.search.hints import SearchHints, new_hints
from wellkept.store.postgres.search.index import PostgresSearch
from wellkept.store.postgres.search.vector_index import LARGE_PROJECT
from wellkept.store.postgres.tables.activity import PostgresActivityLog
from wellkept.store.postgres.tables.injections import PostgresInjections
from wellkept.store.postgres.tables.key_values import PostgresKeyValues
from wellkept.store.postgres.tables.known_homes import KnownHomes
from wellkept.store.postgres.tables.memories import PostgresMemories
from wellkept.store.postgres.tables.projects import PostgresProjects
from wellkept.store.postgres.tables.reports import PostgresReports
from wellkept.store.postgres.tables.scratchpads import PostgresScratchpads
from wellkept.store.postgres.tables.sessions import PostgresSessions
from wellkept.store.postgres.tables.shared_records import PostgresSharedRecords
from wellkept.store.postgres.tables.skills import PostgresGeneratedSkills, PostgresSkillUses
from wellkept.store.postgres.tables.undo import PostgresUndo
from wellkept.store.postgres.tables.vectors import PostgresVectors
from wellkept.store.sqlite.tables.access_counts import AccessBuffer


class PostgresStore(
    PostgresMemories,
    PostgresSearch,
    PostgresVectors,
    PostgresProjects,
    PostgresKeyValues,
    PostgresSessions,
    PostgresActivityLog,
    PostgresListener,
    PostgresSkillUses,
    PostgresScratchpads,
    PostgresInjections,
    PostgresReports,
    PostgresUndo,
    PostgresSharedRecords,
    PostgresGeneratedSkills,
    PostgresMaintenance,
):
    """A `Store` in a PostgreSQL database: everything of one tenant."""

    def __init__(
        self, database: Database, *, clock: Clock, hints: SearchHints | None = None
    ) -> None:
        super().__init__(database, clock=clock)
        self._accesses = AccessBuffer()
        self._homes = KnownHomes()
        self._vector_indexes, self._narrow, self._phrases = hints or new_hints()

    @classmethod
    def open(
        cls,
        url: str,
        *,
        clock: Clock,
        tenant: str = DEFAULT_TENANT,
        busy_timeout_ms: int = 5_000,
        read_only: bool = False,
        large_project: int = LARGE_PROJECT,
    ) -> PostgresStore:
        """Connect, and migrate the database if needed."""
        database = Database(
            url, tenant=tenant, busy_timeout_ms=busy_timeout_ms, read_only=read_only
        )
        migrate(database, clock=clock)
        return cls(database, clock=clock, hints=new_hints(large_project=large_project))

    def close(self) -> None:
        """Flush and close every connection."""
        if not self._database.closed:
            if not self._database.read_only:
                self.flush()
            self._database.close()
