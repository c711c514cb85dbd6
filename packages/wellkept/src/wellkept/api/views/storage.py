"""`wk.storage()`, `wk.prunable()` and `wk.work_units()`: what fills the store, and what may go.

Sizes are those of the files now. What a prune would free is an estimate by text.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.query import CONFIDENCE_BANDS, RAW_TYPES, Filter, Order, Validity
from wellkept.core.records import record, replace
from wellkept.core.types import MemoryType

if TYPE_CHECKING:
    from wellkept.api.views.parts import ProjectParts

PRUNE_BELOW: Final = 0.2
PRUNE_UNUSED_DAYS: Final = 30
MAX_PRUNED: Final = 5_000
_SIDE_FILES: Final = (("code graph", ".graph.db"), ("code search", ".words.db"))


@record(kw_only=True)
class StoredFile:
    """A file and its size."""

    name: str
    path: str
    size_bytes: int


@record(kw_only=True)
class CountedName:
    """How many memories have a type or a scope."""

    name: str
    count: int


@record(kw_only=True)
class StorageView:
    """What fills the store."""

    path: str
    files: tuple[StoredFile, ...]
    total_bytes: int
    memories: int
    closed: int
    archived: int
    by_type: tuple[CountedName, ...]
    by_scope: tuple[CountedName, ...]
    model_id: str | None
    vectors: int
    prunable: int
    prunable_chars: int
    stale: int
    methodology: str


@record(kw_only=True)
class WorkUnit:
    """A unit of work and how many memories belong to it."""

    methodology: str
    hierarchy: tuple[str, ...]
    label: str
    memories: int
    latest_at: datetime

    @property
    def ref(self) -> WorkUnitRef:
        """The unit as memories name it."""
        return WorkUnitRef(self.methodology, self.hierarchy, self.label)


def storage(parts: ProjectParts) -> StorageView:
    """What fills the store of this project's memory."""
    services, store = parts.services, parts.engine.store
    everything = Filter(project=parts.project, validity=Validity.ANY, archived=None)
    stats = store.stats(everything)
    files = _files(services.path)
    model = store.vector_models()
    doomed = prunable(parts)
    return StorageView(
        path=str(services.path),
        files=files,
        total_bytes=sum(one.size_bytes for one in files),
        memories=stats.total,
        closed=stats.closed,
        archived=stats.archived,
        by_type=_named(stats.by_type),
        by_scope=_named(stats.by_scope),
        model_id=services.stored_model_id,
        vectors=sum(one.count for one in model),
        prunable=len(doomed),
        prunable_chars=sum(len(one.content) for one in doomed),
        stale=stats.stale,
        methodology=services.settings.methodology,
    )


def _files(path: Path) -> tuple[StoredFile, ...]:
    named = [("memories", path), *((name, path.with_suffix(s)) for name, s in _SIDE_FILES)]
    named += [("write-ahead log", path.with_name(f"{path.name}-wal"))]
    copies = sorted(path.parent.glob(f"{path.name}.before-v*"))
    named += [("copy before an upgrade", one) for one in copies]
    return tuple(
        StoredFile(name=name, path=str(file), size_bytes=file.stat().st_size)
        for name, file in named
        if file.is_file()
    )


def _named(counts: dict[str, int]) -> tuple[CountedName, ...]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(CountedName(name=name, count=count) for name, count in ordered)


def prunable(
    parts: ProjectParts, *, below: float = PRUNE_BELOW, unused_days: int = PRUNE_UNUSED_DAYS
) -> list[Memory]:
    """Memories of little confidence that nobody used for long; never what a person said or
    vouches for."""
    cutoff = parts.engine.clock() - timedelta(days=unused_days)
    types = tuple(one for one in MemoryType if one not in RAW_TYPES)
    # The store reads no row that is surer than the last band that counts.
    bands = tuple(range(1, min(CONFIDENCE_BANDS, int(below * CONFIDENCE_BANDS) + 1) + 1))
    where = Filter(
        project=parts.project,
        include_user=False,
        types=types,
        bands=bands,
        user_verified=False,
        pinned=False,
    )
    found: list[Memory] = []
    for memory in parts.engine.store.iterate(where):
        if memory.confidence < below and memory.accessed_at < cutoff:
            found.append(memory)
        if len(found) >= MAX_PRUNED:
            break
    return found


def work_units(parts: ProjectParts) -> tuple[WorkUnit, ...]:
    """Units of work with memories that are not archived, latest first."""
    counts: Counter[WorkUnitRef] = Counter()
    latest: dict[WorkUnitRef, datetime] = {}
    where = Filter(project=parts.project, include_user=False)
    named = {one.methodology for one in parts.engine.store.memory_groups(where)}
    methodologies = tuple(sorted(one for one in named if one))
    if not methodologies:
        return ()
    where = replace(where, methodologies=methodologies)
    cursor: str | None = None
    while True:
        page = parts.engine.store.list(where, order=Order.UPDATED, limit=500, cursor=cursor)
        for memory in page.items:
            if memory.work_unit is not None:
                counts[memory.work_unit] += 1
                known = latest.get(memory.work_unit, memory.updated_at)
                latest[memory.work_unit] = max(known, memory.updated_at)
        cursor = page.next_cursor
        if cursor is None:
            break
    return tuple(
        WorkUnit(
            methodology=one.methodology,
            hierarchy=one.hierarchy,
            label=one.label,
            memories=counts[one],
            latest_at=latest[one],
        )
        for one in sorted(counts, key=lambda ref: latest[ref], reverse=True)
    )
