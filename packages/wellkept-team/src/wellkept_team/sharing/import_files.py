"""Takes in what the team's files say. A file is compared with the last version that both sides had
(`merge.py`). Beyond that:

- a file that is gone: the memory is closed, with its successor when a file names one;
- two files replace the same memory: both hold and are up for review.

Invariant: taking in the same files twice changes nothing. Files that cannot be read are named and
never count as gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from wellkept.core.changes import Change, Close, Replace
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.memory import Evidence, Memory
from wellkept.core.records import field, record, replace
from wellkept.core.types import EvidenceKind, Scope
from wellkept.memory.engine import Engine
from wellkept_team.sharing.merge import Merge, Side, changed_side, local_mark, says_the_same
from wellkept_team.sharing.shared_file import SharedMemory, path_end, read_shared, stated_id

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
    there: set[str | None] = field(default_factory=set[str | None])
    """Ids of files that were refused."""
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
            shared = read_shared(text, project=self.project, path=path)
            if shared.id in self.found:
                raise UsageError(f"Another file has the id {shared.id} too.")
        except UsageError as error:
            self.refuse(path, str(error))
            self.there |= {stated_id(text or "", project=self.project, path=path)}
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
                        self.merge.apply([Replace(flagged, None, memory.updated_at)])
                self.conflicts += ids

    def take(self, shared: SharedMemory) -> None:
        """Compare one file with the store."""
        known = next(iter(self.engine.store.get([shared.id])), None)
        if known is None:
            is_rival = any(shared.id in ids for ids in self.rivals)
            memory = self.merge.new_memory(shared, needs_review=is_rival)
            if self.merge.apply([self.merge.insert(memory)]):
                self.new.append(shared.id)
                self._put(shared.id, SyncedMemory(mark=shared.mark, merged=True))
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
            is_there = full_id in self.there or any(
                path.endswith(path_end(full_id)) for path in files
            )
            was_there = synced.merged or (synced != LEFT and full_id in heirs)
            if not was_there or full_id in self.found or is_there:
                continue
            memory = next(iter(self.engine.store.get([full_id])), None)
            if memory is not None and memory.is_open:
                at = max(self.now, memory.valid_from)
                self.merge.apply([Close(full_id, at, heirs.get(full_id))])
                self.closed.append(full_id)
            self._put(full_id, None)

    # -- One file ---------------------------------------------------------------------------------

    def _compare(self, shared: SharedMemory, known: Memory) -> None:
        base = self.synced.get(shared.id)
        if base == LEFT:
            self._skip()
            return
        side = changed_side(
            ours=local_mark(known), theirs=shared.mark, base=None if base is None else base.mark
        )
        if side in (Side.THEIRS, Side.BOTH):
            self._replace(shared, known, both=side is Side.BOTH)
            return
        self._skip()  # of what changed here only, the next `share update` writes it
        mark = shared.mark if base is None else base.mark
        synced = SyncedMemory(mark=mark, merged=True)
        if base != synced:
            self._put(shared.id, synced)

    def _replace(self, shared: SharedMemory, known: Memory, *, both: bool) -> None:
        merge = self.merge
        if both and says_the_same(shared, known):
            changes: list[Change] = [merge.update(merge.united(shared, known), known)]
            into = self.changed
        else:
            memory = merge.theirs(shared, known)
            memory = replace(memory, needs_review=memory.needs_review or both)
            changes = [merge.update(memory, known), *([merge.kept_beside(known)] if both else ())]
            into = self.conflicts if both else self.changed
        if merge.apply(changes):
            into.append(shared.id)
            self._put(shared.id, SyncedMemory(mark=shared.mark, merged=True))

    # -- Writing ----------------------------------------------------------------------------------

    @property
    def merge(self) -> Merge:
        """How statements are written here."""
        return Merge(
            engine=self.engine,
            project=self.project,
            now=self.now,
            origin=self._evidence,
            dry_run=self.dry_run,
        )

    def _evidence(self, shared: SharedMemory) -> Evidence:
        by = f" by {shared.author}" if shared.author else ""
        return Evidence(EvidenceKind.DOCUMENT, shared.path, f"Shared{by}", self.now)

    def _put(self, full_id: str, synced: SyncedMemory | None) -> None:
        if not self.dry_run:
            put_synced(self.engine, self.project, full_id, synced)

    def _skip(self) -> None:
        self.report = replace(self.report, unchanged=self.report.unchanged + 1)
