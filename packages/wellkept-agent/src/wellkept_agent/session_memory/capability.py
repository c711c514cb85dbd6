"""The session's running summary, kept up to date in the background.

An update starts before a model call or at the end of a turn, when enough is new, and never holds
the turn up. One that fails is reported; the summary stays as it was. Compaction reads the summary
from its files, and waits for a running update only so long.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from wellkept.core.chat.messages import Message, MessageKind
from wellkept.core.clock import Clock, system_clock
from wellkept.core.text import estimate_tokens
from wellkept_agent.capability import Capability
from wellkept_agent.session_memory.extraction import update_summary
from wellkept_agent.session_memory.files import SessionMemoryFiles, SessionMemoryMetadata
from wellkept_agent.session_memory.settings import SessionMemorySettings
from wellkept_agent.token_meter import TokenMeter

if TYPE_CHECKING:
    from wellkept.core.chat.messages import ModelRequest
    from wellkept_agent.hooks import HookContext, SessionSummary
    from wellkept_agent.session import AgentSession, RunResult

_SHOWN_AGAIN = (MessageKind.BOUNDARY, MessageKind.RESTORED, MessageKind.REMINDER)
_CALLS_OF_AN_UPDATE = 3


class SessionMemory(Capability):
    """Keeps `session-memory/summary.md` in the session's folder."""

    name: ClassVar[str] = "session memory"

    def __init__(
        self,
        settings: SessionMemorySettings | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        clock: Clock = system_clock,
    ) -> None:
        self.settings = settings or SessionMemorySettings()
        self.is_compacting = False
        self._monotonic = monotonic
        self._clock = clock
        self._meter = TokenMeter(1.0)
        self._task: asyncio.Task[None] | None = None
        self._began_at: float | None = None
        self._is_initialised = False
        self._failures = 0

    def attach(self, session: AgentSession) -> None:
        """Find what an earlier run of the session has summarised."""
        self._session = session
        self.files = SessionMemoryFiles(session.folder)
        known = self.files.metadata()
        self._last_id = None if known is None else known.last_summarized_id
        self._count = 0 if known is None else known.messages_summarized
        self._is_initialised = known is not None

    @property
    def is_enabled(self) -> bool:
        """Whether the running summary is switched on."""
        return self.settings.session_memory

    async def on_before_llm(self, context: HookContext, request: ModelRequest) -> None:  # noqa: ARG002
        """Start an update when enough is new."""
        self._start_if_due()

    def turn_ended(self, result: RunResult) -> None:  # noqa: ARG002
        """Start an update when enough is new, unless the session is closed at once."""
        self._start_if_due(after_s=self.settings.idle_s)

    async def on_session_end(self, context: HookContext, summary: SessionSummary) -> None:  # noqa: ARG002
        """Give a running update up."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def settled(self) -> None:
        """Wait for a running update, but not for long, and not for one that hangs."""
        if self._task is not None and not self._task.done() and not self._is_stale():
            await asyncio.wait({self._task}, timeout=self.settings.wait_ms / 1000)

    # -- When -------------------------------------------------------------------------------------

    def _start_if_due(self, *, after_s: float = 0.0) -> None:
        if not self._is_due():
            return
        turns = tuple(self._session.conversation.turns)
        self._meter.forget(self._session.conversation.messages)
        self._began_at = self._monotonic()
        self._task = asyncio.get_running_loop().create_task(self._update(turns, after_s))

    def _is_due(self) -> bool:
        if not self.is_enabled or self._failures >= self.settings.max_failures:
            return False
        if self._task is not None and not self._task.done():
            if not self._is_stale():
                return False
            self._task.cancel()
        if self._began_at is not None and (
            self._monotonic() - self._began_at < self.settings.cooldown_s
        ):
            return False
        if not self._is_initialised:
            total = self._meter.estimate(self._session.conversation.messages)
            if total < self.settings.min_tokens_to_init:
                return False
            self._is_initialised = True
        return self._is_enough(self._new(self._session.conversation.turns))

    def _is_enough(self, new: Sequence[Message]) -> bool:
        """The documented rule: enough tokens, and enough calls or no compaction under way."""
        tokens = self._meter.estimate(new)
        calls = sum(len(message.tool_calls) for message in new)
        has_tokens = tokens >= self.settings.min_tokens_between_update
        has_calls = calls >= self.settings.tool_calls_between_updates
        wanted = (has_tokens and has_calls) or (has_tokens and not self.is_compacting)
        return wanted and self._has_budget(tokens)

    def _has_budget(self, new_tokens: int) -> bool:
        """Whether the session's token limit leaves room for an update and for the work itself."""
        left = self._tokens_left()
        cost = min(new_tokens, self.settings.max_input_tokens) + self.settings.max_summary_tokens
        return left is None or left > 2 * _CALLS_OF_AN_UPDATE * cost

    def _tokens_left(self) -> int | None:
        control = self._session.control
        return None if control.max_tokens is None else control.max_tokens - control.usage.total

    def _is_stale(self) -> bool:
        began = self._began_at
        return began is None or (self._monotonic() - began) * 1000 >= self.settings.stale_ms

    def _new(self, turns: Sequence[Message]) -> list[Message]:
        """Messages that the summary does not cover; all when the last covered one is gone."""
        start = next((i + 1 for i, one in enumerate(turns) if one.id == self._last_id), 0)
        return [one for one in turns[start:] if one.kind not in _SHOWN_AGAIN]

    # -- Updating ---------------------------------------------------------------------------------

    async def _update(self, turns: Sequence[Message], after_s: float) -> None:
        await asyncio.sleep(after_s)
        new = self._new(turns)
        try:
            problem = await asyncio.wait_for(
                self._updated(turns, new), self.settings.stale_ms / 1000
            )
        except TimeoutError:
            problem = f"the update took longer than {self.settings.stale_ms / 1000:g} s"
        except Exception as error:  # noqa: BLE001 - nobody awaits this task
            problem = f"{type(error).__name__}: {error}"
        self._failures = self._failures + 1 if problem else 0
        if problem:
            off = self._failures >= self.settings.max_failures
            rest = "; it stays off in this session." if off else "; the old one stays."
            self._session.report(self.name, f"The summary was not updated: {problem}{rest}")

    async def _updated(self, turns: Sequence[Message], new: Sequence[Message]) -> str:
        """Update the files; returns what went wrong, or nothing."""
        summary = await asyncio.to_thread(self.files.summary)
        left = self._tokens_left()
        text, result = await update_summary(
            self._session,
            summary=summary,
            new_messages=new,
            path=self.files.summary_path,
            settings=self.settings,
            max_tokens=None if left is None else max(1, left // 2),
        )
        self._session.control.count_usage(result.usage)
        if text is None:
            return f"it was not edited ({result.detail or result.end})"
        metadata = SessionMemoryMetadata(
            last_summarized_id=turns[-1].id,
            last_extraction=self._clock(),
            summary_token_count=estimate_tokens(text),
            messages_summarized=self._count + len(new),
        )
        await asyncio.to_thread(self.files.write, text, metadata)
        self._last_id, self._count = metadata.last_summarized_id, metadata.messages_summarized
        return ""
