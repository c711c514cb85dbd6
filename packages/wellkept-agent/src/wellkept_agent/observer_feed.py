"""The observer is fed by the loop: what happens in a run becomes events like those of any client.

A tool call is told as it was, before anything was added to its result. Prompts are told as the
person wrote them. So this capability comes first: what others inject is never captured again.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from wellkept.core.chat.messages import MessageKind
from wellkept.core.chat.runtime_events import CLIENT
from wellkept.core.clock import system_clock
from wellkept.core.records import replace
from wellkept.core.session.events import (
    Compacted,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentEnded,
    SubagentStarted,
    TokenUsage,
    ToolCalled,
    ToolKind,
    TurnEnded,
)
from wellkept_agent import events as seen
from wellkept_agent.hooks import Capability

if TYPE_CHECKING:
    from wellkept.core.chat.messages import ModelUsage, ToolCallPart
    from wellkept_agent.hooks import HookContext, SessionSummary
    from wellkept_agent.session import AgentSession, RunResult
    from wellkept_agent.tools.base import ToolOutput

MEMORY_TOOL_PREFIXES = ("memory_", "Memory", "mcp:wellkept:")
"""What these tools answer is memory already."""
_FILE_KINDS = frozenset({ToolKind.READ, ToolKind.EDIT, ToolKind.WRITE})
_NO_OUTPUT = "(No output"
_EXIT = re.compile(r"\A\s*Exit code:? (-?\d+)[^\n]*(?:\n|\Z)", re.IGNORECASE)


class EventSink(Protocol):
    """Takes events. Never raises: what cannot be kept is lost, not the run."""

    def put(self, event: Event) -> None: ...


OpenSink: TypeAlias = "Callable[[AgentSession], EventSink]"
"""Gives the sink of a session."""


class ObserverFeed(Capability):
    """Turns a run into events. A sub-agent's calls carry its name."""

    name: ClassVar[str] = "observer feed"

    def __init__(
        self, open_sink: OpenSink, *, clock: Callable[[], datetime] = system_clock
    ) -> None:
        self._open_sink = open_sink
        self._clock = clock
        self._began: dict[str, tuple[float, str]] = {}
        self._is_started = False

    def for_subagent(self) -> Capability:
        """A sub-agent's calls go to the same sink."""
        return ObserverFeed(self._open_sink, clock=self._clock)

    def attach(self, session: AgentSession) -> None:
        """Listen to what no hook tells."""
        self._session = session
        self._sink = self._open_sink(session)
        if session.parent is None:
            session.listen(self._heard)

    # -- Hooks ------------------------------------------------------------------------------------

    async def on_session_start(self, context: HookContext) -> None:
        """A session began, was resumed, or begins anew after compaction."""
        if self._session.parent is not None:
            return
        source = "compact" if self._is_started else self._session.start_source
        self._is_started = True
        await self._put(SessionStarted(origin=self._origin(), source=source, model=context.model))

    async def on_user_message(self, context: HookContext, text: str) -> str | None:
        """A person wrote something; the brief of a sub-agent is no prompt."""
        if self._session.parent is None and text.strip():
            await self._put(PromptSubmitted(origin=self._origin(), text=text))
        return None

    async def on_before_tool(self, context: HookContext, call: ToolCallPart) -> ToolOutput | None:
        """Note when and in which folder a call began: a command may change the folder."""
        self._began[call.id] = (time.monotonic(), str(self._session.working_directory))
        return None

    async def on_after_tool(
        self, context: HookContext, call: ToolCallPart, output: ToolOutput
    ) -> ToolOutput | None:
        """A tool has run. What was refused or held did not: nothing is to be learned of it."""
        if not output.has_run:
            self._began.pop(call.id, None)
            return None
        await self._put(self._tool_called(call, output))
        return None

    async def on_session_end(self, context: HookContext, summary: SessionSummary) -> None:
        """The session is over."""
        if self._session.parent is not None:
            return
        usage = token_usage(self._session.control.usage)
        end = self._session.last_end
        reason = "other" if end is None else end.value
        await self._put(SessionEnded(origin=self._origin(), reason=reason, usage=usage))

    def turn_ended(self, result: RunResult) -> None:
        """A turn is over."""
        if self._session.parent is not None:
            return
        usage = token_usage(result.usage)
        self._sink.put(
            TurnEnded(origin=self._origin(), last_message=result.text or None, usage=usage)
        )

    # -- Events -----------------------------------------------------------------------------------

    def _heard(self, event: seen.AgentEvent) -> None:
        match event:
            case seen.CompactionCompleted():
                self._sink.put(self._compacted("auto"))
            case seen.SessionMemoryCompactApplied():
                self._sink.put(self._compacted("session_memory"))
            case seen.SubagentStarted(agent=agent, agent_type=kind):
                self._sink.put(SubagentStarted(origin=self._origin(agent), agent_type=kind))
            case seen.SubagentFinished(agent=agent, agent_type=kind):
                self._sink.put(SubagentEnded(origin=self._origin(agent), agent_type=kind))
            case _:
                pass

    def _compacted(self, trigger: str) -> Compacted:
        turns = self._session.conversation.turns
        summaries = [one.text for one in turns if one.kind is MessageKind.SUMMARY]
        summary = summaries[-1] if summaries else None
        return Compacted(origin=self._origin(), trigger=trigger, summary=summary)

    def _tool_called(self, call: ToolCallPart, output: ToolOutput) -> ToolCalled:
        tool = self._session.tools.get(call.name)
        kind = ToolKind.OTHER if tool is None else tool.kind
        given = call.args
        text, error = _result(output, kind)
        is_memory = call.name.startswith(MEMORY_TOOL_PREFIXES)
        began, cwd = self._began.pop(call.id, (None, None))
        return ToolCalled(
            origin=replace(self._origin(), cwd=cwd) if cwd else self._origin(),
            call_id=call.id,
            name=_client_name(call.name),
            kind=kind,
            files=output.files or _named_file(given, kind),
            command=output.command or _text(given, "command", kind is ToolKind.SHELL),
            query=output.query or _text(given, "skill", call.name == "Skill"),
            edits=output.edits,
            answers=output.answers,
            input="" if kind in _FILE_KINDS or kind is ToolKind.SHELL else call.arguments,
            output="" if is_memory else text,
            error=error,
            duration_ms=None if began is None else int((time.monotonic() - began) * 1000),
        )

    def _origin(self, agent: str | None = None) -> Origin:
        return Origin(
            event_id="",
            client=CLIENT,
            session_id=self._session.id,
            at=self._clock(),
            cwd=str(self._session.working_directory),
            agent=agent or self._session.agent,
        )

    async def _put(self, event: Event) -> None:
        await asyncio.to_thread(self._sink.put, event)


