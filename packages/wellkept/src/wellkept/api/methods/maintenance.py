"""`Wellkept` methods that keep a store healthy: decay, prune, merge, refresh, reindex, doctor.

Each reports what it did; those that change memories can be previewed with `dry_run`. The rules are
in `wellkept.memory.lifecycle` and `wellkept.api.maintenance`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wellkept.api.maintenance.doctor import DoctorReport
    from wellkept.api.maintenance.reindex import ReindexReport
    from wellkept.api.wiring.services import Services
    from wellkept.core.types import Progress
    from wellkept.memory.lifecycle.pruning import Retention
    from wellkept.memory.lifecycle.report import MaintenanceReport


class MaintenanceMethods:
    """Part of `Wellkept`."""

    _services: Services

    def decay(
        self, *, dry_run: bool = False, progress: Progress | None = None
    ) -> MaintenanceReport:
        """Lower the importance of memories that are not used."""
        from wellkept.memory.lifecycle.decay import decay

        return decay(
            self._services.engine,
            project=self._services.project,
            dry_run=dry_run,
            progress=progress,
        )

    def prune(
        self,
        *,
        keep: Retention | None = None,
        include_verified: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> MaintenanceReport:
        """Delete for good what the pruning rules select."""
        from wellkept.memory.file_presence import exists_below
        from wellkept.memory.lifecycle.pruning import Retention, prune

        days = self._services.settings.timeline_retention_days
        return prune(
            self._services.engine,
            project=self._services.project,
            keep=keep or Retention(timeline_days=days),
            exists=exists_below(self._services.root),
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
            self._services.engine,
            project=self._services.project,
            dry_run=dry_run,
            progress=progress,
        )

    def refresh(
        self, *, dry_run: bool = False, progress: Progress | None = None
    ) -> MaintenanceReport:
        """Follow renamed files, then set or clear the stale mark of memories."""
        from wellkept.observe.upkeep.staleness import refresh_project

        return refresh_project(self._services, dry_run=dry_run, progress=progress)

    def maintain(
        self, *, dry_run: bool = False, progress: Progress | None = None
    ) -> MaintenanceReport:
        """Follow renames, archive merged work, refresh stale marks, decay, and archive what ended.
        Deletes no memory."""
        from wellkept.api.maintenance.run import maintain

        return maintain(self._services, dry_run=dry_run, progress=progress)

    def maintain_if_due(self, *, session_count: int | None = None) -> MaintenanceReport | None:
        """Run maintenance at most once a day, or after 20 sessions; None when it is not due."""
        from wellkept.api.maintenance.run import maintain_if_due

        return maintain_if_due(self._services, session_count=session_count)

    def maintenance_is_due(self, *, session_count: int | None = None) -> bool:
        """Whether `maintain_if_due` would run. Cheap."""
        from wellkept.memory.lifecycle.maintenance import maintenance_due

        services = self._services
        if not maintenance_due(
            services.engine, project=services.project, session_count=session_count
        ):
            return False
        from wellkept.api.maintenance.run import can_be_maintained

        return can_be_maintained(services)

    def reindex(self, *, force: bool = False, progress: Progress | None = None) -> ReindexReport:
        """Rebuild search indexes for the model in use. Can be interrupted and resumed."""
        from wellkept.api.maintenance.reindex import reindex

        done = reindex(self._services.engine, force=force, progress=progress)
        self._services.reset_model_state()
        return done

    def fill_vectors(self, *, most: int = 2_000) -> int:
        """Make missing vectors, up to `most`; returns how many were made. Those of a former default
        model are made anew, also with 0."""
        from wellkept.api.maintenance.reindex import fill_vectors, has_superseded_vectors

        engine = self._services.engine
        if most == 0 and not has_superseded_vectors(engine.store):
            return 0
        made = fill_vectors(engine, most=most)
        self._services.reset_model_state()
        return made

    def doctor(
        self, *, deep: bool = False, repair: bool = False, progress: Progress | None = None
    ) -> DoctorReport:
        """Check store, models, settings and spool. `repair` rebuilds derived data."""
        from wellkept.api.maintenance.doctor import examine

        return examine(self._services, deep=deep, repair=repair, progress=progress)
