"""`PostgresStore`: the engine's parts combined, opened and closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic

from wellkept.core.clock import Clock
from wellkept.store.queries import AccessBuffer
from wellkept.store.tables.activity import ActivityLog
from wellkept.store.tables.injections import Injections
from wellkept.store.tables.key_values import KeyValues
from wellkept.store.tables.scratchpads import Scratchpads
from wellkept.store.tables.sessions import Sessions
from wellkept.store.tables.shared_records import SharedRecords
from wellkept.store.tables.skills import GeneratedSkills, SkillUses
from wellkept_team.postgres.connection.database import CHANNEL, DEFAULT_TENANT, Component, Database
from wellkept_team.postgres.maintenance.maintenance import PostgresMaintenance
from wellkept_team.postgres.migrations import migrate
from wellkept_team.postgres.search.hints import SearchHints, new_hints
from wellkept_team.postgres.search.index import PostgresSearch
from wellkept_team.postgres.search.vector_index import LARGE_PROJECT
from wellkept_team.postgres.tables.memories import PostgresMemories
from wellkept_team.postgres.tables.project_of_id import KnownHomes
from wellkept_team.postgres.tables.projects import PostgresProjectMerge
from wellkept_team.postgres.tables.reports import PostgresReports
from wellkept_team.postgres.tables.undo import PostgresUndo
from wellkept_team.postgres.tables.vectors import PostgresVectors


class PostgresListener(Component):
    """Notifications about activity of the tenant."""

    def notifications(
        self, *, timeout_s: float, on_ready: Callable[[], None] | None = None
    ) -> Iterator[None]:
        """One item for each commit that logged activity, until the time is over.

        Holds a connection of its own. Every commit after `on_ready` was called is told. Ask
        `activity` for what happened.
        """
        end_s = monotonic() + timeout_s
        with self._database.alone() as raw:
            raw.execute(f"LISTEN {CHANNEL}")
            if on_ready is not None:
                on_ready()
            while (left_s := end_s - monotonic()) > 0:
                for told in raw.notifies(timeout=left_s, stop_after=1):
                    if told.payload == self._database.tenant:
                        yield None


class PostgresStore(
    PostgresMemories,
    PostgresSearch,
    PostgresVectors,
    PostgresProjectMerge,
    KeyValues,
    Sessions,
    ActivityLog,
    PostgresListener,
    SkillUses,
    Scratchpads,
    Injections,
    PostgresReports,
    PostgresUndo,
    SharedRecords,
    GeneratedSkills,
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
