"""Memory for the people of a team: one `Wellkept` for each person and project, over one pool."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from wellkept.api.wiring.services import DATABASE_NAME, Services
from wellkept.core.clock import Clock, system_clock
from wellkept.core.team.people import Principal
from wellkept_team.people.policies import policy_of

if TYPE_CHECKING:
    from wellkept.api.wellkept import Wellkept
    from wellkept.core.ports.models import Embedder
    from wellkept.core.ports.store import Store
    from wellkept.core.ports.team import TeamDatabase, TeamStore
    from wellkept.core.settings.model import Settings
    from wellkept.core.team.people import Principal
    from wellkept.core.team.records import TeamPolicy

GENERAL: Final = "general"
"""The project of those who name none."""


class TeamMemories:
    """Opens memory for whoever asks. The embedder is loaded once for all."""

    def __init__(
        self,
        teams: TeamDatabase,
        *,
        settings: Settings,
        folder: Path,
        environment: Mapping[str, str],
        clock: Clock = system_clock,
        embedder: Embedder | str | None = None,
    ) -> None:
        """`folder` is empty, and stays so but for what the server itself keeps."""
        self.teams = teams
        self._settings = settings
        self._folder = folder
        self._environment = environment
        self._clock = clock
        self._given_embedder = embedder
        self._shared_embedder: Embedder | str | None = None
        self._lock = Lock()

    def open(self, principal: Principal, project: str) -> Wellkept:
        """The memory of a project for one person."""
        from wellkept.api.wellkept import Wellkept

        view = TeamView(self.teams, principal)
        return Wellkept(self._services(project or GENERAL, view, self._embedder(view)))

    def _embedder(self, view: TeamView) -> Embedder | str:
        with self._lock:
            if self._shared_embedder is None:
                first = self._services(GENERAL, view, self._given_embedder)
                self._shared_embedder = first.embedder or "none"
            return self._shared_embedder

    def _services(self, project: str, view: TeamView, embedder: Embedder | str | None) -> Services:
        return Services(
            self._settings,
            path=self._folder / DATABASE_NAME,
            project=project,
            folder=self._folder,
            embedder=embedder,
            clock=self._clock,
            environment=self._environment,
            team=view,
        )


# -- What one person of a team sees of its database -----------------------------------------------


class TeamView:
    """What one person of a team sees: the store, and the policies."""

    def __init__(self, teams: TeamDatabase, principal: Principal) -> None:
        self._team: TeamStore = teams.team_of(principal)
        self.store: Store = teams.store_of(principal)

    def policy(self, project: str) -> TeamPolicy:
        """The policy that holds for a project, as of now."""
        return policy_of(self._team, project)
