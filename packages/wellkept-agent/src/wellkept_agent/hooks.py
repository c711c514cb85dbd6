"""The eight hook points of the loop, in order, and how hooks are run.

    on_session_start   before the first model call
    on_user_message    a prompt came in: may change it
    on_before_llm      before each model call: may change the request
    on_after_llm       after each answer: may change it
    on_before_tool     before each tool: may answer in its place
    on_after_tool      after each tool: may change the result
    on_session_end     when the session is closed, with its summary
    on_compaction      before messages are dropped: gets those messages

Hooks of a point run one after another; each sees what the one before it changed. A hook that fails
or takes longer than its limit is reported and skipped; the run goes on as if it were not there.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from wellkept.core.records import record, replace
from wellkept_agent.tools.base import ToolOutput

if TYPE_CHECKING:
    from wellkept.core.chat.messages import Message, ModelRequest, ModelResponse, ToolCallPart
    from wellkept_agent.session import AgentSession, RunResult, ScopedState
    from wellkept_agent.tools.base import Tool, ToolOutput


DEFAULT_TIME_LIMIT_S = 10.0


class HookPoint(StrEnum):
    """Where hooks run, in order."""

    SESSION_START = "on_session_start"
    USER_MESSAGE = "on_user_message"
    BEFORE_LLM = "on_before_llm"
    AFTER_LLM = "on_after_llm"
    BEFORE_TOOL = "on_before_tool"
    AFTER_TOOL = "on_after_tool"
    SESSION_END = "on_session_end"
    COMPACTION = "on_compaction"


@record
class HookContext:
    """Where a hook runs: session, project folder, provider and model; and the session's state."""

    session: str
    project: str
    provider: str
    model: str
    state: ScopedState


@record(kw_only=True)
class SessionSummary:
    """What a session did, for hooks at its end. `files_read` is (path, lines, times)."""

    session: str
    task: str
    files_read: tuple[tuple[str, int, int], ...] = ()
    key_findings: tuple[str, ...] = ()
    tool_usage: tuple[tuple[str, int], ...] = ()
    turns: int = 0
    success: bool = False


Hook: TypeAlias = Callable[..., Any]
"""A function, plain or async. A plain one runs in a thread, so that it cannot hold the loop."""


@record
class _Registered:
    name: str
    call: Hook
    time_limit_s: float


class Hooks:
    """Hooks by point."""

    def __init__(
        self,
        *,
        time_limit_s: float = DEFAULT_TIME_LIMIT_S,
        report: Callable[[str, str], None] | None = None,
    ) -> None:
        self._by_point: dict[HookPoint, list[_Registered]] = {point: [] for point in HookPoint}
        self._time_limit_s = time_limit_s
        self._report = report or _ignore

    def add(
        self,
        point: HookPoint | str,
        hook: Hook,
        *,
        name: str | None = None,
        time_limit_s: float | None = None,
    ) -> None:
        """Register a hook at a point, after those that are there."""
        shown = name or getattr(hook, "__qualname__", repr(hook))
        limit = self._time_limit_s if time_limit_s is None else time_limit_s
        self._by_point[HookPoint(point)].append(_Registered(shown, hook, limit))

    def remove(self, hook: Hook) -> None:
        """Take a hook out of every point."""
        for hooks in self._by_point.values():
            hooks[:] = [one for one in hooks if one.call != hook]

    def names(self, point: HookPoint | str) -> list[str]:
        """The hooks of a point, in order."""
        return [one.name for one in self._by_point[HookPoint(point)]]

    # -- One method for each point ----------------------------------------------------------------

    async def session_start(self, context: HookContext) -> None:
        """Run the hooks before the first model call."""
        await self._run_all(HookPoint.SESSION_START, context)

    async def user_message(self, context: HookContext, text: str) -> str:
        """Run the hooks of a prompt; returns it as they changed it."""
        return await self._thread(HookPoint.USER_MESSAGE, context, text)

    async def before_llm(self, context: HookContext, request: ModelRequest) -> ModelRequest:
        """Run the hooks before a model call; returns the request as they changed it."""
        return await self._thread(HookPoint.BEFORE_LLM, context, request)

    async def after_llm(self, context: HookContext, response: ModelResponse) -> ModelResponse:
        """Run the hooks after an answer; returns it as they changed it."""
        return await self._thread(HookPoint.AFTER_LLM, context, response)

    async def before_tool(self, context: HookContext, call: ToolCallPart) -> ToolOutput | None:
        """Run the hooks before a tool; the first answer is taken in the tool's place."""
        for one in self._by_point[HookPoint.BEFORE_TOOL]:
            answer = await self._run(HookPoint.BEFORE_TOOL, one, context, call)
            if answer is not None:
                return ToolOutput(content=answer) if isinstance(answer, str) else answer
        return None

    async def after_tool(
        self, context: HookContext, call: ToolCallPart, output: ToolOutput
    ) -> ToolOutput:
        """Run the hooks after a tool; returns the output as they changed it."""
        for one in self._by_point[HookPoint.AFTER_TOOL]:
            changed = await self._run(HookPoint.AFTER_TOOL, one, context, call, output)
            if isinstance(changed, str):
                output = replace(output, content=changed)
            elif changed is not None:
                output = changed
        return output

    async def session_end(self, context: HookContext, summary: SessionSummary) -> None:
        """Run the hooks at the end of a session."""
        await self._run_all(HookPoint.SESSION_END, context, summary)

    async def compaction(self, context: HookContext, messages: Sequence[Message]) -> None:
        """Run the hooks before messages are dropped."""
        await self._run_all(HookPoint.COMPACTION, context, tuple(messages))

    # -- Running ----------------------------------------------------------------------------------

    async def _run_all(self, point: HookPoint, *arguments: object) -> None:
        for one in self._by_point[point]:
            await self._run(point, one, *arguments)

    async def _thread(self, point: HookPoint, context: HookContext, value: Any) -> Any:
        for one in self._by_point[point]:
            changed = await self._run(point, one, context, value)
            value = value if changed is None else changed
        return value

    async def _run(self, point: HookPoint, one: _Registered, *arguments: object) -> Any:
        try:
            return await asyncio.wait_for(_called(one.call, arguments), one.time_limit_s)
        except TimeoutError:
            self._report(one.name, f"{point} took longer than {one.time_limit_s:g} s; skipped.")
        except Exception as error:  # noqa: BLE001 - a hook is somebody else's code
            self._report(one.name, f"{point} failed: {type(error).__name__}: {error}")
        return None


def _ignore(_name: str, _problem: str) -> None:
    pass


async def _called(hook: Hook, arguments: Sequence[object]) -> Any:
    if inspect.iscoroutinefunction(hook):
        return await hook(*arguments)
    result = await asyncio.to_thread(hook, *arguments)
    return await _awaited(result) if inspect.isawaitable(result) else result


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


# -- A capability: hooks, tools and instructions that belong together -----------------------------


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
