"""Replaces the database with a backup.

A dry run changes nothing. The current store is not opened: a damaged one could not be.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.errors import StoreError, StoreReadOnlyError, UsageError
from wellkept.core.query import StoreContents
from wellkept.core.records import record, replace

if TYPE_CHECKING:
    from wellkept.api.wiring.services import Services
    from wellkept.core.types import Progress


@record(kw_only=True)
class RestoreReport:
    """What replaces what. `present` is None when there is no database, or when `problem` says why
    it cannot be read; `kept` is the copy of it. Without `in_place` the database is a new file:
    restart processes that had the old one open."""

    source: Path
    target: Path
    backup: StoreContents
    present: StoreContents | None
    problem: str | None = None
    kept: Path | None = None
    in_place: bool = True


def restore(
    services: Services, source: Path, *, dry_run: bool = False, progress: Progress | None = None
) -> RestoreReport:
    """Verify a backup and, unless it is a dry run, put it in place."""
    from wellkept.core.settings.paths import make_private_file
    from wellkept.store import restore_store, verify_backup

    if services.read_only:
        raise StoreReadOnlyError("This Wellkept was opened for reading only.")
    if services.url:
        raise UsageError(
            "A backup is restored into a database file, not into a server.",
            hint="Name the file with --store, or restore the server with its own tools.",
        )
    present, problem = _present(services.path)
    found = RestoreReport(
        source=source,
        target=services.path,
        backup=verify_backup(source, services.path),
        present=present,
        problem=problem,
    )
    if dry_run:
        return found
    make_private_file(services.path)
    done = restore_store(
        source,
        services.path,
        clock=services.clock,
        progress=progress,
    )
    services.reset_model_state()
    return replace(found, kept=done.kept, in_place=done.in_place)


def _present(path: Path) -> tuple[StoreContents | None, str | None]:
    from wellkept.store import inspect_database

    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return None, None
    try:
        return inspect_database(path), None
    except StoreError as error:
        return None, error.message
