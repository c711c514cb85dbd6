"""What an open memory says to the loop: the same operation that answers the hooks of clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.session.hook_context import HookContext

if TYPE_CHECKING:
    from wellkept.context.moment import ContextLimits
    from wellkept.core.session.hook_context import HookContextRequest
    from wellkept_agent.wiring.memory import AgentMemory

SKILL_TIMEOUT_S = 1.0


class MemoryContext:
    """The context source of one memory."""

    def __init__(self, wk: AgentMemory, limits: ContextLimits) -> None:
        self._wk = wk
        self._limits = limits

    def __call__(self, request: HookContextRequest, shown: frozenset[str], /) -> HookContext:
        from wellkept.context.moment import context_for, silenced

        asked = silenced(request, shown)
        if asked is None:
            return HookContext()
        request, quiet = asked
        return context_for(
            self._wk,
            request,
            shown,
            quiet=quiet,
            skill_timeout_s=SKILL_TIMEOUT_S,
            limits=self._limits,
        )
