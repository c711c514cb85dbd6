"""`Wellkept.agent`: an agent with this memory, and the sessions it had."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.api.plugins import AgentPlugin
    from wellkept.core.ports.models import AgentModel
    from wellkept.core.ports.transcripts import AgentSessionInfo


class AgentMethods:
    """Part of `Wellkept`."""

    def agent(
        self,
        model: AgentModel | str | None = None,
        *,
        tools: Iterable[Any] | None = None,
        capabilities: Iterable[Callable[[], Any]] = (),
        permission_mode: str | None = None,
        person: Any | None = None,
        instructions: str = "",
        max_steps: int | None = None,
        memory: bool | None = None,
        phase: str | None = None,
        stage: str | None = None,
        complexity: str | None = None,
        mcp_config: Iterable[Path] = (),
        output_type: Any = str,
    ) -> Any:
        """An agent that works in this project and remembers.

        `model` is "provider:name" or an object with the methods of `AgentModel`; the default comes
        from the settings. `tools` replaces the usual tools; a plain function is one. With an
        `output_type` results have an `output` of it. `capabilities` are made anew for each
        session, after the usual ones. Without a `person` nothing that needs a yes is done. `phase`
        or `stage` of the methodology say what the work is about; a stage is told what earlier ones
        hand on. A task of `complexity` trivial is told less. `mcp_config` are files of MCP servers
        that are started beside the user's and the project's, without a question. Sessions come
        from `agent.session()`, earlier ones from `agent.session(resume="last")`.
        """
        from wellkept.core.doors import require_plugin

        plugin: AgentPlugin = require_plugin("agent")
        return plugin.build_agent(
            self,
            model,
            tools=None if tools is None else tuple(tools),
            capabilities=tuple(capabilities),
            permission_mode=permission_mode,
            person=person,
            instructions=instructions,
            max_steps=max_steps,
            memory=memory,
            phase=phase,
            stage=stage,
            complexity=complexity,
            mcp_config=tuple(mcp_config),
            output_type=output_type,
        )

    def agent_sessions(self, *, limit: int = 50) -> Sequence[AgentSessionInfo]:
        """The agent sessions of this project that can be resumed, latest first."""
        from wellkept.core.doors import require_plugin

        plugin: AgentPlugin = require_plugin("agent")
        return plugin.agent_sessions(self, limit=limit)
