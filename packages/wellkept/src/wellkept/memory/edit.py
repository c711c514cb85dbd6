"""Finds one memory by name, edits, relates and deletes memories.

An edit of content or type closes the old memory and opens its successor. Deleting is final unless
the history is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, cast

from wellkept.core.changes import Change, Close, Delete, Replace
from wellkept.core.errors import ConflictError, MemoryChangedError, NotFoundError, UsageError
from wellkept.core.memory import Evidence, Memory, MemoryPatch, Relation
from wellkept.core.records import record, replace
from wellkept.core.team.records import SharedState
from wellkept.core.text import first_line
from wellkept.memory.draft import amend
from wellkept.memory.engine import Engine
from wellkept.memory.remember import successor, superseding, with_retries

if TYPE_CHECKING:
    from wellkept.core.codec import Json


def revise(
    engine: Engine, memory_id: str, patch: MemoryPatch, *, if_updated_at: datetime | None = None
) -> Memory:
    """Change a memory. New content or a new type closes it and opens its successor.

    With `if_updated_at`: ConflictError if the memory was changed since.
    """

    def attempt() -> Memory:
        old = get_memory(engine, memory_id)
        if if_updated_at is not None and old.updated_at != if_updated_at:
            raise MemoryChangedError(old)
        now = engine.clock()
        new = amend(old, patch, now=now)
        if new.content == old.content and new.type is old.type:
            return _changed_in_place(engine, old, new)
        if not old.is_open:
            raise ConflictError(
                f"Memory {old.short} is no longer current, so it cannot be corrected.",
                hint=f"Correct its successor {old.superseded_by} instead."
                if old.superseded_by
                else "Remember the correction as a new memory.",
            )
        new = successor(engine, old, new, now=now)
        engine.store.apply(superseding(old, new, engine.index_entry(new), now=now))
        return new

    return with_retries(attempt)


def relate(engine: Engine, memory_id: str, relation: Relation) -> Memory:
    """Add a relation to a memory; replaces one of the same type and target."""
    if relation.target_id == memory_id:
        raise UsageError("A memory cannot be related to itself.")

    def attempt() -> Memory:
        old = get_memory(engine, memory_id)
        others = tuple(r for r in old.relations if _kind_and_target(r) != same)
        patch = MemoryPatch(relations=(*others, relation))
        return _changed_in_place(engine, old, amend(old, patch, now=engine.clock()))

    same = _kind_and_target(relation)
    return with_retries(attempt)


def confirm(
    engine: Engine,
    memory_id: str,
    evidence: Evidence,
    *,
    confidence: float,
    tags: Sequence[str] = (),
) -> Memory:
    """Add evidence and tags to a memory; its confidence never falls. The same evidence again
    changes nothing."""

    def attempt() -> Memory:
        old = get_memory(engine, memory_id)
        if any((one.kind, one.ref) == (evidence.kind, evidence.ref) for one in old.evidence):
            return old
        patch = MemoryPatch(
            tags=tuple(dict.fromkeys((*old.tags, *tags))),
            confidence=max(old.confidence, confidence),
        )
        new = amend(old, patch, now=engine.clock())
        return _changed_in_place(engine, old, replace(new, evidence=(*old.evidence, evidence)))

    return with_retries(attempt)


def _kind_and_target(relation: Relation) -> tuple[str, str | None, str | None]:
    return (relation.type, relation.target_id, relation.target_file)


def _changed_in_place(engine: Engine, old: Memory, new: Memory) -> Memory:
    (entry,) = engine.refreshed_entries([new])
    engine.store.apply([Replace(new, entry, old.updated_at)])
    return new


def forget(
    engine: Engine, ids: Sequence[str], *, keep_history: bool = False, dry_run: bool = False
) -> list[Memory]:
    """Delete memories, or only close them with `keep_history`; returns them as they were."""
    memories = [get_memory(engine, memory_id) for memory_id in dict.fromkeys(ids)]
    now = engine.clock()
    changes: list[Change] = [
        Close(m.id, max(now, m.valid_from)) if keep_history else Delete(m.id)
        for m in memories
        if m.is_open or not keep_history
    ]
    if changes and not dry_run:
        if not keep_history:
            note_erased(engine, memories)
        engine.store.apply(changes)
    return memories


def get_memory(engine: Engine, memory_id: str) -> Memory:
    """The memory with that full id."""
    found = engine.store.get([memory_id])
    if not found:
        raise NotFoundError(f"There is no memory {memory_id!r}.", hint="`wellkept list` shows ids.")
    return found[0]


def find_memory(engine: Engine, name: str, *, project: str) -> Memory:
    """The memory with that full id, short id, prefix of one, or key."""
    if not isinstance(cast("object", name), str):
        raise UsageError(f"A memory is named by a text, its id or key, not {type(name).__name__}.")
    ids = engine.store.resolve(name, project=project)
    if len(ids) > 1:
        titles = "; ".join(
            f"{m.short} {first_line(m.content, limit=40)}" for m in engine.store.get(ids)
        )
        raise ConflictError(
            f"{name!r} fits several memories: {titles}.", hint="Type more of the id."
        )
    if ids:
        return get_memory(engine, ids[0])
    for user_scope in (False, True):
        if found := engine.store.find_key(name, project=project, user_scope=user_scope):
            return found
    raise NotFoundError(
        f"No memory has the id or key {name!r} in this project.",
        hint="`wellkept list` shows what there is.",
    )


# -- What two edits have in common -----------------------------------------------------------------


NAMESPACE = "remote.base"


@record(kw_only=True)
class Base:
    """The last version of a record that both sides had."""

    seq: int
    mark: str = ""
    state: SharedState = SharedState.TEAM
    asked: bool = False
    """Whether the server was asked to close it, and lets it wait."""
    left: bool = False
    """Whether it is no longer shared from here."""
    erase: bool = False
    """Whether it was deleted here on purpose, and the server does not know yet."""
    rivals: tuple[str, ...] = ()


class Bases:
    """The bases of a project, kept in the store and read when they are asked for."""

    def __init__(self, engine: Engine, project: str, *, namespace: str = NAMESPACE) -> None:
        self._store = engine.store
        self._project = project
        self._namespace = namespace
        self._known: dict[str, Base | None] = {}

    def get(self, full_id: str) -> Base | None:
        """The base of a memory."""
        if full_id not in self._known:
            value = self._store.get_value(self._namespace, self._key(full_id))
            self._known[full_id] = _base(value) if isinstance(value, dict) else None
        return self._known[full_id]

    def items(self) -> dict[str, Base]:
        """All of them, by memory id."""
        found: dict[str, Base] = {}
        for key, value in self._store.values(self._namespace).items():
            home, _, full_id = key.rpartition(" ")
            if home == self._project and isinstance(value, dict):
                found[full_id] = _base(value)
        self._known |= found
        return found

    def put(self, full_id: str, base: Base | None) -> None:
        """Set it; None forgets it. Nothing is written when it is the same."""
        if base == self.get(full_id):
            return
        value: Json = None if base is None else _base_json(base)
        self._store.put_value(self._namespace, self._key(full_id), value)
        self._known[full_id] = base

    def clear(self) -> None:
        """Forget them all."""
        for full_id in self.items():
            self.put(full_id, None)

    def _key(self, full_id: str) -> str:
        return f"{self._project} {full_id}"


def note_erased(engine: Engine, memories: Iterable[Memory]) -> None:
    """Remember that shared memories are being deleted on purpose, so that it travels."""
    for memory in memories:
        key = f"{memory.project} {memory.id}"
        known = engine.store.get_value(NAMESPACE, key)
        if isinstance(known, dict):
            engine.store.put_value(NAMESPACE, key, {**known, "erase": True})


def _base(value: dict[str, Json]) -> Base:
    seq = value.get("seq")
    rivals = value.get("rivals")
    return Base(
        seq=seq if isinstance(seq, int) else 0,
        mark=str(value.get("mark") or ""),
        state=SharedState(str(value.get("state") or SharedState.TEAM)),
        asked=value.get("asked") is True,
        left=value.get("left") is True,
        erase=value.get("erase") is True,
        rivals=tuple(map(str, cast("list[Json]", rivals))) if isinstance(rivals, list) else (),
    )


def _base_json(base: Base) -> Json:
    flags = {name: True for name in ("asked", "left", "erase") if getattr(base, name)}
    rivals: Json = list(base.rivals)
    return {
        "seq": base.seq,
        "mark": base.mark,
        "state": base.state.value,
        **flags,
        **({"rivals": rivals} if base.rivals else {}),
    }
