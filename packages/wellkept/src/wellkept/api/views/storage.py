"""`wk.storage()` and `wk.prunable()`: what fills the store, and what may go.

Sizes are those of the files now. What a prune would free is an estimate by text.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wellkept.core.memory import Memory
from wellkept.core.query import CONFIDENCE_BANDS, RAW_TYPES, Filter, Validity
from wellkept.core.records import record
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
