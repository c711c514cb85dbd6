"""The maintenance run: renames, merged branches, stale marks, decay, prune.

Called by `wellkept maintain`, when a project is opened, and by the background worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.app.maintenance.staleness import stale_reasons
from wellkept.app.projects.merged_branches import archive_merged
from wellkept.app.projects.renames import follow_history
from wellkept.memory.file_presence import Exists, exists_below
from wellkept.memory.lifecycle.maintenance import maintenance_due, run_maintenance
from wellkept.memory.lifecycle.report import (
    MaintenanceAction,
    MaintenanceReport,
    merge_reports,
    open_in_project,
)

if TYPE_CHECKING:
    from wellkept.app.wiring.services import Services
    from wellkept.core.types import Progress


def maintain(
    services: Services,
    *,
    session_count: int | None = None,
    exists: Exists | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> MaintenanceReport:
    """Run every step once, in order."""
    engine, project, root = services.engine, services.project, services.root
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
            dry_run=dry_run,
            progress=progress,
        )
    before = [*([moved] if moved else ()), *archived]
    return (
        merge_reports(MaintenanceAction.MAINTAIN, (*before, done), dry_run=dry_run)
        if before
        else done
    )


def maintain_if_due(
    services: Services, *, session_count: int | None = None
) -> MaintenanceReport | None:
    """Run maintenance if the last run is long enough ago.

    A project can be opened by name from any folder. When none of its files is found, the folder is
    not its checkout, so no file is reported as gone.
    """
    engine, project = services.engine, services.project
    if not maintenance_due(engine, project=project, session_count=session_count):
        return None
    exists = exists_below(services.root)
    memories = engine.store.iterate(open_in_project(project))
    has_files = any(exists(path) for memory in memories for path in memory.files)
    return maintain(
        services, session_count=session_count, exists=None if has_files else lambda _path: True
    )
