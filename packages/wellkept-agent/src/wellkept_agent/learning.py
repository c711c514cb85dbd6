"""What an agent's session showed becomes memory, at its end and before messages are dropped.

The observer learns from the events that the loop feeds it: by rules, and with a chat model where
one is set up. Findings that tools and capabilities noted are kept too, once each. After a turn the
observer catches up in the background, so that nobody waits for it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, cast

from wellkept.core.chat.runtime_events import CLIENT, encoded, event_name, events
from wellkept.core.clock import to_ms
from wellkept.core.errors import WellkeptError
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept.core.types import MemoryType, Source
from wellkept.memory.remember import RememberOutcome
from wellkept.observe.observer.spool_folder import SpoolFolder
from wellkept.store import spool
from wellkept.text.secrets.redaction import redact_payload
from wellkept_agent.counters import CountUsage
from wellkept_agent.hooks import Capability

if TYPE_CHECKING:
    from wellkept.api.wellkept import Wellkept
    from wellkept.core.chat.messages import Message
    from wellkept.core.session.events import Event
    from wellkept.core.session.scratchpad import QaIssue
    from wellkept.core.session.sessions import SpoolEntry
    from wellkept.observe.ingest.drain import DrainReport
    from wellkept.text.shell.environment import Environment
    from wellkept_agent.hooks import HookContext, SessionSummary
    from wellkept_agent.session import AgentSession, RunResult


# -- Where the agent's events go: the spool of all clients, drained and learned from like theirs --


FOLDER_NAME: Final = "agent"


def state_folder(wk: Wellkept) -> Path:
    """The folder for what the agent keeps beside memories."""
    if is_common(wk):
        return SpoolFolder.of(wk.services.environment).state
    return wk.path.with_name(f"{wk.path.name}.agent")


def spool_folder(wk: Wellkept) -> Path:
    """The folder with the spool that the agent's events go to."""
    return state_folder(wk) / spool.FOLDER_NAME


def is_common(wk: Wellkept) -> bool:
    """Whether events of a memory belong into the common spool: it is this user's usual memory, and
    its project is that of its folder."""
    services = wk.services
    return services.is_usual and services.project_from_folder


class _AgentSources(SpoolFolder):
    """A spool folder as the agent drains it: only the files of agent sessions, its own and those
    that a killed process left."""

    def sources(self) -> list[str]:
        return [name for name in super().sources() if name.startswith(f"{CLIENT}-")]

    def others(self, session: str) -> list[str]:
        """Files of other sessions than one."""
        own = spool.file_name(CLIENT, session)
        return [name for name in self.sources() if name != own]


class AgentSpool:
    """The sink of one session's events. What cannot be written is lost and reported once."""

    def __init__(
        self,
        wk: Wellkept,
        session: str,
        *,
        report: Callable[[str, str], None],
    ) -> None:
        self._session = session
        self._report = report
        self._folder = spool_folder(wk)
        self._is_broken = False

    def put(self, event: Event) -> None:
        """Append an event, redacted before the first write."""
        try:
            kept = spool.append(
                str(self._folder),
                client=CLIENT,
                session=self._session,
                event=event_name(event),
                payload=redact_payload(encoded(event)),
                now_ms=to_ms(event.origin.at),
            )
        except (OSError, WellkeptError) as error:
            self._problem(f"The session is not captured: {error}")
        else:
            if kept is None:
                self._problem("The session is not captured: the spool is full.")

    def _problem(self, message: str) -> None:
        if not self._is_broken:
            self._is_broken = True
            self._report("observer", message)


# -- Learns from the agent's own sessions, in this process, as a drain does for other clients -----


BUSY_WAIT_S: Final = 5.0
_BUSY_STEP_S: Final = 0.1
_RECORDS: Final = (MemoryType.OBSERVATION, MemoryType.PROMPT, MemoryType.TIMELINE)
_STATEMENTS: Final = tuple(one for one in MemoryType if one not in _RECORDS)
_MAX_FINDINGS: Final = 50


