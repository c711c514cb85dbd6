"""All doors of the agent and of teams: what their `plugin` modules are checked against.

`wk` is a `Wellkept`: not named here, because parts of that class open these doors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from wellkept.context.start.session_start import HandoffDoor
from wellkept.core.ports.plugins import AgentSettingDoors, TeamStoreDoors
from wellkept.observe.observer.learn import SharedFilesDoor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path
    from types import ModuleType

    from wellkept.api.http.endpoints import Endpoint
    from wellkept.api.wiring.services import Services
    from wellkept.core.ports.models import AgentModel
    from wellkept.core.ports.store import KeyValueStore
    from wellkept.core.ports.transcripts import AgentSessionInfo
    from wellkept.core.query import Finding
    from wellkept.memory.engine import Engine


class HasCommands(Protocol):
    """A distribution with commands of its own."""

    def command(self, name: str) -> ModuleType:
        """The module of a command."""
        ...


class AgentPlugin(HasCommands, AgentSettingDoors, Protocol):
    """What `wellkept_agent` adds."""

    def build_agent(
        self,
        wk: Any,
        model: AgentModel | str | None,
        *,
        tools: Sequence[Any] | None,
        capabilities: tuple[Callable[[], Any], ...],
        permission_mode: str | None,
        person: Any | None,
        instructions: str,
        max_steps: int | None,
        memory: bool | None,
        phase: str | None,
        stage: str | None,
        complexity: str | None,
        mcp_config: tuple[Path, ...],
        output_type: Any,
    ) -> Any:
        """A `wellkept_agent.Agent`."""
        ...

    def agent_sessions(self, wk: Any, *, limit: int) -> Sequence[AgentSessionInfo]: ...

    def usage_line(self, wk: Any) -> str:
        """What the agent has counted, in a line; empty when there is nothing."""
        ...

    def chat_model(self, wk: Any) -> AgentModel | None:
        """The model that the agent's settings name."""
        ...


class TeamPlugin(HasCommands, TeamStoreDoors, SharedFilesDoor, HandoffDoor, Protocol):
    """What `wellkept_team` adds."""

    def serve(
        self,
        database: str | None,
        *,
        host: str,
        port: int,
        hosts: tuple[str, ...],
        folder: Path,
        is_json: bool,
    ) -> None:
        """`wellkept serve --database`."""
        ...

    def endpoints(self) -> Sequence[Endpoint]:
        """Routes of a team's server and of sync."""
        ...

    def sync_due(
        self,
        engine: Engine,
        *,
        environment: Mapping[str, str],
        at_once: bool = ...,
        stop: Callable[[], bool] = ...,
    ) -> Sequence[str]:
        """Share what is due with the teams' servers; returns the projects looked at."""
        ...

    def findings(self, store: KeyValueStore, now: datetime) -> Sequence[Finding]:
        """Lines of `doctor`."""
        ...

    def sharing(self, services: Services) -> Any:
        """`wk.sharing`, a `wellkept_team.sharing.git_tier.Sharing`."""
        ...

    def team_memory(self, services: Services) -> Any:
        """`wk.team_memory`, a `wellkept_team.sharing.server_tier.TeamMemory`."""
        ...

    def remote(self, services: Services) -> Any:
        """`wk.remote`, a `wellkept_team.sync.api.Remotes`."""
        ...
