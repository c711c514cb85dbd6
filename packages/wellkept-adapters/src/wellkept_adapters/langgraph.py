"""LangGraph: `WellkeptStore`, a `BaseStore` on a project's memories.

    graph = builder.compile(store=WellkeptStore(wellkept.open()))

Reads of a batch see what was there before its writes, as in LangGraph's own stores. Values are
JSON; `index` chooses what a value is found by. There is no time to live. Memory nodes are in
`langgraph_nodes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from wellkept.api.async_wellkept import AsyncWellkept
from wellkept.api.wellkept import Wellkept
from wellkept_adapters.items import Item as KeptItem
from wellkept_adapters.items import Items, Place, as_async, framework, texts_in
from wellkept_adapters.value_filters import fits

with framework("LangGraph", extra="langgraph"):
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
        tokenize_path,
        validate_op_namespace,
    )

_FILTERED_AT_LEAST = 200


class WellkeptStore(BaseStore):
    """What graphs keep, as memories of one project."""

    def __init__(self, wellkept: Wellkept | AsyncWellkept) -> None:
        super().__init__()
        self._async = as_async(wellkept)
        self._items = Items(self._async.sync, "langgraph")

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: reads first, then the last write to each key."""
        given = list(ops)
        for op in given:
            validate_op_namespace(op)
        results = [self._read(op) for op in given]
        writes = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        for op in writes.values():
            self._write(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` in a thread of its own."""
        given = list(ops)
        return await self._async.run(lambda _: self.batch(given))

    # -- Reading ----------------------------------------------------------------------------------

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                item = self._items.get(op.namespace, op.key)
                return None if item is None else _as_item(item)
            case SearchOp():
                return [_as_search_item(item) for item in self._search(op)]
            case ListNamespacesOp():
                return self._namespaces(op)
            case PutOp():
                return None

    def _search(self, op: SearchOp) -> list[KeptItem]:
        end = op.offset + op.limit
        if op.query:
            wanted = max(end, _FILTERED_AT_LEAST) if op.filter else end
            found = self._items.find(op.query, op.namespace_prefix, limit=wanted)
        elif op.filter:
            found = list(self._items.below(op.namespace_prefix))
        else:
            return self._items.latest(op.namespace_prefix, limit=end)[op.offset :]
        fitting = [item for item in found if fits(item.value, op.filter or {})]
        return fitting[op.offset : end]

    def _namespaces(self, op: ListNamespacesOp) -> list[Place]:
        conditions = op.match_conditions or ()
        found = [p for p in self._items.places() if all(_matches(c, p) for c in conditions)]
        if op.max_depth is not None:
            found = sorted({place[: op.max_depth] for place in found})
        return found[op.offset : op.offset + op.limit]

    # -- Writing ----------------------------------------------------------------------------------

    def _write(self, op: PutOp) -> None:
        if op.value is None:
            item = self._items.get(op.namespace, op.key)
            self._items.remove([item] if item else [])
            return
        text = "\n".join(_indexed(op.value, op.index))
        self._items.put(op.namespace, op.key, op.value, text=text)


def _indexed(value: Mapping[str, Any], index: object) -> Iterable[str]:
    if index is False:
        return ()
    if index is None:
        return texts_in(value)
    paths = cast("Sequence[str]", index)
    return (text for path in paths for text in get_text_at_path(value, tokenize_path(path)))


def _as_item(item: KeptItem) -> Item:
    return Item(
        value=dict(item.value),
        key=item.name,
        namespace=item.place,
        created_at=item.created_at,
        updated_at=item.updated_at,
    )


def _as_search_item(item: KeptItem) -> SearchItem:
    return SearchItem(
        namespace=item.place,
        key=item.name,
        value=dict(item.value),
        created_at=item.created_at,
        updated_at=item.updated_at,
        score=item.score,
    )


def _matches(condition: MatchCondition, place: Place) -> bool:
    path = tuple(condition.path)
    if len(place) < len(path):
        return False
    part = place[: len(path)] if condition.match_type == "prefix" else place[-len(path) :]
    return not path or all(want in ("*", have) for want, have in zip(path, part, strict=True))
