"""Compaction as a capability of the loop: looks before each model call whether room is needed.

Register it before capabilities that add to a request, so that they add to what is left. Settings
switch every part of it off; without a need it changes nothing, so that a provider's prompt cache
survives.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, TypeAlias
from uuid import uuid4

from wellkept.core.chat.messages import Message, MessageKind, user_message
from wellkept.core.clock import Clock, system_clock
from wellkept.core.errors import UsageError
from wellkept.core.records import record, replace
from wellkept_agent.budgets import TokenMeter
from wellkept_agent.compaction import micro
from wellkept_agent.compaction.compactor import CompactionResult, Compactor, Trigger
from wellkept_agent.compaction.micro import SessionFiles
from wellkept_agent.control import RunEnd
from wellkept_agent.events import ContextWarning, MicroCompactionApplied
from wellkept_agent.hooks import Capability
from wellkept_agent.session_memory import SessionMemory
from wellkept_agent.settings import CompactionSettings

if TYPE_CHECKING:
    from wellkept.core.chat.messages import ModelRequest, ModelResponse
    from wellkept_agent.hooks import HookContext, SessionSummary
    from wellkept_agent.session import AgentSession


# -- Settings of compaction; the names that other agents use for them are accepted too ------------


# -- At how many tokens a conversation is compacted, warned about or stopped ----------------------


_FULL_OFFSETS_FROM = 100_000
_SMALL_WINDOW_PERCENT = 80


class Level(StrEnum):
    """How near the limit a conversation is."""

    FINE = "fine"
    WARNING = "warning"
    ERROR = "error"
    BLOCKING = "blocking"


@record(kw_only=True)
class Thresholds:
    """Tokens in use from which something happens; `limit` is the model's window."""

    limit: int
    auto_compact: int
    warning: int
    error: int
    blocking: int

    def level(self, tokens: int) -> Level:
        """How near the limit so many tokens are."""
        if tokens >= self.blocking:
            return Level.BLOCKING
        if tokens >= self.error:
            return Level.ERROR
        return Level.WARNING if tokens >= self.warning else Level.FINE


