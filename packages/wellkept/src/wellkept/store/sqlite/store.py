"""`SqliteStore`: the engine's parts combined, opened and closed."""

from __future__ import annotations

from pathlib import Path

from wellkept.core.clock import Clock
from wellkept.store.sqlite.connection.database import Database, Durability
from wellkept.store.sqlite.maintenance.maintenance import SqliteMaintenance
from wellkept.store.sqlite.opening import open_file
from wellkept.store.sqlite.search.candidates import CandidateReader
from wellkept.store.sqlite.search.fulltext import ProjectSizes
from wellkept.store.sqlite.search.index import SqliteSearch
from wellkept.store.sqlite.search.term_cache import TermCache
from wellkept.store.sqlite.search.vectors import VectorSearch
from wellkept.store.sqlite.tables.access_counts import AccessBuffer
from wellkept.store.sqlite.tables.activity import SqliteActivityLog
from wellkept.store.sqlite.tables.injections import SqliteInjections
from wellkept.store.sqlite.tables.key_values import SqliteKeyValues
from wellkept.store.sqlite.tables.memories import SqliteMemories
from wellkept.store.sqlite.tables.projects import SqliteProjects
from wellkept.store.sqlite.tables.reports import FacetCounts, KeptCounts, SqliteReports
from wellkept.store.sqlite.tables.scratchpads import SqliteScratchpads
from wellkept.store.sqlite.tables.sessions import SqliteSessions
from wellkept.store.sqlite.tables.shared_records import SqliteSharedRecords
from wellkept.store.sqlite.tables.skills import SqliteGeneratedSkills, SqliteSkillUses
from wellkept.store.sqlite.tables.undo import SqliteUndo
from wellkept.store.sqlite.tables.vectors import SqliteVectors


class SqliteStore(
    SqliteMemories,
    SqliteSearch,
    SqliteVectors,
    SqliteProjects,
    SqliteKeyValues,
    SqliteSessions,
    SqliteActivityLog,
    SqliteSkillUses,
    SqliteScratchpads,
    SqliteInjections,
    SqliteReports,
    SqliteUndo,
    SqliteSharedRecords,
    SqliteGeneratedSkills,
    SqliteMaintenance,
):
    """A `Store` in one SQLite file."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock,
        candidates: CandidateReader | None = None,
        facet_counts: FacetCounts | None = None,
    ) -> None:
        super().__init__(database, clock=clock)
        self._accesses = AccessBuffer()
        self._candidates = candidates or CandidateReader()
        self._term_cache = TermCache()
        self._project_sizes = ProjectSizes()
        self._vector_search = VectorSearch()
        self._kept_counts = KeptCounts()
        self._facet_counts = facet_counts or FacetCounts()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        busy_timeout_ms: int,
        durability: Durability,
        read_only: bool,
        clock: Clock,
        candidates: CandidateReader | None = None,
        facet_counts: FacetCounts | None = None,
    ) -> SqliteStore:
        """Open a file for writing where possible, otherwise for reading."""
        database = open_file(
            path,
            busy_timeout_ms=busy_timeout_ms,
            durability=durability,
            read_only=read_only,
            clock=clock,
        )
        return cls(database, clock=clock, candidates=candidates, facet_counts=facet_counts)

    def close(self) -> None:
        """Flush and close every connection."""
        if not self._database.closed:
            if not self._database.was_replaced:
                self.flush()
            self._database.close()
            self._candidates.clear()
            self._term_cache.clear()
            self._vector_search.clear()
            self._facet_counts.clear()
