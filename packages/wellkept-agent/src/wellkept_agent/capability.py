"""A capability: hooks, tools and instructions that belong together.

Compaction, session memory, plan mode, thinking, recall and skills are each one. A subclass
overrides what it needs; only overridden hooks are registered, so that an agent without capabilities
behaves as a plain loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from wellkept_agent.hooks import DEFAULT_TIME_LIMIT_S, HookPoint, Hooks

if TYPE_CHECKING:
    from wellkept.core.chat.messages import Message, ModelRequest, ModelResponse, ToolCallPart
    from wellkept_agent.hooks import HookContext, SessionSummary
    from wellkept_agent.session import AgentSession, RunResult
    from wellkept_agent.tools.base import Tool, ToolOutput


class Capability:
    """Base of everything that is added to a loop. One object serves one session."""

    name: ClassVar[str] = "capability"
    time_limit_s: float = DEFAULT_TIME_LIMIT_S
    in_subagents: ClassVar[bool] = False
    """Whether a sub-agent gets it too."""

    def attach(self, session: AgentSession) -> None:
        """Remember the session; called once, before anything else."""

    def for_subagent(self) -> Capability | None:
        """The capability as a sub-agent gets it; None when it does not."""
        return type(self)() if self.in_subagents else None

    def tools(self) -> Sequence[Tool]:
        """Tools that belong to it."""
        return ()

    def instructions(self) -> str:
        """Text for the stable part of the system prompt."""
        return ""

    def keep_going(self) -> str | None:
        """A reason why the turn must not end yet, told to the model; None when it may."""
        return None

    async def make_room(self) -> bool:
        """Make the conversation shorter: the model said that it is too long. Whether it is now."""
        return False

    def turn_ended(self, result: RunResult) -> None:
        """A turn is over."""

    async def on_session_start(self, context: HookContext) -> None: ...

    async def on_user_message(self, context: HookContext, text: str) -> str | None: ...

    async def on_before_llm(
        self, context: HookContext, request: ModelRequest
    ) -> ModelRequest | None: ...

    async def on_after_llm(
        self, context: HookContext, response: ModelResponse
    ) -> ModelResponse | None: ...

    async def on_before_tool(
        self, context: HookContext, call: ToolCallPart
    ) -> ToolOutput | None: ...

    async def on_after_tool(
        self, context: HookContext, call: ToolCallPart, output: ToolOutput
    ) -> ToolOutput | None: ...

    async def on_session_end(self, context: HookContext, summary: SessionSummary) -> None: ...

    async def on_compaction(self, context: HookContext, messages: Sequence[Message]) -> None: ...


def register(capability: Capability, hooks: Hooks) -> None:
    """Register the hooks that a capability overrides."""
    for point in HookPoint:
        if getattr(type(capability), point) is not getattr(Capability, point):
            hooks.add(
                point,
                getattr(capability, point),
                name=capability.name,
                time_limit_s=capability.time_limit_s,
            )
