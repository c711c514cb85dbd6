"""Takes in what the team's files say. A file is compared with the last version that both sides had:

- only the file changed: the memory becomes what the file says, the former text stays as evidence;
- only the memory changed: it waits to be written (`write_out.py`);
- both changed: the file holds, and the local statement stays beside it, both up for review;
- a file that is gone: the memory is closed, with its successor when a file names one;
- two files replace the same memory: both hold and are up for review.

Invariant: taking in the same files twice changes nothing. Files that cannot be read are named and
never count as gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from wellkept.core.changes import Change, Close, IndexEntry, Insert, Replace
from wellkept.core.codec import Json
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.memory import Evidence, Memory, Relation
from wellkept.core.records import field, record, replace
from wellkept.core.types import EvidenceKind, RelationType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.sharing.shared_file import (
    SHARED_TYPES,
    SharedMemory,
    path_end,
    read_shared,
    shared_form,
)

NAMESPACE = "shared"
MAX_FILES = 5_000


@record
class RefusedFile:
    """A file that was not taken in."""

    path: str
    reason: str


@record(kw_only=True)
class TakenIn:
    """What taking in did, by memory id."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    unchanged: int = 0
    refused: tuple[RefusedFile, ...] = ()
    applied: bool = True


@record(kw_only=True)
class SyncedMemory:
    """The last version of a shared memory that both sides had."""

    mark: str
    """Empty when it is no longer shared from here, while the branch may still have its file."""
    merged: bool
    """Whether the file was seen on the branch that is taken in; only then can it be gone."""


LEFT = SyncedMemory(mark="", merged=False)
"""A memory whose file was removed from here: it stays known, whatever the branch does."""


def synced_memories(engine: Engine, project: str) -> dict[str, SyncedMemory]:
    """The shared memories of a project, by id."""
    found: dict[str, SyncedMemory] = {}
    for key, value in engine.store.values(NAMESPACE).items():
        home, _, full_id = key.rpartition(" ")
        if home == project and isinstance(value, dict):
            found[full_id] = SyncedMemory(
                mark=str(value.get("mark")), merged=value.get("merged") is True
            )
    return found


def put_synced(engine: Engine, project: str, full_id: str, synced: SyncedMemory | None) -> None:
    """Remember the version that both sides have; None forgets it."""
    value: Json = None if synced is None else {"mark": synced.mark, "merged": synced.merged}
    engine.store.put_value(NAMESPACE, f"{project} {full_id}", value)


def take_in(
    engine: Engine, files: Mapping[str, str | None], *, project: str, dry_run: bool = False
) -> TakenIn:
    """Take in the files of a shared folder, by path; None is a file that cannot be read."""
    run = _TakeIn(
        engine,
        project=project,
        dry_run=dry_run,
        synced=synced_memories(engine, project),
        now=engine.clock(),
    )
    for path, text in sorted(files.items())[:MAX_FILES]:
        run.read(path, text)
    if len(files) > MAX_FILES:
        run.refuse("", f"There are more than {MAX_FILES:,} files.")
    run.find_rivals()
    for shared in run.found.values():
        run.take(shared)
    run.flag_rivals()
    run.close_gone(files)
    return replace(
        run.report,
        new=tuple(run.new),
        changed=tuple(run.changed),
        closed=tuple(run.closed),
        conflicts=tuple(dict.fromkeys(run.conflicts)),
        applied=not dry_run,
    )


