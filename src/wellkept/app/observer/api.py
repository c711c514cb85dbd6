"""`wk.observer`: what is learned from sessions, wired to this machine.

Runs after a drain or an import, never while others wait for events; and on a QA verdict at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from wellkept.app.observer.follow_ups import learn_from_sessions
from wellkept.app.observer.methodology import methodology_of
from wellkept.app.projects.session_commits import commit_stays, committed_afterwards
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.records import record, replace
from wellkept.core.scratchpad import (
    AgentNote,
    Explanation,
    QaIssue,
    Scratchpad,
    ScratchpadStatus,
    SignalKind,
    Verdict,
)
from wellkept.core.sessions import SessionRecord
from wellkept.core.types import EvidenceKind, MemoryType, Phase, Source, parse_choice
from wellkept.observe.learning.outcomes import work_unit_of
from wellkept.observe.learning.promote import PromotionReport, PromotionRules, is_over, promote
from wellkept.observe.learning.qa_verdicts import record_verdict, save_issues
from wellkept.observe.learning.validation import ValidationResult, validate_session
from wellkept.observe.thresholds import (
    RULES,
    SIGNAL_DAYS,
    UNSETTLED_DAYS,
    Complexity,
    InferenceRule,
)

if TYPE_CHECKING:
    from wellkept.app.graph.co_change import LinkedFile
    from wellkept.app.observer.prefetch import PrefetchedFile
    from wellkept.app.observer.recipes import FoundRecipe
    from wellkept.app.wiring.keyword_types import Names
    from wellkept.app.wiring.services import Services

_LISTED = 20
_MOST_LEFT = 1_000
_MOST_WAITING, _WAITING_DAYS = 20, 2


@record(kw_only=True)
class LearningReport:
    """What became of some sessions."""

    reports: tuple[PromotionReport, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def promoted(self) -> tuple[str, ...]:
        """The memories that are new."""
        return tuple(made for report in self.reports for made in report.promoted)


_NOT_YET = (
    "Noted; nothing could be promoted yet. A verdict on one sub-task counts once all of the work"
    " has one, or when there are more than five sub-tasks."
)


@record(kw_only=True)
class VerdictResult:
    """What a verdict led to: error patterns from what QA found, and a promotion if it passed."""

    session_id: str
    error_patterns: tuple[str, ...] = ()
    report: PromotionReport | None = None

    @property
    def note(self) -> str:
        """Why nothing could follow yet; empty when something did."""
        return "" if self.report else _NOT_YET


@record(kw_only=True)
class MemoryReason:
    """A memory and why it is there. Without an explanation its evidence has to do."""

    memory: Memory
    explanation: Explanation | None = None


@record(kw_only=True)
class ObservedSession:
    """A scratchpad in short, with how its work stands."""

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
    """What the observer holds of a project: open work, sightings, and what it concluded last."""

    sessions: tuple[ObservedSession, ...] = ()
    signals: tuple[tuple[str, int], ...] = ()
    latest: tuple[Explanation, ...] = ()
    rules: tuple[InferenceRule, ...] = ()


_RUNNING: Mapping[MemoryType, str] = MappingProxyType(
    {
        MemoryType.WORK_UNIT_OUTCOME: "what a unit of work that passed came to",
        MemoryType.WORK_STATE: "where work stands that nobody has settled",
        MemoryType.CONTEXT_COST: "average and 90th percentile over the latest 30 sessions",
        MemoryType.TASK_CALIBRATION: "steps planned against steps done, for each module",
    }
)


class Observer:
    """The observer of one project."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def learn(
        self,
        session_ids: Sequence[str],
        *,
        daily_model_tokens: int | None = None,
        with_vectors: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> LearningReport:
        """Promote what sessions of any project showed, the earliest first; and what others left
        behind that did not live to do so. Without vectors, a re-index has to make them."""
        engine = self._services.engine
        engine = engine if with_vectors else replace(engine, embedder=lambda: None)
        store = engine.store
        waiting = set(self._waiting()) - set(session_ids)
        names = dict.fromkeys((*session_ids, *self._left_behind(), *sorted(waiting)))
        found = [one for name in names if (one := store.get_session(name))]
        found.sort(key=lambda session: (session.last_event_at, session.id))
        reports: list[PromotionReport] = []
        problems: list[str] = []
        for number, session in enumerate(found, start=1):
            try:
                rules = self._rules(session, tokens=daily_model_tokens)
                if (report := promote(engine, session.id, rules=rules)) is not None:
                    reports.append(report)
                    waiting.discard(session.id)
            except (UsageError, ConflictError) as error:
                problems.append(f"Nothing was learned from session {session.id}: {error}")
            if progress is not None:
                progress(number, len(found))
        problems += learn_from_sessions(engine, [one for one in found if one.id not in waiting])
        self._tidy()
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
        """Say whether a session's work, or one sub-task of it, held up."""
        size = parse_choice(Complexity, complexity, what="complexity") if complexity else None
        engine = self._services.engine
        pad = record_verdict(engine, session_id, verdict, detail=detail, task=task)
        session = engine.store.get_session(session_id)
        assert session is not None
        rules = self._rules(session, complexity=size)
        made = save_issues(
            engine,
            issues,
            project=pad.project,
            session_id=session_id,
            unit=work_unit_of(session, pad, task=task, methodology=rules.methodology),
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
        from wellkept.observe.signals.agent_notes import add_note

        named = self._services.requests.files(files)
        return add_note(self._services.engine, session, content, type=type, files=named)

    def recipes(self, task: str, *, limit: int = 2) -> list[FoundRecipe]:
        """The recipes that fit a task, best first, each with whether it still holds."""
        from wellkept.app.observer.recipes import find_recipes

        return find_recipes(self._services, task, limit=limit)

    def prefetch(
        self, files: Names = (), *, phase: Phase | None = Phase.IMPLEMENT
    ) -> list[PrefetchedFile]:
        """The beginnings of files that work on these, or on what was worked on last, nearly
        always reads."""
        from wellkept.app.observer.prefetch import prefetch_files

        services = self._services
        return prefetch_files(
            services.store,
            project=services.project,
            root=services.identity.root,
            files=services.requests.files(files),
            phase=phase,
        )

    def together(self, file: str, *, limit: int = 20) -> list[LinkedFile]:
        """The files that go together with one, by history and by sessions, the surest first."""
        from wellkept.app.graph.co_change import linked_files

        (name,) = self._services.requests.files(file)
        return linked_files(self._services.engine, self._services.project, name, limit=limit)

    def why(self, memory: Memory) -> MemoryReason:
        """Why a memory is there: as it was noted, or, for a record that is written anew with each
        session, by the rule that its type names."""
        found = self._services.engine.store.explanations([memory.id])
        return MemoryReason(memory=memory, explanation=found.get(memory.id) or _running(memory))

    def status(self, *, project: str | None = None, limit: int = _LISTED) -> ObserverStatus:
        """What is held of a project, this one unless another is named."""
        store, home = self._services.engine.store, project or self._services.project
        pads = store.scratchpads(project=home, limit=limit)
        counts = store.count_signals(project=home)
        return ObserverStatus(
            sessions=tuple(map(self._observed, pads)),
            signals=tuple((kind.value, counts[kind]) for kind in SignalKind if kind in counts),
            latest=tuple(store.latest_explanations(project=home, limit=limit)),
            rules=tuple(RULES.values()),
        )

    def _left_behind(self) -> list[str]:
        """Sessions that are over and that nobody has looked at."""
        engine, idle = self._services.engine, self._services.settings.capture_idle_minutes
        pads = engine.store.scratchpads(
            project=None, statuses=(ScratchpadStatus.OPEN,), limit=_MOST_LEFT
        )
        sessions = map(engine.store.get_session, [pad.session_id for pad in pads])
        return [one.id for one in sessions if one and is_over(engine, one, idle_minutes=idle)]

    def _waiting(self) -> list[str]:
        """Sessions of the last days that wait for a word: somebody may have committed their work
        meanwhile."""
        since = self._services.clock() - timedelta(days=_WAITING_DAYS)
        pads = self._services.engine.store.scratchpads(
            project=None, statuses=(ScratchpadStatus.WAITING,), limit=_MOST_WAITING
        )
        return [pad.session_id for pad in pads if pad.updated_at >= since]

    def _observed(self, pad: Scratchpad) -> ObservedSession:
        session = self._services.engine.store.get_session(pad.session_id)
        rules = self._rules(session) if session else PromotionRules()
        return ObservedSession(
            session_id=pad.session_id,
            state=pad.state,
            validation=validate_session(
                pad, over=True, commit_exists=rules.commit_exists, find_commit=rules.find_commit
            ),
            steps=pad.step,
            files=len({file.path for task in pad.tasks for file in task.files}),
            errors=sum(len(task.errors) for task in pad.tasks),
            notes=len(pad.notes),
            failed_runs=pad.failed_runs,
            promoted=pad.promoted_count,
        )

    def _rules(
        self,
        session: SessionRecord,
        *,
        tokens: int | None = None,
        complexity: Complexity | None = None,
    ) -> PromotionRules:
        settings = self._services.settings
        return PromotionRules(
            idle_minutes=settings.capture_idle_minutes,
            commit_exists=lambda sha: commit_stays(session.cwd, sha),
            find_commit=lambda files, since: committed_afterwards(session.cwd, files, since=since),
            complexity=complexity,
            daily_model_tokens=settings.capture_daily_model_tokens if tokens is None else tokens,
            methodology=methodology_of(self._services, session),
        )

    def _tidy(self) -> None:
        """Signals of settled work are aggregated by now and go after a week; work that nobody
        settled is waited for a little longer."""
        now, store = self._services.clock(), self._services.engine.store
        settled = (ScratchpadStatus.PROMOTED, ScratchpadStatus.FAILED)
        store.drop_scratchpads(before=now - timedelta(days=SIGNAL_DAYS), statuses=settled)
        store.drop_scratchpads(before=now - timedelta(days=UNSETTLED_DAYS))


def _running(memory: Memory) -> Explanation | None:
    """Why a running record is there, from what it carries itself."""
    told = _RUNNING.get(memory.type)
    if told is None or memory.source is not Source.OBSERVER_INFERRED:
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
        signals=(told,),
    )
