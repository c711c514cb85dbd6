"""Brings one shared statement into the local memory: the same rule for git and for a server.

The incoming version and the local one are compared with the last version that both sides had:

- only theirs changed: the memory becomes what theirs says, the former text stays as evidence;
- only ours changed: nothing; it waits to be written or pushed;
- both changed, but only in labels: the labels are united;
- both changed: theirs holds, and ours stays beside it, both up for review.

Knows neither files nor servers.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import Enum

from wellkept.core.changes import Change, IndexEntry, Insert, Replace
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.memory import Evidence, Memory, Relation
from wellkept.core.records import record, replace
from wellkept.core.types import EvidenceKind, RelationType, Source
from wellkept.memory.engine import Engine
from wellkept_team.sharing.shared_file import SHARED_TYPES, SharedMemory, shared_form


class Side(Enum):
    """Which side changed since both had the same."""

    NONE = "none"
    OURS = "ours"
    THEIRS = "theirs"
    BOTH = "both"


def changed_side(*, ours: str, theirs: str, base: str | None) -> Side:
    """Compare three versions by their marks."""
    if ours == theirs:
        return Side.NONE
    if base is not None and theirs == base:
        return Side.OURS
    return Side.THEIRS if base is not None and ours == base else Side.BOTH


def local_mark(memory: Memory) -> str:
    """The mark of a memory as it is here; of one that can no longer be shared, none."""
    if memory.type not in SHARED_TYPES:
        return ""
    try:
        return shared_form(memory).mark
    except UsageError:
        return ""


@record(kw_only=True)
class Merge:
    """Writes shared statements into the memory of a project."""

    engine: Engine
    project: str
    now: datetime
    origin: Callable[[SharedMemory], Evidence]
    """Where a statement came from, as evidence."""
    dry_run: bool = False

    def new_memory(self, shared: SharedMemory, *, needs_review: bool = False) -> Memory:
        """A memory that is not known here yet. A clock that runs behind must not hide it."""
        return Memory(
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
            scope=shared.scope,
            importance=shared.importance,
            confidence=shared.confidence,
            source=Source.IMPORTED,
            author=shared.author,
            relations=tuple(
                Relation(RelationType.SUPERSEDES, target_id=old) for old in shared.replaces
            ),
            evidence=(self.origin(shared),),
            needs_review=needs_review,
        )

    def theirs(self, shared: SharedMemory, known: Memory) -> Memory:
        """The known memory with what theirs says; the former text stays as evidence."""
        former = Evidence(EvidenceKind.MERGED, known.id, known.content, known.updated_at)
        return replace(
            known,
            type=shared.type,
            content=shared.content,
            tags=shared.tags,
            files=shared.files,
            modules=shared.modules,
            author=shared.author,
            source=Source.IMPORTED,
            payload=known.payload if known.type is shared.type else None,
            evidence=(*known.evidence, former, self.origin(shared)),
            user_verified=False,
            updated_at=max(self.now, known.updated_at),
        )

    def united(self, shared: SharedMemory, known: Memory) -> Memory:
        """The known memory with the labels of both sides; its statement is the same."""
        return replace(
            known,
            tags=_union(shared.tags, known.tags),
            files=_union(shared.files, known.files),
            modules=_union(shared.modules, known.modules),
            updated_at=max(self.now, known.updated_at),
        )

    def kept_beside(self, known: Memory) -> Insert:
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
        return self.insert(beside)

    def insert(self, memory: Memory) -> Insert:
        """The change that stores a new memory."""
        return Insert(memory, self.entry(memory))

    def entry(self, memory: Memory) -> IndexEntry:
        """What the indexes hold for a memory."""
        return self.engine.index_entries([memory])[0]

    def apply(self, changes: list[Change]) -> bool:
        """Write; False when another process was quicker, and the next run sees it."""
        if self.dry_run or not changes:
            return True
        try:
            self.engine.store.apply(changes)
        except ConflictError:
            return False
        return True

    def update(self, new: Memory, old: Memory) -> Replace:
        """The change that overwrites a memory unless somebody else just did."""
        return Replace(new, self.entry(new), old.updated_at)


def says_the_same(shared: SharedMemory, memory: Memory) -> bool:
    """Whether only labels differ."""
    return (shared.type, shared.content) == (memory.type, memory.content.strip())


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({*one, *other}))
