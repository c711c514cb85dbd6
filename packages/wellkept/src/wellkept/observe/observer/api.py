"""`wk.observer`: learns from sessions, records QA verdicts, and explains memories.

Learning runs after a drain or an import, outside the spool lock, and at once on a QA verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.records import record, replace
from wellkept.core.session.scratchpad import (
    AgentNote,
    Explanation,
    QaIssue,
    Scratchpad,
    ScratchpadStatus,
    SignalKind,
    Verdict,
)
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.types import EvidenceKind, MemoryType, Phase, Source, parse_choice
from wellkept.observe.learning.outcomes import work_unit_of
from wellkept.observe.learning.promote import PromotionReport, PromotionRules, is_over, promote
from wellkept.observe.learning.reviews import add_note, record_verdict, save_issues
from wellkept.observe.learning.statistics import ProjectStatistics, project_statistics
from wellkept.observe.learning.validation import ValidationResult, validate_session
from wellkept.observe.observer.methodology import methodology_of
from wellkept.observe.session.state import load_state
from wellkept.observe.signals.fold import session_signals
from wellkept.observe.signals.work import work_in, work_of
from wellkept.observe.thresholds import (
    RULES,
    SIGNAL_DAYS,
    UNSETTLED_DAYS,
    Complexity,
    InferenceRule,
)
from wellkept.project.session_commits import commit_stays, committed_afterwards

if TYPE_CHECKING:
    from wellkept.memory.arguments import Names
    from wellkept.memory.workspace import Workspace
    from wellkept.observe.failures.command_records import CommandRecord
    from wellkept.observe.learning.linked_files import LinkedFile
    from wellkept.observe.observer.prefetch import FoundRecipe, PrefetchedFile

_DEFAULT_LIMIT = 20
_MAX_UNPROCESSED = 1_000
_MAX_WAITING, _WAITING_DAYS = 20, 2


@record(kw_only=True)
class LearningReport:
    """Results of learning from several sessions."""

    reports: tuple[PromotionReport, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def promoted(self) -> tuple[str, ...]:
        """The ids of new memories."""
        return tuple(made for report in self.reports for made in report.promoted)


_NOT_YET = (
    "Recorded. Nothing is promoted yet: a verdict on one sub-task counts once the whole session"
    " has one, or when there are more than five sub-tasks."
)


@record(kw_only=True)
class VerdictResult:
    """Result of a verdict: error patterns from QA issues, and the promotion if there was one."""

    session_id: str
    error_patterns: tuple[str, ...] = ()
    report: PromotionReport | None = None

    @property
    def note(self) -> str:
        """Why nothing was promoted yet; empty otherwise."""
        return "" if self.report else _NOT_YET


@record(kw_only=True)
class MemoryReason:
    """A memory and its explanation, if it has one."""

    memory: Memory
    explanation: Explanation | None = None


@record(kw_only=True)
class ObservedSession:
    """Summary of a scratchpad, with its validation."""

    session_id: str
    state: ScratchpadStatus
    validation: ValidationResult
    steps: int
    files: int
    errors: int
    notes: int
    failed_runs: int
    promoted: int


@record(kw_only=True)
class ObserverStatus:
    """Observer data of a project: open work, signal counts, latest conclusions, rules."""

    sessions: tuple[ObservedSession, ...] = ()
    signals: tuple[tuple[str, int], ...] = ()
    latest: tuple[Explanation, ...] = ()
    rules: tuple[InferenceRule, ...] = ()
    statistics: ProjectStatistics = ProjectStatistics()


_RUNNING_RECORDS: Mapping[MemoryType, str] = MappingProxyType(
    {
        MemoryType.WORK_UNIT_OUTCOME: "outcome of a unit of work that passed",
        MemoryType.WORK_STATE: "state of work that is not validated",
        MemoryType.CONTEXT_COST: "average and 90th percentile over the latest 30 sessions",
        MemoryType.TASK_CALIBRATION: "steps planned against steps done, for each module",
    }
)


class Observer:
    """The observer of one project."""

    def __init__(self, services: Workspace) -> None:
        self._services = services

    def learn(
        self,
        session_ids: Sequence[str],
        *,
        with_vectors: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> LearningReport:
        """Promote sessions of any project, earliest first, including those that an interrupted
        process left. Without vectors, a re-index has to compute them."""
        engine = self._services.engine
        engine = engine if with_vectors else replace(engine, embedder=lambda: None)
        store = engine.store
        waiting = set(self._waiting()) - set(session_ids)
        names = dict.fromkeys((*session_ids, *self._unprocessed(), *sorted(waiting)))
        found = [one for name in names if (one := store.get_session(name))]
        found.sort(key=lambda session: (session.last_event_at, session.id))
        reports: list[PromotionReport] = []
        problems: list[str] = []
        for number, session in enumerate(found, start=1):
            try:
                rules = self._rules(session)
                if (report := promote(engine, session.id, rules=rules)) is not None:
                    reports.append(report)
                    waiting.discard(session.id)
            except (UsageError, ConflictError) as error:
                problems.append(f"Learning from session {session.id} failed: {error}")
            if progress is not None:
                progress(number, len(found))
        from wellkept.observe.observer.learn import learn_from_sessions

        problems += learn_from_sessions(engine, [one for one in found if one.id not in waiting])
        self._drop_old_scratchpads()
        return LearningReport(reports=tuple(reports), problems=tuple(problems))

    def verdict(
        self,
        session_id: str,
        verdict: Verdict,
        *,
        detail: str = "",
        task: str | None = None,
        issues: Sequence[QaIssue] = (),
        complexity: str | None = None,
    ) -> VerdictResult:
        """Record whether a session's work, or one sub-task of it, passed."""
        size = parse_choice(Complexity, complexity, what="complexity") if complexity else None
        engine = self._services.engine
        session = record_verdict(engine, session_id, verdict, detail=detail, task=task)
        requests = load_state(session.work).requests
        rules = self._rules(session, complexity=size)
        made = save_issues(
            engine,
            issues,
            project=session.project,
            session_id=session_id,
            unit=work_unit_of(
                session, next(iter(requests), None), task=task, methodology=rules.methodology
            ),
        )
        report = promote(engine, session_id, rules=rules)
        ids = tuple(memory.id for memory in made)
        return VerdictResult(session_id=session_id, error_patterns=ids, report=report)

    def note(
        self,
        session: SessionRecord,
        content: str,
        *,
        type: MemoryType = MemoryType.FACT,
        files: Names = (),
    ) -> AgentNote | None:
        """Put a note on a session's scratchpad; None when there is no room for more."""
        named = self._services.requests.files(files)
        return add_note(self._services.engine, session, content, type=type, files=named)

    def capture(self, session: str, *, tool: str, given: object, output: object) -> str:
        """Put a tool call into the spool, as the hook process does; returns the event's id.

        UsageError for a memory other than the one that the spool belongs to.
        """
        from wellkept.observe.observer.spool_folder import capture_tool_call

        return capture_tool_call(
            self._services, session=session, tool=tool, given=given, output=output
        )

    def recipes(self, task: str, *, limit: int = 2) -> list[FoundRecipe]:
        """The recipes that fit a task, best first, each with its staleness."""
        from wellkept.observe.observer.prefetch import find_recipes

        return find_recipes(self._services, task, limit=limit)

    def prefetch(
        self, files: Names = (), *, phase: Phase | None = Phase.IMPLEMENT
    ) -> list[PrefetchedFile]:
        """The beginnings of files that work on `files`, or in the latest modules, nearly always
        reads."""
        from wellkept.observe.observer.prefetch import prefetch_files

        services = self._services
        return prefetch_files(
            services.store,
            project=services.project,
            root=services.root,
            files=services.requests.files(files),
            phase=phase,
        )

    def statistics(self, *, project: str | None = None) -> ProjectStatistics:
        """Token costs, planned against actual steps, usual files and confusing ones, from the
        sessions whose work held up."""
        services = self._services
        return project_statistics(
            services.store,
            project or services.project,
            methodology=services.settings.methodology,
        )

    def related(self, file: str, *, limit: int = 20) -> list[LinkedFile]:
        """The files related to one by git history and sessions, highest weight first."""
        from wellkept.observe.learning.linked_files import linked_files

        (name,) = self._services.requests.files(file)
        return linked_files(self._services.engine, self._services.project, name, limit=limit)

    def commands(self, *, limit: int = 20) -> list[CommandRecord]:
        """The lines that worked here last, as they were typed; those of most sessions first."""
        from wellkept.observe.failures.command_records import working_commands

        return working_commands(self._services.store, self._services.project, limit=limit)

    def why(self, memory: Memory) -> MemoryReason:
        """Why a memory exists: its stored explanation, or one derived from its type for running
        records."""
        found = self._services.engine.store.explanations([memory.id])
        return MemoryReason(
            memory=memory, explanation=found.get(memory.id) or _explain_running(memory)
        )

    def status(self, *, project: str | None = None, limit: int = _DEFAULT_LIMIT) -> ObserverStatus:
        """Observer data of this project, or of `project`."""
        store, project = self._services.engine.store, project or self._services.project
        scratchpads = store.scratchpads(project=project, limit=limit)
        counts = store.count_signals(project=project)
        return ObserverStatus(
            sessions=tuple(map(self._summary, scratchpads)),
            signals=tuple((kind.value, counts[kind]) for kind in SignalKind if kind in counts),
            latest=tuple(store.latest_explanations(project=project, limit=limit)),
            rules=tuple(RULES.values()),
            statistics=self.statistics(project=project),
        )

    def _unprocessed(self) -> list[str]:
        """Sessions that are over and were not processed."""
        engine, idle = self._services.engine, self._services.settings.capture_idle_minutes
        scratchpads = engine.store.scratchpads(
            project=None, statuses=(ScratchpadStatus.OPEN,), limit=_MAX_UNPROCESSED
        )
        sessions = map(
            engine.store.get_session, [scratchpad.session_id for scratchpad in scratchpads]
        )
        return [one.id for one in sessions if one and is_over(engine, one, idle)]

    def _waiting(self) -> list[str]:
        """Recent sessions that wait for validation: their work may be committed by now."""
        since = self._services.clock() - timedelta(days=_WAITING_DAYS)
        scratchpads = self._services.engine.store.scratchpads(
            project=None, statuses=(ScratchpadStatus.WAITING,), limit=_MAX_WAITING
        )
        return [
            scratchpad.session_id for scratchpad in scratchpads if scratchpad.updated_at >= since
        ]

    def _summary(self, pad: Scratchpad) -> ObservedSession:
        session = self._services.engine.store.get_session(pad.session_id)
        rules = self._rules(session) if session else PromotionRules()
        work = work_of(session, pad) if session else work_in((), pad)
        found = [one.kind for one in session_signals(work, work.tasks)]
        return ObservedSession(
            session_id=pad.session_id,
            state=pad.state,
            validation=validate_session(
                work, over=True, commit_exists=rules.commit_exists, find_commit=rules.find_commit
            ),
            steps=pad.step,
            files=found.count(SignalKind.FILE_ACCESS),
            errors=found.count(SignalKind.ERROR_RETRY),
            notes=len(pad.notes),
            failed_runs=pad.failed_runs,
            promoted=pad.promoted_count,
        )

    def _rules(
        self, session: SessionRecord, *, complexity: Complexity | None = None
    ) -> PromotionRules:
        settings = self._services.settings
        return PromotionRules(
            idle_minutes=settings.capture_idle_minutes,
            commit_exists=lambda sha: commit_stays(session.cwd, sha),
            find_commit=lambda files, since: committed_afterwards(session.cwd, files, since=since),
            complexity=complexity,
            methodology=methodology_of(self._services, session),
        )

    def _drop_old_scratchpads(self) -> None:
        """Drop scratchpads of settled work after a week, others later."""
        now, store = self._services.clock(), self._services.engine.store
        settled = (ScratchpadStatus.PROMOTED, ScratchpadStatus.FAILED)
        store.drop_scratchpads(before=now - timedelta(days=SIGNAL_DAYS), statuses=settled)
        store.drop_scratchpads(before=now - timedelta(days=UNSETTLED_DAYS))


def _explain_running(memory: Memory) -> Explanation | None:
    """The explanation of a running record, from its own evidence."""
    reason = _RUNNING_RECORDS.get(memory.type)
    if reason is None or memory.source is not Source.OBSERVER_INFERRED:
        return None
    sessions = [e.ref for e in memory.evidence if e.kind is EvidenceKind.SESSION]
    return Explanation(
        memory_id=memory.id,
        project=memory.project,
        rule=memory.type.value,
        subject=memory.key or "",
        at=memory.updated_at,
        validated_by="its sessions",
        sessions=tuple(sessions),
        signals=(reason,),
    )
