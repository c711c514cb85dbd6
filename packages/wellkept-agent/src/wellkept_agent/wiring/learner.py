"""Learns from the agent's own sessions, in this process, as a drain does for other clients."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from wellkept.core.chat.runtime_events import events
from wellkept.core.errors import WellkeptError
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept.core.types import MemoryType, Source
from wellkept.memory.remember import RememberOutcome
from wellkept_agent.wiring.spool import AgentSources, is_common, spool_folder

if TYPE_CHECKING:
    from wellkept.core.session.events import Event
    from wellkept.core.session.scratchpad import QaIssue
    from wellkept.core.session.sessions import SpoolEntry
    from wellkept.observe.ingest.drain import DrainReport
    from wellkept.text.shell.environment import Environment
    from wellkept_agent.wiring.memory import AgentMemory

BUSY_WAIT_S: Final = 5.0
_BUSY_STEP_S: Final = 0.1
_RECORDS: Final = (MemoryType.OBSERVATION, MemoryType.PROMPT, MemoryType.TIMELINE)
_STATEMENTS: Final = tuple(one for one in MemoryType if one not in _RECORDS)
_MAX_FINDINGS: Final = 50


class SessionLearner:
    """The learner of one session."""

    def __init__(
        self,
        wk: AgentMemory,
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
        from wellkept.observe.observer.learn import summarize_and_learn

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
        sources = AgentSources(spool_folder(self._wk))
        try:
            if sources.others(self._session):
                report = self._drained(wait_s=0.0)
                self._wk.observer.learn(report.due, daily_model_tokens=0)
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
                spool=AgentSources(spool_folder(wk)),
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
        from wellkept.skills.library.session_history import load_history
        from wellkept.skills.library.session_outcome import judge_skills

        wk = self._wk
        session = wk.engine.store.get_session(self._session)
        if session is None:
            return
        idle = wk.settings.capture_idle_minutes
        history = load_history(session, wk.engine, idle_minutes=idle)
        is_wanted = self._switches_skills_on or wk.settings.skills_suggest == "on"
        suggest = is_wanted and skip_reason(history) is None
        report = judge_skills(wk.skills, session, history, suggest=suggest)
        for name in report.made if self._switches_skills_on else ():
            wk.skills.library.switch(name, on=True)


def _translated(entry: SpoolEntry, redact: Callable[[str], str]) -> Sequence[Event]:
    """The events of the agent; they were redacted before they were written."""
    _ = redact
    fields: object = None
    with suppress(ValueError, RecursionError):
        fields = json.loads(entry.payload.decode("utf-8", "replace"))
    if not isinstance(fields, dict):
        return []
    given = cast("dict[str, object]", fields)
    return events(entry.event, given, event_id=entry.event_id, at=entry.at)