def thresholds(limit: int, settings: CompactionSettings) -> Thresholds:
    """The thresholds for a window of `limit` tokens."""

    def below(offset: int) -> int:
        return limit - min(offset, offset * limit // _FULL_OFFSETS_FROM)

    # Where the offsets shrink, an estimate that is a little wrong needs more room than they leave.
    usual = 100 if limit >= _FULL_OFFSETS_FROM else _SMALL_WINDOW_PERCENT
    share = (settings.auto_compact_percent or usual) / 100
    return Thresholds(
        limit=limit,
        auto_compact=min(int(limit * share), below(settings.auto_compact_offset)),
        warning=below(settings.warning_offset),
        error=below(settings.error_offset),
        blocking=settings.blocking_limit or below(settings.blocking_offset),
    )


# -- The timeline entry of a compaction: what was talked about, kept as memory of low importance --


IMPORTANCE = 0.3
_WAIT_AT_END_S = 5.0


@record(kw_only=True)
class TimelineEntry:
    """An entry of type timeline: unique key, text, importance, and the session it is from."""

    key: str
    session: str
    content: str
    importance: float = IMPORTANCE


TimelineWriter: TypeAlias = Callable[[TimelineEntry], None]
"""Keeps an entry. Synchronous; called in a thread."""


class Timeline:
    """Writes entries in the background."""

    def __init__(
        self,
        write: TimelineWriter,
        *,
        report: Callable[[str, str], None],
        clock: Clock = system_clock,
    ) -> None:
        self._write = write
        self._report = report
        self._clock = clock
        self._pending: set[asyncio.Task[None]] = set()

    def add(self, session: str, *, segments: int, summary: str) -> None:
        """Write an entry about `segments` messages that a summary replaced."""
        when = f"{self._clock():%Y-%m-%d %H:%M}"
        entry = TimelineEntry(
            key=f"ctx_compressed_{uuid4()}",
            session=session,
            content=f"[{when}] Compressed {segments} conversation segments:\n{summary}",
        )
        task = asyncio.ensure_future(self._written(entry))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def settled(self) -> None:
        """Give pending entries a moment before the session ends."""
        if self._pending:
            await asyncio.wait(set(self._pending), timeout=_WAIT_AT_END_S)

    async def _written(self, entry: TimelineEntry) -> None:
        try:
            await asyncio.to_thread(self._write, entry)
        except Exception as error:  # noqa: BLE001 - the store is somebody else's code
            self._report("compaction", f"The timeline entry was not kept: {error}")


_TIME_LIMIT_S = 600.0
_LEARNED_LIMIT_SHARE = 0.9
_UNKNOWN_LIMIT_SHARE = 0.5
_GROWTH_BEFORE_NEXT = 1.1
_ROOM_MADE_SHARE = 0.75


class Compaction(Capability):
    """Keeps a conversation within the model's window."""

    name: ClassVar[str] = "compaction"
    time_limit_s: float = _TIME_LIMIT_S
    in_subagents: ClassVar[bool] = True

    def __init__(
        self,
        settings: CompactionSettings | None = None,
        *,
        timeline: TimelineWriter | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.settings = settings or CompactionSettings()
        self.compacted_ids: set[tuple[str, str]] = set()
        """Results that were cleared, as (message id, call id): some models use a call id twice."""
        self._write_timeline = timeline
        self._environment = os.environ if environment is None else environment
        self._meter = TokenMeter(self.settings.safety_margin)
        self._lock = asyncio.Lock()
        self._learned_limit: int | None = None
        self._not_below = 0
        self._level = Level.FINE
        self._reported: set[str] = set()

    def for_subagent(self) -> Compaction:
        """A sub-agent's conversation is its own; it leaves no timeline entry."""
        return Compaction(self.settings, environment=self._environment)

    def attach(self, session: AgentSession) -> None:
        """Remember the session."""
        self._session = session
        self._files = SessionFiles(session.folder)
        self._timeline = (
            None
            if self._write_timeline is None
            else Timeline(self._write_timeline, report=session.report)
        )

    async def compact(self, instructions: str = "") -> CompactionResult:
        """Compact now, as a person asked for it, e.g. by `/compact keep the schema`."""
        if self.settings.disable_compact:
            raise UsageError("Compaction is switched off.", hint="Unset DISABLE_COMPACT.")
        turns = self._session.conversation.turns
        if turns and turns[-1].tool_calls:
            raise UsageError("A turn is running.", hint="Compact when it has ended.")
        if not turns:
            return CompactionResult(tier="none")
        return await self._compact("manual", instructions)

    # -- Hooks ------------------------------------------------------------------------------------

    async def on_before_llm(
        self,
        context: HookContext,
        request: ModelRequest,
    ) -> ModelRequest | None:
        """Clear old results, then compact when the conversation comes near the limit."""
        before = self._session.conversation.messages
        if not self.settings.disable_compact:
            if not self.settings.disable_micro_compact:
                await self._micro(self.settings)
            if self._is_due(request):
                await self._compact("auto")
        after = self._session.conversation.messages
        if after != before:
            request = replace(request, messages=_in_place(request.messages, before, after))
        self._warn(request)
        self._meter.sent(request.messages, request.tools)
        return None if after == before else request

    async def on_after_llm(self, context: HookContext, response: ModelResponse) -> None:
        """Learn how many tokens the call really took."""
        self._meter.counted(response.message, response.usage)

    async def on_session_end(self, context: HookContext, summary: SessionSummary) -> None:
        """Give timeline entries a moment to be written."""
        if self._timeline is not None:
            await self._timeline.settled()

    async def make_room(self) -> bool:
        """The model said that the conversation is too long: clear old results, and compact when
        that is not enough. The window is taken to be smaller from now on."""
        settings = self.settings
        if settings.disable_compact:
            return False
        messages = self._session.conversation.messages
        before = self._meter.estimate(messages)
        used = self._meter.used(messages, self._session.tools.definitions())
        limits = self._limits()
        # Near the known limit little is missing; far below it the window is not what was thought.
        is_expected = used >= limits.auto_compact
        share = _LEARNED_LIMIT_SHARE if is_expected else _UNKNOWN_LIMIT_SHARE
        self._learned_limit = min(limits.limit, int(used * share))
        if not settings.disable_micro_compact:
            await self._micro(replace(settings, micro_threshold=0, micro_min_savings=1))
        is_enough = is_expected and self._now() <= before * _ROOM_MADE_SHARE
        if not is_enough and not settings.disable_auto_compact:
            await self._compact("overflow")
        return self._now() < before

    # -- Parts ------------------------------------------------------------------------------------

    async def _micro(self, settings: CompactionSettings) -> None:
        turns = self._session.conversation.turns
        planned = micro.plan(turns, settings, self._meter, compacted=self.compacted_ids)
        if not planned:
            return
        cleared = await asyncio.to_thread(micro.apply, turns, planned, settings, self._files)
        if cleared is None:
            self._report_once("Old tool results could not be cleared: no file could be written.")
            return
        if cleared.problem:
            self._report_once(cleared.problem)
        self.compacted_ids |= cleared.ids
        count = len(cleared.ids)
        note = user_message(micro.reminder(count), kind=MessageKind.REMINDER)
        self._session.replace_turns([*cleared.turns, note])
        self._meter.forget(self._session.conversation.messages)
        self._session.emit(MicroCompactionApplied(count))

    def _report_once(self, problem: str) -> None:
        """A full disk stays full: do not say so at every step."""
        if problem not in self._reported:
            self._reported.add(problem)
            self._session.report(self.name, problem)

    def _is_due(self, request: ModelRequest) -> bool:
        messages = self._session.conversation.messages
        if self.settings.disable_auto_compact or len(messages) < self.settings.min_messages:
            return False
        used = self._meter.used(messages, request.tools)
        return used >= max(self._limits().auto_compact, self._not_below)

    async def _compact(self, trigger: Trigger, instructions: str = "") -> CompactionResult:
        memory = self._session_memory()
        async with self._lock:
            if memory is not None:
                memory.is_compacting = True
            try:
                result = await self._compactor(memory).compact(
                    trigger=trigger, limits=self._limits(), instructions=instructions
                )
            finally:
                if memory is not None:
                    memory.is_compacting = False
        here = {message.id for message in self._session.conversation.turns}
        self.compacted_ids = {one for one in self.compacted_ids if one[0] in here}
        used = self._meter.used(
            self._session.conversation.messages, self._session.tools.definitions()
        )
        # When little could be saved, wait until the conversation has grown before the next try.
        self._not_below = int(used * _GROWTH_BEFORE_NEXT)
        return result

    def _compactor(self, memory: SessionMemory | None) -> Compactor:
        return Compactor(
            self._session,
            self.settings,
            meter=self._meter,
            files=self._files,
            memory=memory,
            timeline=self._timeline,
            environment=self._environment,
        )

    def _session_memory(self) -> SessionMemory | None:
        """The running summary of this session; a sub-agent has none of its own."""
        found = (c for c in self._session.capabilities if isinstance(c, SessionMemory))
        return next(found, None)

    def _limits(self) -> Thresholds:
        limit = self._session.model.info.context_tokens
        return thresholds(min(limit, self._learned_limit or limit), self.settings)

    def _now(self) -> int:
        return self._meter.estimate(self._session.conversation.messages)

    def _warn(self, request: ModelRequest) -> None:
        """Tell when the conversation comes near the limit; end the turn when nothing makes room."""
        limits = self._limits()
        used = self._meter.used(request.messages, request.tools, with_margin=False)
        level = limits.level(used)
        if level is not Level.FINE and level is not self._level:
            self._session.emit(ContextWarning(level.value, used, limits.limit))
        self._level = level
        off = self.settings.disable_compact or self.settings.disable_auto_compact
        if level is Level.BLOCKING and off:
            self._session.control.stop(
                RunEnd.CONTEXT_FULL,
                f"{used:,} of {limits.limit:,} tokens are in use, and compaction is switched off.",
            )


def _in_place(
    requested: tuple[Message, ...], before: tuple[Message, ...], after: tuple[Message, ...]
) -> tuple[Message, ...]:
    """The compacted messages, followed by what hooks before this one had added to the request."""
    known = {message.id for message in before}
    return (*after, *(message for message in requested if message.id not in known))
