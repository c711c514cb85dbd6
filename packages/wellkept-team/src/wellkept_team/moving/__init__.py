"""Moving a store between engines: the rows that no port can carry over as they are.

Open `tables.py` first. `move.py` runs a move; memories and vectors go through ports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.core.clock import Clock
    from wellkept_team.moving.engine_io import Side


def open_side(
    location: Path | str, *, clock: Clock, read_only: bool, tenant: str | None = None
) -> Side:
    """The rows of a store, which must exist; on a server, those of one organisation."""
    from pathlib import Path

    from wellkept.store import is_address
    from wellkept_team.moving.engine_io import PostgresSide, SqliteSide

    if isinstance(location, str) and is_address(location):
        from wellkept_team.postgres.connection.database import DEFAULT_TENANT, Database

        return PostgresSide(
            Database(
                location,
                tenant=tenant or DEFAULT_TENANT,
                busy_timeout_ms=30_000,
                read_only=read_only,
            )
        )
    from wellkept.store.sqlite.opening import open_file

    return SqliteSide(
        open_file(Path(location), busy_timeout_ms=30_000, clock=clock, read_only=read_only)
    )
