"""Agent runtime: a loop with memory.

    from wellkept_agent import Agent

    agent = Agent(model, tools=[...], capabilities=[...])
    result = await agent.run("Fix the failing test")

`Agent` is a configuration; a `session` of it is one conversation. Open `loop` first: it is short,
and everything else is a hook, a tool or a capability of it.

- `loop`, `session`, `tool_calls`, `control`: the turn, what it works on, how it stops
- `conversation`, `state`, `events`, `hooks`, `capability`, `settings`: its parts
- `permissions`, `person`: what may be done, and who is asked
- `tools/`: what a tool is, and one module per tool

Chat models are behind `core.ports.models`; this package knows no vendor, no database and no
client.
"""

from __future__ import annotations

from wellkept_agent.agent import Agent
from wellkept_agent.control import RunEnd, RunFailedError
from wellkept_agent.hooks import Capability, HookContext, HookPoint, SessionSummary
from wellkept_agent.permissions import Decision, PermissionMode, PermissionRequest, Person, Question
from wellkept_agent.session import AgentSession, RunResult
from wellkept_agent.settings import LoopSettings
from wellkept_agent.tools.base import Tool, ToolContext, ToolOutput, TypedTool, tool

__all__ = [
    "Agent",
    "AgentSession",
    "Capability",
    "Decision",
    "HookContext",
    "HookPoint",
    "LoopSettings",
    "PermissionMode",
    "PermissionRequest",
    "Person",
    "Question",
    "RunEnd",
    "RunFailedError",
    "RunResult",
    "SessionSummary",
    "Tool",
    "ToolContext",
    "ToolOutput",
    "TypedTool",
    "tool",
]
