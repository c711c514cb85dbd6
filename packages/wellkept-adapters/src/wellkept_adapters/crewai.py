"""CrewAI: `WellkeptStorage`, a storage backend of a crew's memory.

    storage = WellkeptStorage(wk)
    crew = Crew(..., memory=Memory(storage=storage, embedder=storage.embedder))

CrewAI searches by vector only, so both sides must use one model: `storage.embedder` is the one this
project's memories are embedded with, which needs no key and no network. Scopes are places,
categories and metadata stay in the record.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Final

from wellkept.api.async_wellkept import AsyncWellkept
from wellkept.api.wellkept import Wellkept
from wellkept.core.errors import UsageError
from wellkept.core.ports.models import Embedder
from wellkept_adapters.items import Item, Items, Place, as_async, framework

with framework("CrewAI", extra="crewai"):
    # CrewAI asks for other versions of packages than the rest, so no type checker sees it here.
    _types: Any = import_module("crewai.memory.types")

_FILTERED_AT_LEAST: Final = 200


class WellkeptStorage:
    """What a crew remembers, in one project. Has the methods of CrewAI's `StorageBackend`."""

    def __init__(self, wellkept: Wellkept | AsyncWellkept) -> None:
        self._async = as_async(wellkept)
        self._wellkept = self._async.sync
        self._items = Items(self._wellkept, "crewai", unique_names=True)

    def embedder(self, input: Sequence[str]) -> list[list[float]]:
        """Vectors of texts by this project's embedding model, for `Memory(embedder=…)`."""
        made = self._model().embed_documents(list(input))
        return [[x for (x,) in struct.iter_unpack("<f", vector)] for vector in made]

    # -- Writing ----------------------------------------------------------------------------------

    def save(self, records: Sequence[Any]) -> None:
        """Keep records."""
        for record in records:
            self.update(record)

    def update(self, record: Any) -> None:
        """Keep a record in the place of the one with its id."""
        old = self._items.get((), record.id)
        place = _place(record.scope)
        if old is not None and old.place != place:
            self._items.remove([old])
        value = record.model_dump(mode="json", exclude={"embedding"})
        self._items.put(place, record.id, value, text=record.content)

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records that fit every condition for good; returns how many."""
        fitting = [
            item
            for item in self._items.below(_place(scope_prefix))
            if _fits(item, categories, metadata_filter)
            and (record_ids is None or item.name in record_ids)
            and (older_than is None or _made_at(item) < _aware(older_than))
        ]
        return self._items.remove(fitting)

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete every record of a scope for good."""
        self.delete(scope_prefix=scope_prefix)

    # -- Reading ----------------------------------------------------------------------------------

    def search(  # noqa: PLR0917 - CrewAI's signature
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[Any, float]]:
        """The records nearest to a vector, nearest first, with their cosine."""
        if not query_embedding:
            return []
        model = self._model()
        if len(query_embedding) != model.dimension:
            raise UsageError(
                f"The question has {len(query_embedding)} numbers, this project's vectors have"
                f" {model.dimension}.",
                hint="Pass embedder=storage.embedder to CrewAI's Memory.",
            )
        wanted = max(limit, _FILTERED_AT_LEAST) if categories or metadata_filter else limit
        found = self._nearest(query_embedding, _place(scope_prefix), limit=wanted)
        fitting = [
            (_record(item), score)
            for item, score in found
            if score >= min_score and _fits(item, categories, metadata_filter)
        ]
        return fitting[:limit]

    def get_record(self, record_id: str) -> Any | None:
        """One record by its id."""
        item = self._items.get((), record_id)
        return None if item is None else _record(item)

    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[Any]:
        """The records of a scope, newest first."""
        items = sorted(self._items.below(_place(scope_prefix)), key=_made_at, reverse=True)
        return [_record(item) for item in items[offset : offset + limit]]

    def get_scope_info(self, scope: str) -> Any:
        """What a scope holds: counts, categories, times, scopes directly below."""
        items = list(self._items.below(_place(scope)))
        times = [_made_at(item) for item in items]
        return _types.ScopeInfo(
            path=scope,
            record_count=len(items),
            categories=sorted({one for item in items for one in _categories(item)}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The scopes directly below one."""
        above = _place(parent)
        deeper = [
            p for p in self._items.places() if len(p) > len(above) and p[: len(above)] == above
        ]
        return sorted({f"/{'/'.join(place[: len(above) + 1])}" for place in deeper})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """The categories of a scope, and how many records have each."""
        items = self._items.below(_place(scope_prefix))
        return dict(Counter(one for item in items for one in _categories(item)))

    def count(self, scope_prefix: str | None = None) -> int:
        """How many records a scope holds."""
        return self._wellkept.engine.store.stats(self._items.where(_place(scope_prefix))).total

    # -- The same, awaited ------------------------------------------------------------------------

    async def asave(self, records: Sequence[Any]) -> None:
        """`save` in a thread."""
        await self._async.run(lambda _: self.save(records))

    async def asearch(self, query_embedding: list[float], *args: Any, **kwargs: Any) -> list[Any]:
        """`search` in a thread."""
        return await self._async.run(lambda _: self.search(query_embedding, *args, **kwargs))

    async def adelete(self, *args: Any, **kwargs: Any) -> int:
        """`delete` in a thread."""
        return await self._async.run(lambda _: self.delete(*args, **kwargs))

    # -- Records as items -------------------------------------------------------------------------

    def _model(self) -> Embedder:
        model = self._wellkept.engine.embedder()
        if model is None:
            raise UsageError(
                "CrewAI searches by vector, and this memory has no embedding model.",
                hint="Set embedding_provider to static, or open it without embedder='none'.",
            )
        return model

    def _nearest(
        self, vector: Sequence[float], place: Place, *, limit: int
    ) -> Iterable[tuple[Item, float]]:
        store = self._wellkept.engine.store
        hits = store.search_vectors(
            _unit(vector),
            model_id=self._model().model_id,
            where=self._items.where(place),
            limit=limit,
        )
        found = {memory.id: memory for memory in store.get([hit.id for hit in hits])}
        for hit in hits:
            item = self._items.item(found[hit.id]) if hit.id in found else None
            if item is not None:
                yield item, min(1.0, max(0.0, float(hit.score)))


def _unit(vector: Sequence[float]) -> bytes:
    """A vector as stores want it: little-endian floats of length 1."""
    length = math.sqrt(sum(x * x for x in vector)) or 1.0
    return struct.pack(f"<{len(vector)}f", *(x / length for x in vector))


def _place(scope: str | None) -> Place:
    return tuple(part for part in (scope or "").split("/") if part)


def _record(item: Item) -> Any:
    return _types.MemoryRecord(**{**item.value, "content": item.value["content"]})


def _categories(item: Item) -> list[str]:
    return [str(one) for one in item.value.get("categories") or ()]


def _fits(
    item: Item, categories: Iterable[str] | None, metadata: Mapping[str, object] | None
) -> bool:
    if categories and not set(categories) & set(_categories(item)):
        return False
    have: Mapping[str, object] = item.value.get("metadata") or {}
    return all(have.get(name) == wanted for name, wanted in (metadata or {}).items())


def _made_at(item: Item) -> datetime:
    return _aware(datetime.fromisoformat(str(item.value["created_at"])))


def _aware(moment: datetime) -> datetime:
    """CrewAI's times have no zone and mean UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
