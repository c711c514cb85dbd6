"""`SqliteStore`: the engine's parts combined, opened and closed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wellkept.core.clock import Clock
from wellkept.store.queries import AccessBuffer
from wellkept.store.sqlite.database import Component, Database
from wellkept.store.sqlite.memories import SqliteMemories
from wellkept.store.sqlite.opening import open_file
from wellkept.store.sqlite.search.fulltext import SqliteSearch
from wellkept.store.tables.key_values import KeyValues

LATER: Final = {
    "sqlite.maintenance:SqliteMaintenance": (
        "check repair continue_upgrade backup compact_storage size_bytes describe"
    ),
    "sqlite.search.vectors:SqliteVectors": (
        "vector_models memories_without_vector put_index_entries vectors drop_vectors"
    ),
    "tables.activity:ActivityLog": "activity activity_range",
    "tables.injections:Injections": (
        "injections line_uses line_outcomes injection_totals silent_lines prune_injections"
    ),
    "sqlite.reports:SqliteReports": (
        "replaced_by memory_groups label_counts memories_by_day lines_by_day count_by_files"
    ),
    "tables.merging:ProjectMerge": "merge_projects",
    "tables.scratchpads:Scratchpads": (
        "scratchpad scratchpads signals count_signals explanations latest_explanations"
        " drop_scratchpads"
    ),
    "tables.sessions:Sessions": (
        "get_session sessions resolve_session processed_events prune_processed_events"
        " read_position delete_read_position"
    ),
    "tables.shared_records:SharedRecords": (
        "shared_records shared_statements shared_changes shared_head put_shared_records"
    ),
    "tables.skills:GeneratedSkills": (
        "generated_skills put_generated_skill delete_generated_skill skill_versions put_skill_run"
        " skill_runs"
    ),
    "tables.skills:SkillUses": "record_skill_use skill_uses",
    "sqlite.undo:SqliteUndo": (
        "begin_undo finish_undo archive archived_by_rule undo_steps undo prune_undo"
    ),
}
"""Parts that a question does not need, with their methods; imported at the first call of one."""

if TYPE_CHECKING:
    from wellkept.store.sqlite.maintenance import SqliteMaintenance
    from wellkept.store.sqlite.reports import FacetCounts, SqliteReports
    from wellkept.store.sqlite.search.vectors import SqliteVectors
    from wellkept.store.sqlite.undo import SqliteUndo
    from wellkept.store.tables.activity import ActivityLog
    from wellkept.store.tables.injections import Injections
    from wellkept.store.tables.merging import ProjectMerge
    from wellkept.store.tables.scratchpads import Scratchpads
    from wellkept.store.tables.sessions import Sessions
    from wellkept.store.tables.shared_records import SharedRecords
    from wellkept.store.tables.skills import GeneratedSkills, SkillUses

    class _LaterParts(
        SqliteMaintenance,
        SqliteReports,
        SqliteVectors,
        ActivityLog,
        Injections,
        ProjectMerge,
        Scratchpads,
        Sessions,
        SharedRecords,
        GeneratedSkills,
        SkillUses,
        SqliteUndo,
    ): ...

else:

    class _LaterParts(Component):
        def __getattr__(self, name):
            known = SqliteStore.__mro__
            for part, methods in LATER.items():
                if name in methods.split():
                    module, _, kind = part.partition(":")
                    found = getattr(import_module(f"wellkept.store.{module}"), kind)
                    for base in reversed(found.__mro__):
                        for own, value in vars(base).items() if base not in known else ():
                            if not own.startswith("__"):
                                setattr(SqliteStore, own, value)
                    return getattr(self, name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class SqliteStore(SqliteMemories, SqliteSearch, KeyValues, _LaterParts):
    """A `Store` in one SQLite file."""

    def __init__(
        self, database: Database, *, clock: Clock, facet_counts: FacetCounts | None = None
    ) -> None:
        super().__init__(database, clock=clock)
        self._accesses = AccessBuffer()
        self._given_facet_counts = facet_counts

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        busy_timeout_ms: int,
        read_only: bool,
        clock: Clock,
        facet_counts: FacetCounts | None = None,
    ) -> SqliteStore:
        """Open a file for writing where possible, otherwise for reading."""
        database = open_file(
            path, busy_timeout_ms=busy_timeout_ms, read_only=read_only, clock=clock
        )
        return cls(database, clock=clock, facet_counts=facet_counts)

    def close(self) -> None:
        """Flush and close every connection."""
        if not self._database.closed:
            if not self._database.was_replaced:
                self.flush()
            self._database.close()
            self.let_go()