def token_usage(usage: ModelUsage) -> TokenUsage:
    """Tokens as the observer counts them: without what came from the provider's cache."""
    return TokenUsage(
        input=usage.input + usage.cache_write, cached=usage.cache_read, output=usage.output
    )


def _client_name(name: str) -> str:
    """A tool's name as other clients write it: `mcp:server:tool` is `mcp__server__tool`."""
    return name.replace(":", "__") if name.startswith("mcp:") else name


def _result(output: ToolOutput, kind: ToolKind) -> tuple[str, str | None]:
    """Output and error of a call; a failed command's output stays apart from its exit code."""
    if not output.is_error:
        # The input of an edit has its changes already.
        if kind in (ToolKind.EDIT, ToolKind.WRITE):
            return "", None
        is_silent = output.content.startswith(_NO_OUTPUT)
        shown = "" if is_silent else output.content
        return (output.display or shown if kind is ToolKind.SHELL else shown), None
    head = _EXIT.match(output.content) if kind is ToolKind.SHELL else None
    if head is not None:
        return output.content[head.end() :], f"Exit code {head[1]}"
    return "", output.content or "failed"


def _named_file(given: dict[str, Any], kind: ToolKind) -> tuple[str, ...]:
    path = given.get("file_path")
    return (path,) if kind in _FILE_KINDS and isinstance(path, str) and path else ()


def _text(given: dict[str, Any], name: str, wanted: bool) -> str | None:
    value = given.get(name) if wanted else None
    return value if isinstance(value, str) and value else None
