"""Staleness: marks memories whose files are gone, and clears the mark when they return.

A memory is stale while any of its files is missing below the project's root, or while a reason of
the caller holds for it (a recipe whose file changed, a graph node that no longer exists).
`file_presence` says which files exist. `follow_renames` updates paths after renames.

Invariant: refreshing twice equals refreshing once. Knows nothing of git.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path, PurePosixPath

from wellkept.core.changes import Mark, Replace
from wellkept.core.clock import parse_moment
from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.memory import Memory, Relation
from wellkept.core.payloads import WorkflowRecipe
from wellkept.core.records import replace
from wellkept.core.types import MemoryType, Progress, Source
from wellkept.memory.engine import Engine
from wellkept.memory.file_presence import Exists, exists_below, project_path
from wellkept.memory.lifecycle.report import (
    MaintenanceAction,
    MaintenanceItem,
    MaintenanceReport,
    item_for,
    open_in_project,
    write_each,
)

# Text written by a person and quotations are never changed; rules write file names in backticks.
_RULE_SOURCES = (Source.OBSERVER_INFERRED, Source.QA_AUTO)
_QUOTED = re.compile(r"`([^`\s]+)`")

StaleReason = Callable[[Memory], str | None]
"""Why a memory is stale although its files exist; None when it is not."""


# -- Refreshing -----------------------------------------------------------------------------------


def refresh(
    engine: Engine,
    *,
    project: str,
    root: Path,
    exists: Exists | None = None,
    also_stale: StaleReason | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> MaintenanceReport:
    """Mark memories whose files are gone; clear the mark of those whose files exist again.

    A recipe may be marked because one of its files changed, so its mark is cleared only when
    `also_stale` is given and finds no reason.
    """
    there = exists or exists_below(root)
    now = engine.clock()
    examined, items, marks = 0, list[MaintenanceItem](), list[Mark]()
    for memory in engine.store.iterate(open_in_project(project)):
        examined += 1
        if change := _change(memory, there, also_stale, now):
            mark, item = change
            marks.append(mark)
            items.append(item)
    if not dry_run:
        written = write_each(engine.store, marks, progress=progress)
        items = [item for item in items if item.id in written]
    return MaintenanceReport(
        action=MaintenanceAction.REFRESH, dry_run=dry_run, examined=examined, items=tuple(items)
    )


def _change(
    memory: Memory, exists: Exists, also_stale: StaleReason | None, now: datetime
) -> tuple[Mark, MaintenanceItem] | None:
    missing = [path for path in memory.files if not exists(path)]
    other = also_stale(memory) if also_stale else None
    if (missing or other) and memory.stale_at is None:
        reason = other or f"gone: {', '.join(missing)}"
        rule = "file changed" if other and not missing else "file gone"
        item = item_for(memory, before="current", after="stale", rule=rule, reason=reason)
        return Mark(memory.id, "stale", now), item
    may_clear = also_stale is not None or memory.type is not MemoryType.WORKFLOW_RECIPE
    known = bool(memory.files) or also_stale is not None
    if memory.stale_at and known and not missing and not other and may_clear:
        reason = "all its files are there"
        item = item_for(memory, before="stale", after="current", rule="file back", reason=reason)
        return Mark(memory.id, "stale", None), item
    return None


def outdated_recipe(changed_since: Callable[[str, datetime], bool]) -> StaleReason:
    """A reason for `refresh`: a canonical file of a recipe changed after the recipe last worked."""

    def reason(memory: Memory) -> str | None:
        if not isinstance(memory.payload, WorkflowRecipe):
            return None
        held_at = recipe_held_at(memory)
        files = dict.fromkeys(s.canonical_file for s in memory.payload.steps if s.canonical_file)
        changed = [path for path in files if changed_since(path, held_at)]
        return f"changed since it last worked: {', '.join(changed)}" if changed else None

    return reason


def recipe_held_at(memory: Memory) -> datetime:
    """When a recipe last worked: its last validation, else when it was made."""
    stamp = memory.payload.last_validated_at if isinstance(memory.payload, WorkflowRecipe) else None
    try:
        return parse_moment(stamp) if stamp else memory.created_at
    except UsageError:
        return memory.created_at


# -- Renames --------------------------------------------------------------------------------------


def follow_renames(
    engine: Engine, *, project: str, renames: Mapping[str, str], dry_run: bool = False
) -> MaintenanceReport:
    """Update memories after several renames (old path -> new path), in one pass over the project.

    Changes files, relations to files, paths in payloads, and paths in text written by a rule. The
    stale mark is left to the next refresh.
    """
    moves = {_inside(old): _inside(new) for old, new in renames.items()}
    now = engine.clock()
    examined, pairs = 0, list[tuple[Memory, Memory]]()
    for memory in engine.store.iterate(open_in_project(project)):
        examined += 1
        if moved := _moved(memory, moves, now):
            pairs.append((memory, moved))
    done = [(old, new) for old, new in pairs if dry_run or _replace(engine, old, new)]
    skipped = len(pairs) - len(done)
    return MaintenanceReport(
        action=MaintenanceAction.RENAME,
        dry_run=dry_run,
        examined=examined,
        items=tuple(_rename_item(old, new) for old, new in done),
        notes=(f"Memories that changed meanwhile: {skipped}. Run this again.",) if skipped else (),
    )


def _inside(path: str) -> str:
    inside = project_path(path)
    if inside is None:
        raise UsageError(
            f"{path!r} is not a path inside the project.", hint="Give it relative to the root."
        )
    return inside


def _replace(engine: Engine, memory: Memory, moved: Memory) -> bool:
    (card,) = engine.refreshed_entries([moved])
    try:
        engine.store.apply([Replace(moved, card, memory.updated_at)])
    except (ConflictError, NotFoundError):
        return False
    return True


def _moved(memory: Memory, moves: Mapping[str, str], now: datetime) -> Memory | None:
    files = tuple(dict.fromkeys(_new_path(path, moves) for path in memory.files))
    relations = tuple(_moved_relation(relation, moves) for relation in memory.relations)
    payload = memory.payload
    if payload is not None:
        fields = {k: _moved_json(v, moves) for k, v in record_to_json(payload).items()}
        payload = record_from_json(type(payload), fields)
    content = memory.content
    if memory.source in _RULE_SOURCES and memory.type is not MemoryType.DECISION:
        content = _QUOTED.sub(lambda name: f"`{_new_path(name[1], moves)}`", content)
    moved = replace(memory, content=content, files=files, relations=relations, payload=payload)
    return None if moved == memory else replace(moved, updated_at=max(now, memory.updated_at))


def _new_path(path: str, moves: Mapping[str, str]) -> str:
    """The new path: by its own rename, else by that of the nearest parent folder."""
    plain = project_path(path)
    if plain is None:
        return path
    for above in (plain, *map(str, PurePosixPath(plain).parents)):
        if above in moves:
            return moves[above] + plain[len(above) :]
    return path


def _moved_relation(relation: Relation, moves: Mapping[str, str]) -> Relation:
    if relation.target_file is None:
        return relation
    return replace(relation, target_file=_new_path(relation.target_file, moves))


def _moved_json(value: Json, moves: Mapping[str, str]) -> Json:
    if isinstance(value, str):
        # A value with a space is prose, unless it is exactly a renamed path.
        return value if " " in value and value not in moves else _new_path(value, moves)
    if isinstance(value, list):
        return [_moved_json(item, moves) for item in value]
    if isinstance(value, dict):
        return {key: _moved_json(item, moves) for key, item in value.items()}
    return value


def _rename_item(memory: Memory, moved: Memory) -> MaintenanceItem:
    before = ", ".join(path for path in memory.files if path not in moved.files)
    after = ", ".join(path for path in moved.files if path not in memory.files)
    return item_for(
        memory,
        before=before or "old path",
        after=after or "new path",
        rule="renamed",
        reason="follows its file",
    )
