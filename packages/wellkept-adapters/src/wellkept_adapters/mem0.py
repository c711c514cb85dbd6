"""Mem0: a `Memory` with the methods and results of Mem0's, on a project's memories.

    from wellkept_adapters.mem0 import Memory  # was: from mem0 import Memory

Signatures and results follow Mem0 2.2; the tests hold them against the real package. It needs no
key, no model and no vector database. Without a model, `infer=True` keeps what was said as it was
said: equal statements once, and one that contradicts an older one replaces it; `extract` plugs a
model in. `wellkept admin import mem0` brings existing memories over.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar, cast

from wellkept.api.async_wellkept import AsyncWellkept
from wellkept.api.wellkept import Wellkept
from wellkept.api.wellkept import open as open_wellkept
from wellkept.core.memory import Memory as KeptMemory
from wellkept.core.payloads import KeptItem
from wellkept.core.query import Validity
from wellkept.core.records import replace
from wellkept.text.contradictions.supersedes import supersedes
from wellkept.text.similarity import TextRelation, compare
from wellkept_adapters.items import Item, Items
from wellkept_adapters.value_filters import fits_mem0

_ENTITIES: Final = ("user_id", "agent_id", "run_id")
_PROMOTED: Final = (*_ENTITIES, "actor_id", "role", "attributed_to", "expiration_date")
_PROCEDURAL: Final = "procedural_memory"
_COMPARED: Final = 8
_FILTERED_AT_LEAST: Final = 200
_UNSET: Final = object()
_log = logging.getLogger(__name__)

Message = Mapping[str, Any]
Extract = Callable[[Sequence[Message]], Iterable[str]]
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class Memory:
    """Mem0's `Memory` on one project of Wellkept.

    `extract` turns messages into statements, e.g. by asking a model. With `keep_history=False` a
    deleted memory is gone for good; otherwise its history can still be read, as in Mem0.
    """

    def __init__(
        self,
        config: object = None,
        *,
        wellkept: Wellkept | None = None,
        extract: Extract | None = None,
        keep_history: bool = True,
    ) -> None:
        if config is not None:
            _log.warning("Mem0's config is not used: Wellkept's settings choose models and store.")
        self._own = wellkept is None
        self._wellkept = wellkept or open_wellkept()
        self._items = Items(self._wellkept, "mem0", unique_names=True)
        self._extract = extract
        self._keep_history = keep_history

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> Self:
        """As Mem0's; stores and models come from Wellkept's settings."""
        return cls(config_dict)

    # -- Write ------------------------------------------------------------------------------------

    def add(
        self,
        messages: str | Message | Sequence[Message],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,  # noqa: ARG002
    ) -> dict[str, list[dict[str, Any]]]:
        """Keep what messages say; `prompt` is for a model and not used here."""
        if timestamp is not None:
            raise ValueError("timestamp is only for Mem0's platform.")
        if memory_type not in (None, _PROCEDURAL):
            raise ValueError(f"Invalid 'memory_type'. Please pass {_PROCEDURAL}.")
        scope = _scope(user_id=user_id, agent_id=agent_id, run_id=run_id)
        if not scope:
            raise ValueError("At least one of 'user_id', 'agent_id', or 'run_id' must be provided.")
        fields = {**_own_metadata(metadata), **scope}
        if (ends := _day(expiration_date)) is not None:
            fields["expiration_date"] = ends
        said = _messages(messages)
        if memory_type == _PROCEDURAL and agent_id is not None:
            text = "\n".join(f"{one['role']}: {one['content']}" for one in said)
            kept = self._keep(text, {**fields, "memory_type": _PROCEDURAL})
            return {"results": [_event(kept, "ADD")]}
        if not infer:
            return {"results": [self._keep_message(one, fields) for one in said]}
        return {
            "results": [e for text in self._statements(said) if (e := self._infer(text, fields))]
        }

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: dict[str, Any] | None = None,
        expiration_date: Any = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change a memory's text, metadata or end; `data` is an old name of `text`."""
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is _UNSET:
            raise ValueError("At least one of text, metadata, or expiration_date must be provided.")
        item = self._require(memory_id)
        fields = {**item.value, **_own_metadata(metadata)}
        if expiration_date is not _UNSET:
            fields["expiration_date"] = _day(expiration_date)
        self._keep(item.memory.content if text is None else text, fields, name=memory_id)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Delete a memory; its history stays unless this was opened with `keep_history=False`."""
        self._remove([self._require(memory_id)])
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Delete every memory of a user, an agent or a run."""
        scope = _scope(user_id=user_id, agent_id=agent_id, run_id=run_id)
        if not scope:
            raise ValueError(
                "At least one filter is required to delete all memories. If you want to delete all"
                " memories, use the `reset()` method."
            )
        self._remove(list(self._items.below(labels=scope)))
        return {"message": "Memories deleted successfully!"}

    def reset(self) -> None:
        """Delete everything that was kept through this class in this project for good."""
        everything = replace(self._items.where(), validity=Validity.ANY, archived=None)
        ids = [one.id for one in self._wellkept.engine.store.iterate(everything)]
        if ids:
            self._wellkept.forget(ids)

    # -- Read -------------------------------------------------------------------------------------

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """One memory by its id."""
        item = self._items.get((), memory_id)
        return None if item is None else {**_result(item), "score": None}

    def get_all(
        self,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, list[dict[str, Any]]]:
        """The memories that the filters fit, oldest first."""
        scope, rest = _read_filters(filters, kwargs, "get_all")
        _check_count(top_k)
        found: list[dict[str, Any]] = []
        for item in self._items.below(labels=scope):
            if len(found) >= top_k:
                break
            if fits_mem0(item.value, rest) and (show_expired or not _is_over(item)):
                found.append(_result(item))
        return {"results": found}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: dict[str, Any] | None = None,
        threshold: float = 0.1,
        rerank: bool = False,  # noqa: ARG002
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, list[dict[str, Any]]]:
        """The memories that answer a question, best first. A score is the probability of an answer;
        `rerank` changes nothing here, Wellkept's settings choose a reranker."""
        if reference_date is not None:
            raise ValueError("reference_date is only for Mem0's platform.")
        scope, rest = _read_filters(filters, kwargs, "search")
        _check_count(top_k)
        if not 0 <= threshold <= 1:
            raise ValueError(
                f"Invalid threshold: {threshold}. Must be between 0 and 1 (inclusive)."
            )
        if not query.strip():
            raise ValueError("Invalid query: cannot be empty or whitespace-only.")
        wanted = top_k if not rest and show_expired else max(top_k, _FILTERED_AT_LEAST)
        fitting = [
            item
            for item in self._items.find(query, labels=scope, limit=wanted)
            if (item.score or 0.0) >= threshold
            and fits_mem0(item.value, rest)
            and (show_expired or not _is_over(item))
        ]
        return {"results": [_scored(item, explain=explain) for item in fitting[:top_k]]}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """What happened to a memory, oldest first."""
        item = self._items.get((), memory_id) or self._closed(memory_id)
        if item is None:
            return []
        rows: list[dict[str, Any]] = []
        for version in reversed(self._items.versions(item.memory)):
            before = rows[-1]["new_memory"] if rows else None
            rows.append(_change(version, memory_id, old=before, new=version.content))
        if not item.memory.is_open:
            rows.append(_change(item.memory, memory_id, old=item.memory.content, new=None))
        return rows

    # -- Closing ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the memory, if it was opened here."""
        if self._own:
            self._wellkept.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- How statements are kept ------------------------------------------------------------------

    def _statements(self, said: Sequence[Message]) -> Iterable[str]:
        if self._extract is not None:
            return [text for text in self._extract(said) if text.strip()]
        return [str(one["content"]) for one in said if one["role"] == "user"]

    def _infer(self, text: str, fields: Mapping[str, Any]) -> dict[str, Any] | None:
        """Keep a statement unless it is known; one that contradicts a known one replaces it."""
        scope = {name: fields[name] for name in _ENTITIES if name in fields}
        for item in self._items.find(text, labels=scope, limit=_COMPARED):
            if compare(item.memory.content, text) is TextRelation.SAME:
                return None
            if supersedes(item.memory.content, text):
                kept = self._keep(text, {**item.value, **fields}, name=item.name)
                return {**_event(kept, "UPDATE"), "previous_memory": item.memory.content}
        return _event(self._keep(text, fields), "ADD")

    def _keep_message(self, message: Message, fields: Mapping[str, Any]) -> dict[str, Any]:
        actor = message.get("name")
        own = {"role": message["role"], **({"actor_id": actor} if actor else {})}
        kept = self._keep(str(message["content"]), {**fields, **own})
        return {**_event(kept, "ADD"), "actor_id": actor, "role": message["role"]}

    def _keep(self, text: str, fields: Mapping[str, Any], *, name: str | None = None) -> Item:
        scope = {key: fields[key] for key in _ENTITIES if fields.get(key)}
        return self._items.put(
            (),
            name or self._wellkept.engine.new_id(),
            fields,
            text=text,
            labels=scope,
            author=scope.get("user_id"),
        )

    def _remove(self, items: Sequence[Item]) -> None:
        if self._keep_history:
            ids = [item.memory.id for item in items]
            self._wellkept.forget(ids, keep_history=True)
        else:
            self._items.remove(items)

    def _require(self, memory_id: str) -> Item:
        item = self._items.get((), memory_id)
        if item is None:
            raise ValueError(f"Memory with id {memory_id} not found")
        return item

    def _closed(self, memory_id: str) -> Item | None:
        """The last version of a deleted memory."""
        where = replace(self._items.where(), validity=Validity.CLOSED, archived=None)
        for memory in self._wellkept.engine.store.iterate(where):
            kept = memory.payload
            is_it = isinstance(kept, KeptItem) and kept.name == memory_id
            if is_it and memory.superseded_by is None:
                return self._items.item(memory)
        return None


