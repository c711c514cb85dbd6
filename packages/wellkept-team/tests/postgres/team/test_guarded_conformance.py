"""Search and shared records as one person sees them pass the suite of every engine, row-level security and all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.postgres_team import NewTeam, Team
from tests.support.conformance.search import SearchConformance
from tests.support.conformance.shared_records import SharedRecordsConformance
from tests.support.conformance.vectors import VectorConformance
from wellkept.core.ports.store import Store
from wellkept.core.team.people import Role


@pytest.mark.feature("T2")
class TestGuarded(SearchConformance, VectorConformance, SharedRecordsConformance):
    """The PostgreSQL engine, as an administrator of an organisation."""

    @pytest.fixture
    def open_at(self, new_team: NewTeam) -> Callable[[Path], Store]:
        teams: dict[Path, Team] = {}

        def open_path(path: Path) -> Store:
            team = teams.setdefault(path, teams.get(path) or new_team())
            return team.server.store_of(team.person(Role.ADMIN))

        return open_path
