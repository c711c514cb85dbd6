"""Opens stores of the test server: every path has a tenant of its own."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from wellkept.core.clock import system_clock
from wellkept_team.postgres.search.vector_index import LARGE_PROJECT
from wellkept_team.postgres.store import PostgresStore


def open_tenant(
    url: str, path: Path, *, read_only: bool = False, large_project: int = LARGE_PROJECT
) -> PostgresStore:
    """The store of a path."""
    return PostgresStore.open(
        url,
        tenant=sha256(str(path).encode()).hexdigest()[:20],
        clock=system_clock,
        read_only=read_only,
        large_project=large_project,
    )