def _awaited(
    method: Callable[Concatenate[Memory, _Given], _Result],
) -> Callable[Concatenate[AsyncMemory, _Given], Coroutine[Any, Any, _Result]]:
    async def call(self: AsyncMemory, *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        return await self.wellkept.run(lambda _: method(self.memory, *args, **kwargs))

    call.__doc__, call.__name__ = method.__doc__, method.__name__
    return call


class AsyncMemory:
    """Mem0's `AsyncMemory`: `Memory`, awaited."""

    def __init__(self, config: object = None, *, wellkept: AsyncWellkept | None = None) -> None:
        self.wellkept = wellkept or AsyncWellkept(open_wellkept())
        self.memory = Memory(config, wellkept=self.wellkept.sync)

    @classmethod
    async def from_config(cls, config_dict: dict[str, Any]) -> Self:
        """As Mem0's; stores and models come from Wellkept's settings."""
        return cls(config_dict)

    add = _awaited(Memory.add)
    search = _awaited(Memory.search)
    get = _awaited(Memory.get)
    get_all = _awaited(Memory.get_all)
    update = _awaited(Memory.update)
    delete = _awaited(Memory.delete)
    delete_all = _awaited(Memory.delete_all)
    history = _awaited(Memory.history)
    reset = _awaited(Memory.reset)


# -- Arguments ------------------------------------------------------------------------------------


def _scope(**ids: object) -> dict[str, str]:
    """The ids that are given, trimmed; one with blanks inside is refused."""
    found: dict[str, str] = {}
    for name, value in ids.items():
        if value is None:
            continue
        text = str(value).strip()
        if not text or any(c.isspace() for c in text):
            raise ValueError(f"Invalid {name}: it cannot be empty or contain whitespace.")
        found[name] = text
    return found


def _read_filters(
    filters: Mapping[str, Any] | None, kwargs: Mapping[str, Any], method: str
) -> tuple[dict[str, str], dict[str, Any]]:
    """The ids of a filter, and its other conditions."""
    if wrong := sorted(set(_ENTITIES) & kwargs.keys()):
        raise ValueError(
            f"Top-level entity parameters {wrong} are not supported in {method}()."
            " Use filters={'user_id': '...'} instead."
        )
    if kwargs:
        raise TypeError(f"{method}() got unexpected arguments: {', '.join(sorted(kwargs))}")
    given = dict(filters or {})
    scope = _scope(**{name: given.pop(name, None) for name in _ENTITIES})
    if not scope:
        raise ValueError(
            "filters must contain at least one of: user_id, agent_id, run_id."
            " Example: filters={'user_id': 'u1'}"
        )
    return scope, given


def _own_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Metadata without ids: whose a memory is says the caller's argument only."""
    return {k: v for k, v in (metadata or {}).items() if k not in (*_ENTITIES, "actor_id")}


def _messages(messages: object) -> list[Message]:
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if not isinstance(messages, (dict, list, tuple)):
        raise ValueError("messages must be str, dict, or list[dict]")
    several = cast("Sequence[object]", [messages] if isinstance(messages, dict) else messages)
    found: list[Message] = []
    for one in several:
        message: Message = cast("Message", one) if isinstance(one, dict) else {}
        if message.get("role") is None or message.get("content") is None:
            _log.warning("A message without role or content is left out.")
        elif message["role"] != "system":
            found.append(message)
    return found


def _check_count(top_k: object) -> None:
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 0:
        raise ValueError(f"Invalid top_k: {top_k}. Must be a non-negative integer.")


def _day(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise ValueError("expiration_date must be a valid date in YYYY-MM-DD format.") from None


def _is_over(item: Item) -> bool:
    ends = item.value.get("expiration_date")
    return bool(ends) and date.fromisoformat(str(ends)) < datetime.now(UTC).date()


# -- Results --------------------------------------------------------------------------------------


def _event(item: Item, event: str) -> dict[str, Any]:
    return {"id": item.name, "memory": item.memory.content, "event": event}


def _result(item: Item) -> dict[str, Any]:
    metadata = {k: v for k, v in item.value.items() if k not in _PROMOTED}
    return {
        "id": item.name,
        "memory": item.memory.content,
        "hash": hashlib.md5(item.memory.content.encode(), usedforsecurity=False).hexdigest(),
        "metadata": metadata or None,
        "created_at": item.created_at.isoformat(),
        "updated_at": item.updated_at.isoformat(),
        **{name: item.value[name] for name in _PROMOTED if name in item.value},
    }


def _scored(item: Item, *, explain: bool) -> dict[str, Any]:
    result = {**_result(item), "score": item.score}
    if explain and item.hit is not None:
        result["score_details"] = {part.name: part.effect for part in item.hit.parts}
    return result


def _change(
    version: KeptMemory, memory_id: str, *, old: str | None, new: str | None
) -> dict[str, Any]:
    kept = version.payload
    fields: Mapping[str, Any] = kept.value if isinstance(kept, KeptItem) else {}
    is_deleted = new is None
    first = kept.first_kept if isinstance(kept, KeptItem) else None
    return {
        "id": f"{version.id}-deleted" if is_deleted else version.id,
        "memory_id": memory_id,
        "old_memory": old,
        "new_memory": new,
        "event": "DELETE" if is_deleted else "ADD" if old is None else "UPDATE",
        "created_at": (first or version.created_at).isoformat(),
        "updated_at": (
            (version.valid_to if is_deleted else None) or version.updated_at
        ).isoformat(),
        "is_deleted": is_deleted,
        "actor_id": fields.get("actor_id"),
        "role": fields.get("role"),
    }
