"""A file of its own for what can be built again: how it is opened and closed.

Apart from the memories, so that a long build never keeps a memory waiting and a backup does not
carry it. What is in it is the business of whoever inherits from `DerivedFile`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from wellkept.core.clock import Clock
from wellkept.store.sqlite.connection.database import Database
from wellkept.store.sqlite.migrations import Migration
from wellkept.store.sqlite.opening import open_file


class DerivedFile:
    """One SQLite file with a schema and a mark of its own."""

    steps: ClassVar[Sequence[Migration]]
    application_id: ClassVar[int]

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(
        cls, path: Path, *, busy_timeout_ms: int, clock: Clock, read_only: bool = False
    ) -> Self:
        """Open the file, making or migrating it as needed; one that cannot be written is read."""
        return cls(
            open_file(
                path,
                busy_timeout_ms=busy_timeout_ms,
                clock=clock,
                read_only=read_only,
                steps=cls.steps,
                application_id=cls.application_id,
            )
        )

    def close(self) -> None:
        """Let go of every connection."""
        self._database.close()