@record(frozen=False)
class _TakeIn:
    """State of one run."""

    engine: Engine
    project: str
    dry_run: bool
    synced: dict[str, SyncedMemory]
    now: datetime
    report: TakenIn = field(default_factory=TakenIn)
    found: dict[str, SharedMemory] = field(default_factory=dict[str, SharedMemory])
    rivals: list[list[str]] = field(default_factory=list[list[str]])
    new: list[str] = field(default_factory=list[str])
    changed: list[str] = field(default_factory=list[str])
    closed: list[str] = field(default_factory=list[str])
    conflicts: list[str] = field(default_factory=list[str])

    def read(self, path: str, text: str | None) -> None:
        """Read one file."""
        try:
            if text is None:
                raise UsageError("The file is not readable text, or too large.")
            shared = read_shared(text)
            if shared.id in self.found:
                raise UsageError(f"Another file has the id {shared.id} too.")
        except UsageError as error:
            self.refuse(path, str(error))
        else:
            self.found[shared.id] = shared

    def refuse(self, path: str, reason: str) -> None:
        """Name a file that is not taken in."""
        self.report = replace(
            self.report, refused=(*self.report.refused, RefusedFile(path, reason))
        )

    def find_rivals(self) -> None:
        """Find files that replace the same memory: two people changed the same belief."""
        by_old: dict[str, list[str]] = {}
        for shared in self.found.values():
            for old in shared.replaces:
                by_old.setdefault(old, []).append(shared.id)
        self.rivals = [ids for ids in by_old.values() if len(ids) > 1]

    def flag_rivals(self) -> None:
        """Put rivals up for review when one of them is new; a person may have decided before."""
        for ids in self.rivals:
            if not set(ids).isdisjoint(self.new):
                for memory in self.engine.store.get([one for one in ids if one not in self.new]):
                    if memory.is_open and not memory.needs_review:
                        flagged = replace(memory, needs_review=True)
                        self._apply([Replace(flagged, None, memory.updated_at)])
                self.conflicts += ids

    def take(self, shared: SharedMemory) -> None:
        """Compare one file with the store."""
        known = next(iter(self.engine.store.get([shared.id])), None)
        if known is None:
            self._insert(shared)
        elif known.project != self.project or known.scope is Scope.USER:
            self.refuse(shared.path, f"The memory {shared.id} belongs to another project.")
        elif not known.is_open:
            self._skip()  # closed here: the next `share update` removes its file
        else:
            self._compare(shared, known)

    def close_gone(self, files: Mapping[str, str | None]) -> None:
        """Close memories whose file was there and is gone; a refused file is not gone."""
        heirs = {old: one.id for one in self.found.values() for old in one.replaces}
        for full_id, synced in self.synced.items():
            is_there = any(path.endswith(path_end(full_id)) for path in files)
            was_there = synced.merged or (synced != LEFT and full_id in heirs)
            if not was_there or full_id in self.found or is_there:
                continue
            memory = next(iter(self.engine.store.get([full_id])), None)
            if memory is not None and memory.is_open:
                at = max(self.now, memory.valid_from)
                self._apply([Close(full_id, at, heirs.get(full_id))])
                self.closed.append(full_id)
            self._put(full_id, None)

    # -- One file ---------------------------------------------------------------------------------

    def _insert(self, shared: SharedMemory) -> None:
        is_rival = any(shared.id in ids for ids in self.rivals)
        memory = Memory(
            id=shared.id,
            project=self.project,
            type=shared.type,
            content=shared.content,
            created_at=self.now,
            updated_at=self.now,
            valid_from=min(shared.since, self.now),
            accessed_at=self.now,
            tags=shared.tags,
            files=shared.files,
            modules=shared.modules,
            importance=shared.importance,
            confidence=shared.confidence,
            source=Source.IMPORTED,
            author=shared.author,
            relations=tuple(
                Relation(RelationType.SUPERSEDES, target_id=old) for old in shared.replaces
            ),
            evidence=(self._evidence(shared),),
            needs_review=is_rival,
        )
        if self._apply([Insert(memory, self._entry(memory))]):
            self.new.append(shared.id)
            self._put(shared.id, SyncedMemory(mark=shared.mark, merged=True))

    def _compare(self, shared: SharedMemory, known: Memory) -> None:
        here = local_mark(known)
        base = self.synced.get(shared.id)
        if base == LEFT:
            self._skip()
            return
        if shared.mark == here:
            self._skip()
        elif base is not None and shared.mark == base.mark:
            self._skip()  # changed here only: the next `share update` writes it
        else:
            self._replace(shared, known, is_conflict=base is None or here != base.mark)
            return
        mark = shared.mark if base is None else base.mark
        synced = SyncedMemory(mark=mark, merged=True)
        if base != synced:
            self._put(shared.id, synced)

    def _replace(self, shared: SharedMemory, known: Memory, *, is_conflict: bool) -> None:
        former = Evidence(EvidenceKind.MERGED, known.id, known.content, known.updated_at)
        memory = replace(
            known,
            type=shared.type,
            content=shared.content,
            tags=shared.tags,
            files=shared.files,
            modules=shared.modules,
            author=shared.author,
            source=Source.IMPORTED,
            payload=known.payload if known.type is shared.type else None,
            evidence=(*known.evidence, former, self._evidence(shared)),
            user_verified=False,
            needs_review=known.needs_review or is_conflict,
            updated_at=max(self.now, known.updated_at),
        )
        changes: list[Change] = [Replace(memory, self._entry(memory), known.updated_at)]
        if is_conflict:
            changes.append(self._kept_beside(known))
        if self._apply(changes):
            (self.conflicts if is_conflict else self.changed).append(shared.id)
            self._put(shared.id, SyncedMemory(mark=shared.mark, merged=True))

    def _kept_beside(self, known: Memory) -> Insert:
        """The local statement under a new id, so that neither is lost."""
        beside = replace(
            known,
            id=self.engine.new_id(),
            key=None,
            created_at=self.now,
            updated_at=self.now,
            seq=None,
            relations=(Relation(RelationType.CONFLICTS_WITH, target_id=known.id),),
            needs_review=True,
            access_count=0,
        )
        return Insert(beside, self._entry(beside))

    def _evidence(self, shared: SharedMemory) -> Evidence:
        by = f" by {shared.author}" if shared.author else ""
        return Evidence(EvidenceKind.DOCUMENT, shared.path, f"Shared{by}", self.now)

    # -- Writing ----------------------------------------------------------------------------------

    def _entry(self, memory: Memory) -> IndexEntry:
        return self.engine.index_entries([memory])[0]

    def _apply(self, changes: list[Change]) -> bool:
        """Write; False when another process was quicker, and the next run sees it."""
        if self.dry_run:
            return True
        try:
            self.engine.store.apply(changes)
        except ConflictError:
            return False
        return True

    def _put(self, full_id: str, synced: SyncedMemory | None) -> None:
        if not self.dry_run:
            put_synced(self.engine, self.project, full_id, synced)

    def _skip(self) -> None:
        self.report = replace(self.report, unchanged=self.report.unchanged + 1)


def local_mark(memory: Memory) -> str:
    """The mark of a memory as it is here; of one that can no longer be shared, none."""
    if memory.type not in SHARED_TYPES:
        return ""
    try:
        return shared_form(memory).mark
    except UsageError:
        return ""
