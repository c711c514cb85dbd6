"""Checking, repairing and copying a whole store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.core.query import Finding
    from wellkept.core.types import Progress


class StoreMaintenance(Protocol):
    """Maintenance of a whole store."""

    def check(self, *, deep: bool = False) -> list[Finding]:
        """Damage, and drift between rows and indexes. Changes nothing."""
        ...

    def repair(self, *, progress: Progress | None = None) -> list[Finding]:
        """Rebuild the derived indexes from the rows; returns what was repaired."""
        ...

    def continue_upgrade(self) -> bool:
        """Do one short step of what a migration left for later; False when nothing is left."""
        ...

    def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        """Write a consistent copy while other processes keep working."""
        ...

    def compact_storage(self) -> None:
        """Release unused space and refresh the engine's statistics."""
        ...

    def size_bytes(self) -> int:
        """Space used on disk."""
        ...

    def describe(self) -> dict[str, str]:
        """Engine, version, schema version and location, for people."""
        ...

    def close(self) -> None:
        """Flush and close. A closed store raises StoreError when used."""
        ...
