"""`Store`: the whole storage engine, composed of the parts in the other files of this package.

A store is canonical rows plus derived indexes. `apply` is all or nothing. Searches return ids with
scores, already filtered. Every engine passes `tests.support.conformance.StoreConformance`.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from wellkept.core.ports.injections import InjectionLog
from wellkept.core.ports.memories import MemoryStore, ProjectStore, SearchIndex, VectorStore
from wellkept.core.ports.reports import ReportStore
from wellkept.core.ports.sessions import ScratchpadStore, SessionStore
from wellkept.core.ports.skills import GeneratedSkillStore, SkillUseStore
from wellkept.core.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from wellkept.core.codec import Json
    from wellkept.core.query import FileLink, Finding
    from wellkept.core.session.activity import Activity, ActivityRange
    from wellkept.core.team.records import SharedRecord
    from wellkept.core.types import Progress


class KeyValueStore(Protocol):
    """JSON values: project state, calibrations, job records."""

    def get_value(self, namespace: str, key: str) -> Json:
        """The value under a key, or None."""
        ...

    def put_value(self, namespace: str, key: str, value: Json) -> None:
        """Store a value durably; None deletes it."""
        ...

    def try_increment(self, namespace: str, key: str, by: int, *, limit: int) -> bool:
        """Add to a number atomically unless the result exceeds the limit; returns whether it was
        added."""
        ...

    def values(self, namespace: str) -> dict[str, Json]:
        """All values of a namespace, by key."""
        ...


class FileLinkStore(Protocol):
    """Weights of unordered pairs of files that are used or changed together."""

    def put_file_links(self, project: str, links: Sequence[FileLink]) -> None:
        """Set the weights of pairs."""
        ...

    def linked_files(
        self, project: str, files: Sequence[str], *, min_weight: float, limit: int
    ) -> list[FileLink]:
        """Pairs with at least one of the files, heaviest first; `file_a` is one of `files`."""
        ...


class SharedRecordStore(Protocol):
    """Shared records of the projects of a store."""

    def shared_records(self, project: str, ids: Sequence[str]) -> list[SharedRecord]:
        """Records in the order of `ids`; unknown ids are left out."""
        ...

    def shared_statements(self, project: str, statements: Sequence[str]) -> list[SharedRecord]:
        """Proposed and team records with one of these statements, by number."""
        ...

    def shared_changes(
        self, project: str, *, after: int, limit: int, seen_by: str | None, waiting: bool = False
    ) -> list[SharedRecord]:
        """The first records after a number, in order. With `seen_by`, without what others
        proposed; with `waiting`, only those that wait for a decision."""
        ...

    def shared_head(self, project: str) -> int:
        """The number of the latest change; 0 when nothing is shared."""
        ...

    def put_shared_records(self, project: str, records: Sequence[SharedRecord]) -> int:
        """Store records in one transaction, each under the next number; returns the last one.

        `seq` is the number that the caller saw, 0 for a new record. ConflictError when one was
        changed since, or when a new one says what an open record says that is not among these;
        then nothing is stored.
        """
        ...


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


KEPT_DAYS: Final = 7
"""How long a step can be taken back; after that its copies of memories are deleted."""

MAINTENANCE: Final = "maintenance"
"""The action of a step that archived memories by rule. A rule archives a memory once: what a person
brought back stays."""


@record(kw_only=True)
class UndoStep:
    """An action on memories that can be taken back."""

    id: str
    project: str
    action: str
    at: datetime
    count: int
    undone_at: datetime | None = None


class UndoLog(Protocol):
    """What an action changed, to bring it back exactly."""

    def begin_undo(self, step: UndoStep, ids: Sequence[str]) -> None:
        """Keep these memories, and those that they replaced, with their vectors, explanations and
        the lines given of them."""
        ...

    def finish_undo(self, step_id: str, *, made: Sequence[str]) -> None:
        """Note what the action made, and how it left the memories."""
        ...

    def archive(self, step: UndoStep, ids: Sequence[str]) -> list[str]:
        """Archive memories at the moment of the step, and log it as one activity.

        Skips memories that are gone, pinned or archived already; returns the others. Nothing is
        written when none is left.
        """
        ...

    def archived_by_rule(self, *, project: str) -> set[str]:
        """What steps of maintenance archived, undone or not."""
        ...

    def undo_steps(self, *, project: str, limit: int) -> list[UndoStep]:
        """Steps of a project, latest first."""
        ...

    def undo(self, step_id: str, *, project: str) -> UndoStep:
        """Bring everything back as it was before the step, in one transaction. Of what a step of
        maintenance archived, what was restored since stays as it is.

        NotFoundError for an unknown step; ConflictError when it was undone already, or when a
        memory was changed since.
        """
        ...

    def prune_undo(self, *, before: datetime) -> int:
        """Delete steps before a moment, except those of maintenance; returns how many."""
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
