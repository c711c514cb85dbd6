"""Memories in and out of a store, as verbs of `Wellkept`: export, import, intake, backup,
restore.

Paths are taken as a person types them. Knows which project is open; how a format is written and
read is in `wellkept.memory.portable`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO, Unpack

from wellkept.app.settings.paths import expanded
from wellkept.core.errors import UsageError

if TYPE_CHECKING:
    from wellkept.app.imports.repository import IntakeReport
    from wellkept.app.maintenance.restore import RestoreReport
    from wellkept.app.wiring.keyword_types import FilterArgs
    from wellkept.app.wiring.services import Services
    from wellkept.core.ports.store import Progress
    from wellkept.core.query import Filter
    from wellkept.memory.exchange.jsonl import ImportReport
    from wellkept.memory.exchange.markdown_import import MarkdownReport


class Exchange:
    """The part of `Wellkept` that reads and writes copies."""

    _wires: Services

    def export(
        self,
        target: str | Path | TextIO,
        *,
        overwrite: bool = False,
        progress: Progress | None = None,
        **which: Unpack[FilterArgs],
    ) -> int:
        """Write memories as JSONL, closed and archived ones too unless `which` says otherwise."""
        from wellkept.memory.exchange.jsonl import export_jsonl, export_jsonl_file

        where = self._whole(which)
        if not isinstance(target, (str, Path)):
            return export_jsonl(self._wires.engine, where, target, progress=progress)
        path = expanded(target)
        return export_jsonl_file(
            self._wires.engine, where, path, overwrite=overwrite, progress=progress
        )

    def export_markdown(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        progress: Progress | None = None,
        **which: Unpack[FilterArgs],
    ) -> int:
        """Write memories for people: a folder of Markdown that can be edited and read back."""
        from wellkept.memory.exchange.markdown_export import export_markdown

        path, where = expanded(folder), self._whole(which)
        return export_markdown(
            self._wires.engine, where, path, overwrite=overwrite, progress=progress
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
        """Take in an export; with `here` all of it comes into this project."""
        from wellkept.memory.exchange.jsonl import import_jsonl

        return import_jsonl(
            self._wires.engine,
            expanded(source) if isinstance(source, (str, Path)) else source,
            project=self._wires.project if here else None,
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
        """Take in what was edited or added in a folder of Markdown."""
        from wellkept.memory.exchange.markdown_import import import_markdown

        return import_markdown(
            self._wires.engine,
            expanded(folder),
            project=self._wires.project,
            close_removed=close_removed,
            dry_run=dry_run,
            progress=progress,
        )

    def take_in(
        self,
        *,
        limit_commits: int = 500,
        refresh: bool = False,
        progress: Progress | None = None,
    ) -> IntakeReport:
        """Take in the project's own documents and history; doing it again adds only what is new."""
        from wellkept.app.imports.repository import take_in

        return take_in(
            self._wires.engine,
            self._wires.project,
            self._wires.identity.root,
            limit_commits=limit_commits,
            refresh=refresh,
            progress=progress,
        )

    def backup(self, target: str | Path, *, progress: Progress | None = None) -> Path:
        """Copy the whole store into a new file that only its owner can read."""
        path = expanded(target).absolute()
        if not path.parent.is_dir():
            raise UsageError(f"There is no folder {path.parent}.", hint="Make it first.")
        self._wires.engine.store.backup(path, progress=progress)
        path.chmod(0o600)
        return path

    def restore(
        self, source: str | Path, *, dry_run: bool = False, progress: Progress | None = None
    ) -> RestoreReport:
        """Put a backup in the place of the whole store; what was there is copied beside it."""
        from wellkept.app.maintenance.restore import restore

        path = expanded(source).absolute()
        return restore(self._wires, path, dry_run=dry_run, progress=progress)

    def _whole(self, which: FilterArgs) -> Filter:
        """The filter of a complete copy: history belongs to it unless the caller says otherwise."""
        return self._wires.asker.filter({"validity": "any", "archived": None, **which})
