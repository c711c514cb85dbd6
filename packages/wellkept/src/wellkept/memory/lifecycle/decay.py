"""Decay: importance falls while a memory is not used.

A memory loses 5 % of its importance per week since its last use, or half of it per half-life when
it, or its type, has one. Pinned memories do not decay. Verified memories decay like the rest, but
pruning spares them. Closed and archived memories stay as they are. Importance breaks ties in a
ranking; decay archives and deletes nothing.

Decay is exponential, so many small steps equal one large one. A run counts the time since the last
run or the last access, whichever is later, and does nothing within a week of the last run. The
job that runs by itself counts four weeks at most: while a project rests, nothing in it is out of
use. Confidence and `updated_at` never change here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import inf

from wellkept.core.changes import Rescore
from wellkept.core.clock import days_between
from wellkept.core.memory import Memory
from wellkept.core.types import TYPE_RULES, Progress
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.report import (
    JobRun,
    MaintenanceAction,
    MaintenanceItem,
    MaintenanceReport,
    item_for,
    last_run,
    open_in_project,
    record_run,
    write_each,
)

WEEKLY_FACTOR = 0.95
MIN_INTERVAL_DAYS = 7.0
MAX_DAYS_PER_RUN = 28.0
_JOB = "decay"


def decayed_importance(memory: Memory, *, idle_days: float) -> float:
    """The importance of a memory after that many days without use."""
    if memory.pinned or idle_days <= 0:
        return memory.importance
    half_life = memory.half_life_days or TYPE_RULES[memory.type].half_life_days
    factor = 0.5 ** (idle_days / half_life) if half_life else WEEKLY_FACTOR ** (idle_days / 7)
    return memory.importance * factor


def decay(
    engine: Engine,
    *,
    project: str,
    dry_run: bool = False,
    progress: Progress | None = None,
    max_days: float = inf,
) -> MaintenanceReport:
    """Decay the open memories of a project for the time since the last run, `max_days` at most.

    Two processes may run at once: each records its run before it writes, reads the record again
    after reading the rows, and skips rows that changed meanwhile. So no interval counts twice; a
    crash in the middle at worst skips one interval for some memories.
    """
    engine.store.flush()
    now = engine.clock()
    previous = last_run(engine.store, project=project, job=_JOB)
    if previous is not None and days_between(previous.at, now) < MIN_INTERVAL_DAYS:
        return _nothing_due(previous, now, dry_run=dry_run)
    examined, items = _decayed(engine, project, previous, now, max_days)
    if dry_run:
        return _report(items, examined, dry_run=True)
    if last_run(engine.store, project=project, job=_JOB) != previous:
        note = "Another process has just done this."
        return MaintenanceReport(
            action=MaintenanceAction.DECAY, dry_run=False, examined=examined, notes=(note,)
        )
    record_run(engine.store, JobRun(now), project=project, job=_JOB)
    return _report(_write(engine, items, progress), examined, dry_run=False)


def _decayed(
    engine: Engine, project: str, previous: JobRun | None, now: datetime, max_days: float
) -> tuple[int, list[MaintenanceItem]]:
    examined, items = 0, list[MaintenanceItem]()
    for memory in engine.store.iterate(open_in_project(project)):
        examined += 1
        since = max(memory.accessed_at, previous.at) if previous else memory.accessed_at
        idle_days = min(days_between(since, now), max_days)
        importance = decayed_importance(memory, idle_days=idle_days)
        if importance < memory.importance:
            items.append(_item(memory, importance, idle_days))
    return examined, items


def _item(memory: Memory, importance: float, idle_days: float) -> MaintenanceItem:
    half_life = memory.half_life_days or TYPE_RULES[memory.type].half_life_days
    pace = f"half-life {half_life:g} days" if half_life else "5 % a week"
    reason = f"unused for {idle_days:.1f} days, {pace}"
    return item_for(
        memory, before=memory.importance, after=importance, rule="decayed", reason=reason
    )


def _write(
    engine: Engine, items: Sequence[MaintenanceItem], progress: Progress | None
) -> list[MaintenanceItem]:
    """Rescore memories whose importance has not changed meanwhile; returns what was done."""
    changes = [
        Rescore(item.id, importance=item.after, expected_importance=item.before)
        for item in items
        if isinstance(item.after, float) and isinstance(item.before, float)
    ]
    written = write_each(engine.store, changes, progress=progress)
    return [item for item in items if item.id in written]


def _report(items: Sequence[MaintenanceItem], examined: int, *, dry_run: bool) -> MaintenanceReport:
    return MaintenanceReport(
        action=MaintenanceAction.DECAY, dry_run=dry_run, examined=examined, items=tuple(items)
    )


def _nothing_due(previous: JobRun, now: datetime, *, dry_run: bool) -> MaintenanceReport:
    when = previous.at.strftime("%Y-%m-%d %H:%M UTC")
    note = (
        f"The last run is dated {when}, later than now; nothing decays until then."
        if previous.at > now
        else f"Already done at {when}; runs once a week."
    )
    return MaintenanceReport(
        action=MaintenanceAction.DECAY, dry_run=dry_run, examined=0, notes=(note,)
    )
