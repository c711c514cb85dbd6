"""Task: let a sub-agent work on a part and report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Final
from weakref import WeakKeyDictionary

from pydantic import Field

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.session.events import ToolKind
from wellkept_agent.control import RunEnd
from wellkept_agent.permissions import PermissionMode
from wellkept_agent.plan_mode import PlanModeSettings
from wellkept_agent.tools.base import Arguments, ToolContext, ToolOutput, TypedTool

if TYPE_CHECKING:
    from wellkept_agent.session import AgentSession

_LOOKING: Final = (
    "Read", "Glob", "Grep", "LS", "Cwd", "Bash", "BashOutput", "Analyze", "CodebaseSearch",
    "WebFetch", "WebSearch", "memory_recall",
)  # fmt: skip
_NOT_FOR_SUBAGENTS: Final = frozenset({"Task", "TodoWrite"})


@record(kw_only=True)
class AgentType:
    """A kind of sub-agent. Without `system` it gets the session's own instructions; without
    `tools` all that a sub-agent may have."""

    name: str
    purpose: str
    system: str | None = None
    tools: tuple[str, ...] | None = None
    is_read_only: bool = False


GENERAL: Final = AgentType(
    name="general-purpose", purpose="any task of several steps, with all tools"
)
EXPLORE: Final = AgentType(
    name="Explore",
    purpose="find and read code, fast; changes nothing",
    system=(
        "You explore a code base for another agent and change nothing. Search wide first (Glob,"
        " Grep, CodebaseSearch), then read only what matters; call several tools at once. Report"
        " what was asked: paths with line numbers, how the parts connect, and what you did not"
        " find. No plans, no advice that was not asked for."
    ),
    tools=_LOOKING,
    is_read_only=True,
)
PLAN: Final = AgentType(
    name="Plan",
    purpose="design how to implement something; changes nothing",
    system=(
        "You design an implementation for another agent and change nothing. Read the code that the"
        " task touches and follow the patterns that are there. Report the approach you recommend,"
        " the steps in order, the files to change and why, the risks, and how to verify the result."
    ),
    tools=_LOOKING,
    is_read_only=True,
)


class _TaskArguments(Arguments):
    description: Annotated[str, Field(description="The task in three to five words.")]
    prompt: Annotated[
        str, Field(min_length=1, description="Everything the sub-agent must know; it sees no more.")
    ]
    subagent_type: Annotated[str, Field()] = GENERAL.name
    model: Annotated[str | None, Field()] = None


class Task(TypedTool[_TaskArguments]):
    """Starts sub-agents. Calls that stand side by side run side by side."""

    name = "Task"
    description = (
        "Let a sub-agent work on a part with a conversation of its own and report once. Types:"
        " general-purpose (all tools), Explore (finds and reads code), Plan (designs an approach)."
        " Start several in one answer to have them work side by side."
    )
    kind = ToolKind.TASK
    read_only = True  # what a sub-agent changes is asked for by its own calls
    is_long_running = True

    def __init__(
        self, types: Iterable[AgentType] = (), *, plan_settings: PlanModeSettings | None = None
    ) -> None:
        self._types = {one.name: one for one in (GENERAL, EXPLORE, PLAN, *types)}
        limits = plan_settings or PlanModeSettings()
        self._limits = {EXPLORE.name: limits.explore_agents, PLAN.name: limits.plan_agents}
        self._slots: WeakKeyDictionary[AgentSession, dict[str, _Slots]] = WeakKeyDictionary()

    async def run(self, context: ToolContext, arguments: _TaskArguments) -> ToolOutput:
        """Run the sub-agent to its end."""
        kind = self._type(arguments.subagent_type)
        session = context.session
        own = [one.name for one in session.tools]
        tools = [name for name in kind.tools or own if name not in _NOT_FOR_SUBAGENTS]
        async with self._slot(session, kind.name):
            result = await session.delegate(
                arguments.prompt,
                agent_type=kind.name,
                description=arguments.description,
                system=kind.system,
                tools=tools,
                model=arguments.model,
                is_read_only=kind.is_read_only,
            )
        session.control.raise_if_stopped()
        text = result.text.strip()
        if result.end is RunEnd.DONE and text:
            return ToolOutput(content=text)
        why = f" ({result.detail})" if result.detail else ""
        note = f"[The sub-agent ended early: {result.end.value}{why}. It may be incomplete.]"
        return ToolOutput(content=f"{text}\n{note}".strip(), is_error=True)

    def _type(self, name: str) -> AgentType:
        folded = {one.casefold(): kind for one, kind in self._types.items()}
        kind = folded.get(name.strip().casefold())
        if kind is None:
            known = "; ".join(f"{one.name}: {one.purpose}" for one in self._types.values())
            raise UsageError(f"There is no sub-agent type {name!r}.", hint=f"There are {known}.")
        return kind

    @asynccontextmanager
    async def _slot(self, session: AgentSession, kind: str) -> AsyncGenerator[None]:
        """In plan mode only so many of a type work side by side; others wait."""
        limit = self._limits.get(kind)
        if limit is None or session.permissions.mode is not PermissionMode.PLAN:
            yield
            return
        slots = self._slots.setdefault(session, {})
        loop = asyncio.get_running_loop()
        if kind not in slots or slots[kind].loop is not loop:
            slots[kind] = _Slots(loop, asyncio.Semaphore(limit))
        async with slots[kind].semaphore:
            yield


@record
class _Slots:
    loop: asyncio.AbstractEventLoop
    semaphore: asyncio.Semaphore
