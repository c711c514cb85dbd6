"""Agent runtime: a loop with memory.

    from wellkept.agent import Agent

    agent = Agent(model, tools=[...], capabilities=[...])
    result = await agent.run("Fix the failing test")

`Agent` is a configuration; a `session` of it is one conversation. Open `loop` first: it is short,
and everything else is a hook, a tool or a capability of it.

- `loop`, `session`, `tool_calls`, `control`: the turn, what it works on, how it stops
- `conversation`, `state`, `events`, `hooks`, `capability`, `settings`: its parts
- `permissions`, `person`: what may be done, and who is asked
- `tools/`: what a tool is, and one module per tool

Chat models are behind `core.ports.agent_model`; this package knows no vendor, no database and no
client.
"""

from __future__ import annotations

from wellkept.agent.agent import Agent
from wellkept.agent.capability import Capability
from wellkept.agent.control import RunEnd
from wellkept.agent.hooks import HookContext, HookPoint, SessionSummary
from wellkept.agent.permissions import PermissionMode
from wellkept.agent.person import Decision, PermissionRequest, Person, Question
from wellkept.agent.session import AgentSession, RunResult
from wellkept.agent.settings import LoopSettings
from wellkept.agent.tools.base import Tool, ToolOutput, TypedTool, tool
from wellkept.agent.tools.context import ToolContext

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
    "RunResult",
    "SessionSummary",
    "Tool",
    "ToolContext",
    "ToolOutput",
    "TypedTool",
    "tool",
]
