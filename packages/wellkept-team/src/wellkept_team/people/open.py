"""Opens the database of a team, as the settings or a caller name it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.clock import Clock, system_clock
from wellkept.core.errors import UsageError

if TYPE_CHECKING:
    from wellkept.core.ports.team import TeamDatabase
    from wellkept.core.settings.model import Settings


def open_team_database(
    url: str | None, settings: Settings, *, clock: Clock = system_clock
) -> TeamDatabase:
    """The database at an address, or the one of the settings."""
    from wellkept.store import is_address
    from wellkept_team.postgres.team.team_database import PostgresTeams

    address = url or settings.team_database
    if not address:
        raise UsageError(
            "No database of a team is named.",
            hint="Give --database postgresql://user@host:5432/database, or set team.database.",
        )
    if not is_address(address):
        raise UsageError(
            "A team needs a PostgreSQL database.",
            hint="Name it by its address: postgresql://user@host:5432/database.",
        )
    return PostgresTeams(
        address,
        max_connections=settings.team_max_connections,
        clock=clock,
    )
