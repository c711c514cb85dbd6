"""What time does to a memory, as verbs of `Wellkept`: fading, pruning, merging, trust, archiving.

Each verb reports what it did and can be previewed with `dry_run`. Knows which project is open;
the rules themselves are in `wellkept.memory.ageing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wellkept.app.wiring.services import Services
    from wellkept.core.memory import WorkUnitRef
    from wellkept.core.ports.store import Progress
    from wellkept.memory.file_presence import Exists
    from wellkept.memory.lifecycle.pruning import Retention
    from wellkept.memory.lifecycle.report import MaintenanceReport


class Ageing:
    """The part of `Wellkept` that keeps memories up."""

    def __init__(self, wires: Services) -> None:
        self._wires = wires

    def decay(
        self, *, dry_run: bool = False, progress: Progress | None = None
    ) -> MaintenanceReport:
        """Let importance fade with disuse."""
        from wellkept.memory.lifecycle.decay import decay

        return decay(
            self._wires.engine, project=self._wires.project, dry_run=dry_run, progress=progress
        )

    def prune(
        self,
        *,
        keep: Retention | None = None,
        include_verified: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> MaintenanceReport:
        """Remove what the pruning rules say, for good."""
        from wellkept.memory.file_presence import exists_below
        from wellkept.memory.lifecycle.pruning import prune

        return prune(
            self._wires.engine,
            project=self._wires.project,
            keep=keep,
            exists=exists_below(self._wires.identity.root),
            include_verified=include_verified,
            dry_run=dry_run,
            progress=progress,
        )

    def compact(
        self, *, dry_run: bool = False, progress: Progress | None = None
    ) -> MaintenanceReport:
        """Merge near-duplicates."""
        from wellkept.memory.lifecycle.compaction import compact

        return compact(
            self._wires.engine, project=self._wires.project, dry_run=dry_run, progress=progress
        )

    def refresh(
        self, *, dry_run: bool = False, progress: Progress | None = None
    ) -> MaintenanceReport:
        """Let memories follow files that were renamed, mark those whose files are gone or that no
        longer hold, and clear the mark where they do again."""
        from wellkept.app.maintenance.staleness import refreshed

        return refreshed(self._wires, dry_run=dry_run, progress=progress)

    def maintain(
        self, *, dry_run: bool = False, progress: Progress | None = None
    ) -> MaintenanceReport:
        """Follow renames, archive merged work, refresh, decay and prune, in this order."""
        return self._maintain(dry_run=dry_run, progress=progress)

    def maintain_if_due(self, *, session_count: int | None = None) -> MaintenanceReport | None:
        """Maintenance on opening a project: at most once a day, or after 20 sessions.

        A project can be opened by name from any folder. Where none of its files is found, the
        folder is taken for another place, and no file for gone.
        """
        if not self.maintenance_is_due(session_count=session_count):
            return None
        here = self._files_are_here()
        return self._maintain(
            session_count=session_count, exists=None if here else _taken_for_granted
        )

    def _maintain(
        self,
        *,
        session_count: int | None = None,
        exists: Exists | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> MaintenanceReport:
        from wellkept.app.maintenance.staleness import reasons
        from wellkept.app.projects.merged_branches import archive_merged
        from wellkept.app.projects.renames import follow_history
        from wellkept.memory.lifecycle.maintenance import run_maintenance
        from wellkept.memory.lifecycle.report import MaintenanceAction, joined

        engine, project, root = self._wires.engine, self._wires.project, self._wires.identity.root
        moved = follow_history(engine, project=project, root=root, dry_run=dry_run)
        before = [*([moved] if moved else ()), *archive_merged(self._wires, dry_run=dry_run)]
        with reasons(self._wires) as also_stale:
            kept = run_maintenance(
                engine,
                project=project,
                root=root,
                session_count=session_count,
                exists=exists,
                also_stale=also_stale,
                dry_run=dry_run,
                progress=progress,
            )
        return (
            joined(MaintenanceAction.MAINTAIN, (*before, kept), dry_run=dry_run) if before else kept
        )

    def maintenance_is_due(self, *, session_count: int | None = None) -> bool:
        """Whether `maintain_if_due` would do anything; costs next to nothing."""
        from wellkept.memory.lifecycle.maintenance import maintenance_due

        return maintenance_due(
            self._wires.engine, project=self._wires.project, session_count=session_count
        )

    def _files_are_here(self) -> bool:
        from wellkept.memory.file_presence import exists_below
        from wellkept.memory.lifecycle.report import in_project

        exists = exists_below(self._wires.identity.root)
        memories = self._wires.engine.store.iterate(in_project(self._wires.project))
        return any(exists(path) for memory in memories for path in memory.files)

    def set_confidence(
        self, name: str, confidence: float, *, dry_run: bool = False
    ) -> MaintenanceReport:
        """Set how sure we are of a memory; what it is related to feels it."""
        from wellkept.memory.edit import pick
        from wellkept.memory.lifecycle.confidence import set_confidence

        found = pick(self._wires.engine, name, project=self._wires.project)
        return set_confidence(
            self._wires.engine, id=found.id, confidence=confidence, dry_run=dry_run
        )

    def archive_work_unit(
        self, ref: WorkUnitRef, *, dry_run: bool = False, progress: Progress | None = None
    ) -> MaintenanceReport:
        """Archive what belongs to a finished work unit and to the units below it."""
        from wellkept.memory.lifecycle.pruning import archive_work_unit

        return archive_work_unit(
            self._wires.engine,
            ref=ref,
            project=self._wires.project,
            dry_run=dry_run,
            progress=progress,
        )


def _taken_for_granted(path: str) -> bool:  # noqa: ARG001
    return True