class _SessionLearner:
    """The learner of one session."""

    def __init__(
        self,
        wk: Wellkept,
        session: str,
        *,
        report: Callable[[str, str], None],
        switches_skills_on: bool = False,
    ) -> None:
        """With `switches_skills_on` skills made of the session wait for no review."""
        self._wk = wk
        self._switches_skills_on = switches_skills_on
        self._session = session
        self._report = report
        self._was_due = False

    def catch_up(self, *, is_last: bool) -> int:
        """Drain this session and learn from it; how many memories came of it."""
        from wellkept.observe.observer.drain import summarize_and_learn

        try:
            before = self._known()
            report = self._drained(wait_s=BUSY_WAIT_S if is_last else 0.0)
            report = summarize_and_learn(self._wk, report)
            # The end may have come in with a catch-up that began before it.
            self._was_due |= self._session in report.due
            if is_last and self._was_due:
                self._judge_skills()
            for problem in report.problems:
                self._report("observer", problem)
            return max(0, self._known() - before)
        except (OSError, WellkeptError) as error:
            self._report("observer", f"Nothing is learned from the session: {error}")
            return 0

    def take_over(self) -> None:
        """Learn from what a killed process left, by rules only: somebody waits."""
        sources = _AgentSources(spool_folder(self._wk))
        try:
            if sources.others(self._session):
                report = self._drained(wait_s=0.0)
                self._wk.observer.learn(report.due)
        except (OSError, WellkeptError) as error:
            self._report("observer", f"An earlier session could not be read: {error}")

    def keep(self, findings: Sequence[str]) -> int:
        """Keep findings as what one session saw: told unasked only once another one confirms it."""
        made = 0
        for finding in findings[:_MAX_FINDINGS]:
            try:
                done = self._wk.remember(
                    finding,
                    type=MemoryType.FACT.value,
                    source=Source.OBSERVER_INFERRED.value,
                    session=self._session,
                )
            except WellkeptError as error:
                self._report("observer", f"A finding was not kept: {error}")
            else:
                made += done.outcome is RememberOutcome.INSERTED
        return made

    def judge(
        self, *, passed: bool, task: str | None, detail: str, issues: Sequence[QaIssue]
    ) -> None:
        """Record a verdict, after the observer has seen what it is about."""
        try:
            self._drained(wait_s=BUSY_WAIT_S)
            self._wk.observer.verdict(
                self._session,
                "passed" if passed else "failed",
                task=task,
                detail=detail,
                issues=issues,
            )
        except (OSError, WellkeptError) as error:
            self._report("observer", f"The verdict was not recorded: {error}")

    def _known(self) -> int:
        where = Filter(project=self._wk.project, types=_STATEMENTS, sessions=(self._session,))
        return self._wk.engine.store.stats(where).total

    def _drained(self, *, wait_s: float) -> DrainReport:
        """Take in what this session has spooled; wait a little for whoever drains now."""
        from wellkept.observe.observer.drain import drain_spool

        wk = self._wk
        until = time.monotonic() + wait_s
        while True:
            report = drain_spool(
                wk.engine,
                wk.settings,
                translate=_translated,
                environment=wk.services.environment,
                database=wk.path,
                spool=_AgentSources(spool_folder(wk)),
                machine=None if is_common(wk) else self._here(),
            )
            if not report.busy or time.monotonic() >= until:
                return report
            time.sleep(_BUSY_STEP_S)

    def _here(self) -> Environment:
        """The machine, where every event belongs to the project that was named."""
        from wellkept.observe.observer.drain import machine_environment
        from wellkept.text.shell.environment import ProjectLocation

        wk = self._wk
        place = ProjectLocation(wk.project, (wk.root.as_posix(),))

        def locate(_cwd: str | None) -> ProjectLocation:
            return place

        machine = machine_environment(wk.engine.store, wk.services.environment)
        return replace(machine, locate=locate)

    def _judge_skills(self) -> None:
        from wellkept.skills.generation.generate import skip_reason
        from wellkept.skills.library.history import load_history
        from wellkept.skills.library.learn import judge_skills

        wk = self._wk
        session = wk.engine.store.get_session(self._session)
        if session is None:
            return
        idle = wk.settings.capture_idle_minutes
        history = load_history(session, wk.engine, idle_minutes=idle)
        is_wanted = self._switches_skills_on or wk.settings.skills_generated != "off"
        suggest = is_wanted and skip_reason(history) is None
        report = judge_skills(wk.skills, session, history, suggest=suggest)
        for name in report.made if self._switches_skills_on else ():
            wk.skills.library.switch(name, on=True)


def _translated(entry: SpoolEntry, _redact: Callable[[str], str]) -> Sequence[Event]:
    """The events of the agent; they were redacted before they were written."""
    fields: object = None
    with suppress(ValueError, RecursionError):
        fields = json.loads(entry.payload.decode("utf-8", "replace"))
    if not isinstance(fields, dict):
        return []
    given = cast("dict[str, object]", fields)
    return events(entry.event, given, event_id=entry.event_id, at=entry.at)


TIME_LIMIT_S = 180.0


class Learning(Capability):
    """Runs the learner of a session at the right moments."""

    name: ClassVar[str] = "learning"
    time_limit_s = TIME_LIMIT_S

    def __init__(self, wk: Wellkept, *, switches_skills_on: bool = False) -> None:
        self._wk = wk
        self._switches_skills_on = switches_skills_on
        self._running: asyncio.Task[None] | None = None
        self._kept: set[str] = set()

    def attach(self, session: AgentSession) -> None:
        """Remember the session."""
        self._session = session
        self._learner = _SessionLearner(
            self._wk,
            session.id,
            report=session.report,
            switches_skills_on=self._switches_skills_on,
        )

    async def on_session_start(self, context: HookContext) -> None:
        """Take over from a session that was killed, before anything is recalled."""
        await asyncio.to_thread(self._learner.take_over)

    def turn_ended(self, result: RunResult) -> None:
        """Catch up in the background, one at a time."""
        if self._running is None or self._running.done():
            self._running = asyncio.ensure_future(self._catch_up(is_last=False))

    async def on_compaction(self, context: HookContext, messages: Sequence[Message]) -> None:
        """Learn from messages before they are gone."""
        await self._settled()
        await self._keep(context.state.findings())
        await self._catch_up(is_last=False)

    async def on_session_end(self, context: HookContext, summary: SessionSummary) -> None:
        """Learn from the whole session. Findings of one that came to no end are not kept."""
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
