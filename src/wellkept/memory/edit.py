"""Finding one memory by name, correcting it, forgetting it.

A correction closes the old memory and opens its successor; forgetting deletes for good unless
the history is asked to be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from wellkept.core.changes import Change, Close, Delete, Replace
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.memory import Memory, MemoryPatch, Relation
from wellkept.core.text import first_line
from wellkept.memory.draft import amend
from wellkept.memory.engine import Engine
from wellkept.memory.remember import retried, successor, superseding


def revise(
    engine: Engine, memory_id: str, patch: MemoryPatch, *, if_updated_at: datetime | None = None
) -> Memory:
    """Change a memory. New content or a new type closes it and opens its successor.

    With `if_updated_at` it is changed only if nobody has changed it since, else ConflictError.
    """

    def attempt() -> Memory:
        old = get_one(engine, memory_id)
        if if_updated_at is not None and old.updated_at != if_updated_at:
            raise ConflictError(
                f"Memory {old.short} was changed meanwhile.", hint="Read it again and repeat."
            )
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
        engine.store.apply(superseding(old, new, engine.card(new), now=now))
        return new

    return retried(attempt)


def relate(engine: Engine, memory_id: str, relation: Relation) -> Memory:
    """Add a relation to a memory; the same one to the same target takes the earlier one's place."""
    if relation.target_id == memory_id:
        raise UsageError("A memory cannot be related to itself.")

    def attempt() -> Memory:
        old = get_one(engine, memory_id)
        others = tuple(r for r in old.relations if _kind_and_target(r) != asked)
        patch = MemoryPatch(relations=(*others, relation))
        return _changed_in_place(engine, old, amend(old, patch, now=engine.clock()))

    asked = _kind_and_target(relation)
    return retried(attempt)


def _kind_and_target(relation: Relation) -> tuple[str, str | None, str | None]:
    return (relation.type, relation.target_id, relation.target_file)


def _changed_in_place(engine: Engine, old: Memory, new: Memory) -> Memory:
    (card,) = engine.refreshed_cards([new])
    engine.store.apply([Replace(new, card, old.updated_at)])
    return new


def forget(
    engine: Engine, ids: Sequence[str], *, keep_history: bool = False, dry_run: bool = False
) -> list[Memory]:
    """Delete memories for good, or with `keep_history` only close them; returns what they were."""
    memories = [get_one(engine, memory_id) for memory_id in dict.fromkeys(ids)]
    now = engine.clock()
    changes: list[Change] = [
        Close(m.id, max(now, m.valid_from)) if keep_history else Delete(m.id)
        for m in memories
        if m.is_open or not keep_history
    ]
    if changes and not dry_run:
        engine.store.apply(changes)
    return memories


def get_one(engine: Engine, memory_id: str) -> Memory:
    """The memory with that full id."""
    found = engine.store.get([memory_id])
    if not found:
        raise NotFoundError(f"There is no memory {memory_id!r}.", hint="`wellkept list` shows ids.")
    return found[0]


def pick(engine: Engine, name: str, *, project: str) -> Memory:
    """The memory that a full id, a short id, a prefix of one, or a key stands for."""
    ids = engine.store.resolve(name, project=project)
    if len(ids) > 1:
        titles = "; ".join(
            f"{m.short} {first_line(m.content, limit=40)}" for m in engine.store.get(ids)
        )
        raise ConflictError(
            f"{name!r} fits several memories: {titles}.", hint="Type more of the id."
        )
    if ids:
        return get_one(engine, ids[0])
    for user_scope in (False, True):
        if found := engine.store.find_key(name, project=project, user_scope=user_scope):
            return found
    raise NotFoundError(
        f"No memory has the id or key {name!r} in this project.",
        hint="`wellkept list` shows what there is.",
    )
