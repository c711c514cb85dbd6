"""`Learning`: what a session showed becomes memory, at its end and before messages are dropped.

The observer learns from the events that the loop feeds it: by rules, and with a chat model where
one is set up. Findings that tools and capabilities noted are kept too, once each. After a turn the
observer catches up in the background, so that nobody waits for it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias

from wellkept_agent.capability import Capability
from wellkept_agent.counters import CountUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wellkept.core.chat.messages import Message
    from wellkept.core.session.scratchpad import QaIssue
    from wellkept_agent.hooks import HookContext, SessionSummary
    from wellkept_agent.session import AgentSession, RunResult

TIME_LIMIT_S = 180.0


class Learner(Protocol):
    """Learns from one session. Synchronous; runs in a thread. Never raises: it reports."""

    def take_over(self) -> None:
        """Learn from sessions that were killed before their end."""
        ...

    def catch_up(self, *, is_last: bool) -> int:
        """Take in the events so far; how many memories the session has given since the last time.
        `is_last` when the session is over."""
        ...

    def keep(self, findings: Sequence[str]) -> int:
        """Keep findings; how many of them are new."""
        ...

    def judge(
        self, *, passed: bool, task: str | None, detail: str, issues: Sequence[QaIssue]
    ) -> None:
        """Record a verdict on the work of the session so far, or on one sub-task of it."""
        ...


OpenLearner: TypeAlias = "Callable[[AgentSession], Learner]"
"""Gives the learner of a session."""


class Learning(Capability):
    """Runs the learner of a session at the right moments."""

    name: ClassVar[str] = "learning"
    time_limit_s = TIME_LIMIT_S

    def __init__(self, open_learner: OpenLearner) -> None:
        self._open_learner = open_learner
        self._running: asyncio.Task[None] | None = None
        self._kept: set[str] = set()

    def attach(self, session: AgentSession) -> None:
        """Remember the session."""
        self._session = session
        self._learner = self._open_learner(session)

    async def on_session_start(self, context: HookContext) -> None:
        """Take over from a session that was killed, before anything is recalled."""
        _ = context
        await asyncio.to_thread(self._learner.take_over)

    def turn_ended(self, result: RunResult) -> None:
        """Catch up in the background, one at a time."""
        _ = result
        if self._running is None or self._running.done():
            self._running = asyncio.ensure_future(self._catch_up(is_last=False))

    async def on_compaction(self, context: HookContext, messages: Sequence[Message]) -> None:
        """Learn from messages before they are gone."""
        _ = messages
        await self._settled()
        await self._keep(context.state.findings())
        await self._catch_up(is_last=False)

    async def on_session_end(self, context: HookContext, summary: SessionSummary) -> None:
        """Learn from the whole session. Findings of one that came to no end are not kept."""
        _ = context
        await self._settled()
        await self._catch_up(is_last=True)
        if summary.success:
            await self._keep(summary.key_findings)

    async def judged(
        self,
        *,
        passed: bool,
        task: str | None = None,
        detail: str = "",
        issues: Sequence[QaIssue] = (),
    ) -> None:
        """Whoever checks the work says whether it passed: all of it so far, or one sub-task.

        Work that passed is learned from at once; issues of work that failed become warnings.
        """
        await self._settled()
        await asyncio.to_thread(
            self._learner.judge, passed=passed, task=task, detail=detail, issues=issues
        )

    async def _settled(self) -> None:
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)

    async def _catch_up(self, *, is_last: bool) -> None:
        self._count(await asyncio.to_thread(self._learner.catch_up, is_last=is_last))

    async def _keep(self, findings: Sequence[str]) -> None:
        fresh = [one for one in findings if one not in self._kept]
        if fresh:
            self._kept.update(fresh)
            self._count(await asyncio.to_thread(self._learner.keep, fresh))

    def _count(self, memories: int) -> None:
        for capability in self._session.capabilities:
            if isinstance(capability, CountUsage):
                capability.counters.memories_extracted(memories)
