"""Maintenance of a project as one job.

`run_maintenance` refreshes staleness, decays importance and archives, in this order. It deletes no
memory: that needs a person's command. Safe to start from two processes at once: each step skips
what the other has already changed, and the outcome is that of one run.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.clock import days_between
from wellkept.core.ports.store import KEPT_DAYS
from wellkept.core.types import Progress
from wellkept.memory.engine import Engine
from wellkept.memory.file_presence import Exists, exists_below
from wellkept.memory.lifecycle.report import (
    JobRun,
    MaintenanceAction,
    MaintenanceReport,
    last_run,
    merge_reports,
    record_run,
)

if TYPE_CHECKING:
    from wellkept.memory.lifecycle.pruning import Retention
    from wellkept.memory.lifecycle.staleness import StaleReason

SESSIONS_BETWEEN_RUNS = 20
DAYS_BETWEEN_RUNS = 1.0
_JOB = "job"


def maintenance_due(engine: Engine, *, project: str, session_count: int | None = None) -> bool:
    """Whether opening a project should start the job.

    Due when it never ran, when it last ran at least a day ago, or when 20 sessions have passed
    since, whichever comes first; without a count the recorded sessions are counted. Opening a
    project many times a day costs one run.
    """
    previous = last_run(engine.store, project=project, job=_JOB)
    if previous is None or days_between(previous.at, engine.clock()) >= DAYS_BETWEEN_RUNS:
        return True
    if session_count is not None and previous.session_count is not None:
        return session_count - previous.session_count >= SESSIONS_BETWEEN_RUNS
    latest = engine.store.sessions(project=project, limit=SESSIONS_BETWEEN_RUNS)
    return sum(session.started_at >= previous.at for session in latest) >= SESSIONS_BETWEEN_RUNS


def run_maintenance(
    engine: Engine,
    *,
    project: str,
    root: Path,
    session_count: int | None = None,
    exists: Exists | None = None,
    changed_since: Callable[[str, datetime], bool] | None = None,
    also_stale: StaleReason | None = None,
    keep: Retention | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> MaintenanceReport:
    """Refresh, decay and archive one project, and record the run.

    `changed_since(path, moment)` tells whether a file changed, which makes recipes stale.
    `also_stale` replaces it.
    """
    from wellkept.memory.lifecycle.decay import MAX_DAYS_PER_RUN, decay
    from wellkept.memory.lifecycle.pruning import archive_due
    from wellkept.memory.lifecycle.staleness import outdated_recipe, refresh
    from wellkept.memory.state import forget_old_sessions

    there = exists or exists_below(root)
    recipes = also_stale or (outdated_recipe(changed_since) if changed_since else None)
    if not dry_run:
        run = JobRun(engine.clock(), session_count)
        record_run(engine.store, run, project=project, job=_JOB)
        forget_old_sessions(engine, project=project)
        engine.store.prune_undo(before=engine.clock() - timedelta(days=KEPT_DAYS))
    refreshed = refresh(
        engine, project=project, root=root, exists=there, also_stale=recipes, dry_run=dry_run
    )
    decayed = decay(
        engine, project=project, dry_run=dry_run, progress=progress, max_days=MAX_DAYS_PER_RUN
    )
    archived = archive_due(engine, project=project, keep=keep, dry_run=dry_run)
    return merge_reports(
        MaintenanceAction.MAINTAIN, (refreshed, decayed, archived), dry_run=dry_run
    )
