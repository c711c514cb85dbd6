"""`Store`: the whole storage engine, composed of the parts in the other files of this package.

A store is canonical rows plus derived indexes. `apply` is all or nothing. Searches return ids with
scores, already filtered. Every engine passes `tests.support.conformance.StoreConformance`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wellkept.core.ports.injections import InjectionLog
from wellkept.core.ports.key_values import FileLinkStore, KeyValueStore
from wellkept.core.ports.memories import MemoryStore, ProjectStore, SearchIndex, VectorStore
from wellkept.core.ports.reports import ReportStore
from wellkept.core.ports.sessions import ScratchpadStore, SessionStore
from wellkept.core.ports.shared_records import SharedRecordStore
from wellkept.core.ports.skills import GeneratedSkillStore, SkillUseStore
from wellkept.core.ports.undo import UndoLog

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.core.query import Finding
    from wellkept.core.session.activity import Activity, ActivityRange
    from wellkept.core.types import Progress


class StoreMaintenance(Protocol):
    """Maintenance of a whole store."""

    def check(self, *, deep: bool = False) -> list[Finding]:
        """Damage, and drift between rows and indexes. Changes nothing."""
        ...

    def repair(self, *, progress: Progress | None = None) -> list[Finding]:
        """Rebuild the derived indexes from the rows; returns what was repaired."""
        ...

    def continue_upgrade(self) -> bool:
        """Do one short step of what a migration left for later; False when nothing is left."""
        ...

    def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        """Write a consistent copy while other processes keep working."""
        ...

    def compact_storage(self) -> None:
        """Release unused space and refresh the engine's statistics."""
        ...

    def size_bytes(self) -> int:
        """Space used on disk."""
        ...

    def describe(self) -> dict[str, str]:
        """Engine, version, schema version and location, for people."""
        ...

    def close(self) -> None:
        """Flush and close. A closed store raises StoreError when used."""
        ...


class ActivityLog(Protocol):
    """Log entries. `apply` writes them in the same transaction as its changes."""

    def activity(self, *, after: int, project: str | None, limit: int) -> list[Activity]:
        """The first entries after a number, in order; with a project, those visible from it."""
        ...

    def activity_range(self) -> ActivityRange:
        """First and last stored number: at least the latest `ACTIVITY_RETENTION` entries."""
        ...


class Store(
    MemoryStore,
    SearchIndex,
    VectorStore,
    ProjectStore,
    KeyValueStore,
    FileLinkStore,
    SessionStore,
    ActivityLog,
    SkillUseStore,
    ScratchpadStore,
    InjectionLog,
    ReportStore,
    UndoLog,
    SharedRecordStore,
    GeneratedSkillStore,
    StoreMaintenance,
    Protocol,
):
    """A whole storage engine."""
