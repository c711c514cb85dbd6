"""The maintenance run: renames, merged branches, stale marks, decay, archive.

Called by `wellkept admin maintain`, when a project is opened, and in the background. One run per
store at a time: each reads every memory of its project, and side by side they keep the write-ahead
log from being emptied.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from wellkept.core.errors import StoreBusyError, StoreCorruptError, UsageError
from wellkept.core.file_locks import lock, lock_within, open_lock
from wellkept.memory.file_presence import Exists, exists_below
from wellkept.memory.lifecycle.maintenance import maintenance_due, run_maintenance
from wellkept.memory.lifecycle.pruning import Retention
from wellkept.memory.lifecycle.report import (
    MaintenanceAction,
    MaintenanceReport,
    merge_reports,
    open_in_project,
)
from wellkept.observe.upkeep.renames import follow_history
from wellkept.observe.upkeep.staleness import stale_reasons
from wellkept.project.session_commits import archive_merged

if TYPE_CHECKING:
    from wellkept.api.wiring.services import Services
    from wellkept.core.types import Progress

_WAIT_S = 60.0


@contextmanager
def maintaining(services: Services, *, wait_s: float = 0.0) -> Generator[bool]:
    """Hold the store's maintenance lock; False when another run has it after the wait."""
    with open_lock(services.path.parent / "locks", f"maintenance of {services.path}") as file:
        yield lock_within(file, wait_s) if wait_s else lock(file)


def maintain(
    services: Services,
    *,
    session_count: int | None = None,
    exists: Exists | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> MaintenanceReport:
    """Run every step once, in order. StoreBusyError when another run does not end in time."""
    if dry_run:
        return _maintain(services, session_count, exists, dry_run=True, progress=progress)
    with maintaining(services, wait_s=_WAIT_S) as alone:
        if not alone:
            raise StoreBusyError(
                f"Maintenance of {services.path} is running already.", hint="Try again later."
            )
        return _maintain(services, session_count, exists, dry_run=False, progress=progress)


def _maintain(
    services: Services,
    session_count: int | None,
    exists: Exists | None,
    *,
    dry_run: bool,
    progress: Progress | None = None,
) -> MaintenanceReport:
    engine, project, root = services.engine, services.project, services.root
    if not dry_run:
        _continue_upgrade(services)
    moved = follow_history(engine, project=project, root=root, dry_run=dry_run)
    archived = archive_merged(engine, project=project, root=root, dry_run=dry_run)
    with stale_reasons(services) as also_stale:
        done = run_maintenance(
            engine,
            project=project,
            root=root,
            session_count=session_count,
            exists=exists,
            also_stale=also_stale,
            keep=Retention(timeline_days=services.settings.timeline_retention_days),
            dry_run=dry_run,
            progress=progress,
        )
    before = [*([moved] if moved else ()), *archived]
    return (
        merge_reports(MaintenanceAction.MAINTAIN, (*before, done), dry_run=dry_run)
        if before
        else done
    )


def _continue_upgrade(services: Services) -> None:
    """Finish what a migration left for later, in short steps so that hooks need not wait."""
    # What is damaged is reported by doctor; it must not keep the rest from being maintained.
    with suppress(StoreCorruptError):
        while services.store.continue_upgrade():
            pass


def maintain_if_due(
    services: Services, *, session_count: int | None = None
) -> MaintenanceReport | None:
    """Run maintenance if the last run is long enough ago and no other run is under way.

    A project can be opened by name from any folder. When none of its files is found, the folder is
    not its checkout, so no file is reported as gone.
    """
    engine, project = services.engine, services.project
    if not maintenance_due(engine, project=project, session_count=session_count):
        return None
    with maintaining(services) as alone:
        # Another process may have just done it.
        if not alone or not maintenance_due(engine, project=project, session_count=session_count):
            return None
        exists = exists_below(services.root)
        memories = engine.store.iterate(open_in_project(project))
        has_files = any(exists(path) for memory in memories for path in memory.files)
        return _maintain(
            services, session_count, None if has_files else lambda _path: True, dry_run=False
        )


def can_be_maintained(services: Services) -> bool:
    """Whether a run could start: the folder can be written, and no other run is under way."""
    try:
        with maintaining(services) as alone:
            return alone
    except UsageError:
        return False
