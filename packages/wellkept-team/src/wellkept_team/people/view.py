"""What one person of a team sees of its database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept_team.people.policies import policy_of

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store
    from wellkept.core.ports.team import TeamDatabase, TeamStore
    from wellkept.core.team.people import Principal
    from wellkept.core.team.records import TeamPolicy


class TeamView:
    """What one person of a team sees: the store, and the policies."""

    def __init__(self, teams: TeamDatabase, principal: Principal) -> None:
        self._team: TeamStore = teams.team_of(principal)
        self.store: Store = teams.store_of(principal)

    def policy(self, project: str) -> TeamPolicy:
        """The policy that holds for a project, as of now."""
        return policy_of(self._team, project)
