"""`Wellkept` methods for whole projects and files: export, import, backup, restore, merge, clear.

A leading `~` in a path is expanded. The formats are in `wellkept.memory.exchange`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO, Unpack

from wellkept.core.errors import UsageError
from wellkept.core.settings.paths import expanded
from wellkept.memory.request_builder import FILTER_KEYS, require_known

if TYPE_CHECKING:
    from wellkept.api.maintenance.restore import RestoreReport
    from wellkept.api.wiring.services import Services
    from wellkept.core.query import Filter
    from wellkept.core.types import Progress
    from wellkept.memory.arguments import FilterArgs
    from wellkept.memory.exchange.jsonl import ImportReport
    from wellkept.memory.exchange.markdown_import import MarkdownReport
    from wellkept.observe.imports.repository import RepositoryReport
    from wellkept.project.join import JoinPreview


class DataMethods:
    """Part of `Wellkept`."""

    _services: Services

    def export(
        self,
        target: str | Path | TextIO,
        *,
        overwrite: bool = False,
        progress: Progress | None = None,
        **filters: Unpack[FilterArgs],
    ) -> int:
        """Write memories as JSONL, by default with closed and archived ones; returns the count."""
        from wellkept.memory.exchange.jsonl import export_jsonl, export_jsonl_file

        require_known(self.export, filters, FILTER_KEYS)
        where = self._whole(filters)
        if not isinstance(target, (str, Path)):
            return export_jsonl(self._services.engine, where, target, progress=progress)
        path = expanded(target)
        return export_jsonl_file(
            self._services.engine, where, path, overwrite=overwrite, progress=progress
        )

    def export_markdown(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        progress: Progress | None = None,
        **filters: Unpack[FilterArgs],
    ) -> int:
        """Write memories as a folder of Markdown that can be edited and imported again."""
        from wellkept.memory.exchange.markdown_export import export_markdown

        require_known(self.export_markdown, filters, FILTER_KEYS)
        path, where = expanded(folder), self._whole(filters)
        return export_markdown(
            self._services.engine, where, path, overwrite=overwrite, progress=progress
        )

    def import_jsonl(
        self,
        source: str | Path | TextIO,
        *,
        here: bool = False,
        dry_run: bool = False,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import a JSONL export; with `here` everything goes into this project."""
        self._services.require_person("Importing memories")
        from wellkept.memory.exchange.jsonl import import_jsonl

        return import_jsonl(
            self._services.engine,
            expanded(source) if isinstance(source, (str, Path)) else source,
            project=self._services.project if here else None,
            dry_run=dry_run,
            strict=strict,
            progress=progress,
        )

    def import_markdown(
        self,
        folder: str | Path,
        *,
        close_removed: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> MarkdownReport:
        """Import what was edited or added in a folder of Markdown."""
        self._services.require_person("Importing memories")
        from wellkept.memory.exchange.markdown_import import import_markdown

        return import_markdown(
            self._services.engine,
            expanded(folder),
            project=self._services.project,
            close_removed=close_removed,
            dry_run=dry_run,
            progress=progress,
        )

    def import_repository(
        self,
        *,
        limit_commits: int = 10_000,
        refresh: bool = False,
        progress: Progress | None = None,
    ) -> RepositoryReport:
        """Import what the project's files and git history say. A second run adds only what is
        new."""
        from wellkept.observe.imports.repository import import_repository

        return import_repository(
            self._services.engine,
            self._services.project,
            self._services.root,
            limit_commits=limit_commits,
            refresh=refresh,
            progress=progress,
        )

    def backup(self, target: str | Path, *, progress: Progress | None = None) -> Path:
        """Copy the whole store into a new file that only its owner can read."""
        path = expanded(target).absolute()
        if not path.parent.is_dir():
            raise UsageError(f"There is no folder {path.parent}.", hint="Make it first.")
        self._services.engine.store.backup(path, progress=progress)
        path.chmod(0o600)
        return path

    def restore(
        self, source: str | Path, *, dry_run: bool = False, progress: Progress | None = None
    ) -> RestoreReport:
        """Replace the whole store with a backup. The old store is copied beside it first."""
        self._services.require_person("Restoring a backup")
        from wellkept.api.maintenance.restore import restore

        path = expanded(source).absolute()
        return restore(self._services, path, dry_run=dry_run, progress=progress)

    def _whole(self, filters: FilterArgs) -> Filter:
        """A filter that includes closed and archived memories unless the caller excludes them."""
        return self._services.requests.filter({"validity": "any", "archived": None, **filters})

    # -- Projects ---------------------------------------------------------------------------------

    def projects(self) -> list[tuple[str, int]]:
        """Every project with memories, and how many; largest first."""
        return self._services.store.projects()

    def merge_project(self, alias: str, *, into: str | None = None, dry_run: bool = False) -> int:
        """Make one project an alias of another (default: this one) and move its memories.

        Both are names or identities. Returns how many memories move.
        """
        self._services.require_person("Merging projects")
        from wellkept.project.resolver import parse_identity

        source = parse_identity(alias)
        target = parse_identity(into) if into else self._services.project
        if dry_run:
            return dict(self.projects()).get(source, 0)
        from wellkept.project.project_decision import move_project

        return move_project(self._services.store, source, into=target)

    def preview_join(self, project: str | None = None) -> JoinPreview:
        """What this folder would see if it joined a project, and what it would bring.

        `project` is a name or an identity; the default is the project that this folder is kept
        apart from, or was in before it was moved.
        """
        from wellkept.project.join import preview_join

        if not self._services.project_from_folder:
            raise UsageError(
                f"The project {self._services.project} is named by you, not by its folder.",
                hint="Leave out --project, WELLKEPT_PROJECT and the setting project.",
            )
        return preview_join(self._services.store, self._services.folder, project=project)

    def join_project(self, project: str) -> int:
        """Join this folder to a project, with its memories; returns how many moved."""
        self._services.require_person("Joining a project")
        from wellkept.project.join import join_project
        from wellkept.project.resolver import parse_identity

        moved = join_project(
            self._services.store, self._services.folder, project=parse_identity(project)
        )
        self._services.reset_project()
        return moved
