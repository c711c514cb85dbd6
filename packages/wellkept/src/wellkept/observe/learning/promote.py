"""Promotes what a validated session showed into memories.

Filters, in order: validation (only sub-tasks that passed, nothing from abandoned approaches),
frequency (set by each rule), novelty, score, and a cap by size of the work. A failed run is
discarded except for its dead ends and the user's instructions.
Invariant: promoting twice equals promoting once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta

from wellkept.core.changes import PutScratchpad, PutSignals
from wellkept.core.records import field, record, replace
from wellkept.core.session.scratchpad import (
    Scratchpad,
    ScratchpadStatus,
    SessionSignal,
    SignalKind,
    TaskScratchpad,
)
from wellkept.core.session.sessions import SessionRecord
from wellkept.memory.engine import Engine
from wellkept.memory.remember import with_retries
from wellkept.observe.learning import outcomes, recipes
from wellkept.observe.learning.co_access import FileUsage
from wellkept.observe.learning.rules import LEARNED_FROM, Lesson, PromotionBasis, infer
from wellkept.observe.learning.save import save_lesson, weigh
from wellkept.observe.learning.validation import (
    CommitExists,
    FindCommit,
    ValidationResult,
    promotable_tasks,
    validate_session,
    validate_task,
)
from wellkept.observe.methodology.builtin import NATIVE
from wellkept.observe.methodology.protocol import Methodology
from wellkept.observe.signals.fold import FOLDED, OF_READING, UNCONDITIONAL, session_signals
from wellkept.observe.signals.work import Task, Work, work_of
from wellkept.observe.thresholds import (
    CAPS,
    COMPLEX_FILES,
    COMPLEX_STEPS,
    INCREMENTAL_ABOVE_TASKS,
    TRIVIAL_FILES,
    TRIVIAL_STEPS,
    Complexity,
)

_MAX_SIGNALS = 20_000


@record(kw_only=True)
class PromotionRules:
    """Settings of one promotion. Without `complexity` the size of the work is estimated."""

    idle_minutes: float = 10.0
    commit_exists: CommitExists = lambda _: True
    find_commit: FindCommit = lambda _, __: None
    complexity: Complexity | None = None
    methodology: Methodology = NATIVE


@record
class SkippedLesson:
    """A lesson that was not promoted, and why."""

    rule: str
    subject: str
    reason: str


@record(kw_only=True)
class PromotionReport:
    """Result of promoting one session: its validation and the ids of memories."""

    session_id: str
    validation: ValidationResult
    promoted: tuple[str, ...] = ()
    confirmed: tuple[str, ...] = ()
    skipped: tuple[SkippedLesson, ...] = ()
    discarded: int = 0


def promote(
    engine: Engine, session_id: str, *, rules: PromotionRules | None = None
) -> PromotionReport | None:
    """Promote a session if its work passed validation; None when there is nothing to do."""
    rules = rules or PromotionRules()
    # What comes in between these two reads changes the scratchpad, and is judged next time.
    scratchpad = engine.store.scratchpad(session_id)
    session = engine.store.get_session(session_id)
    if session is None or scratchpad is None:
        return None
    if scratchpad.state not in (ScratchpadStatus.OPEN, ScratchpadStatus.WAITING):
        return None
    work, over = work_of(session, scratchpad), is_over(engine, session, rules.idle_minutes)
    validation = validate_session(
        work, over=over, commit_exists=rules.commit_exists, find_commit=rules.find_commit
    )
    tasks = promotable_tasks(work, validation)
    promotion = _Promotion(engine, session, work, validation, rules)
    if tasks:
        return promotion.promote(tasks)
    if validation.status == "failed" and (over or validation.by.startswith("qa")):
        return promotion.discard()
    if validation.status == "nothing" and over:
        return promotion.read_only()
    is_due = over and scratchpad.state is ScratchpadStatus.OPEN
    return promotion.wait() if is_due else None


def is_over(engine: Engine, session: SessionRecord, idle_minutes: float) -> bool:
    """Whether a session ended or is idle."""
    idle = engine.clock() - session.last_event_at >= timedelta(minutes=idle_minutes)
    return idle or not session.is_open


def complexity_of(work: Work) -> Complexity:
    """Estimate the size of a piece of work from files, steps and sub-tasks."""
    edited = {one.what for task in work.tasks for one in task.edits}
    named = sum(task.review.name is not None for task in work.tasks)
    tasks, steps = max(work.plan.planned, named), work.pad.step
    if tasks > INCREMENTAL_ABOVE_TASKS or len(edited) > COMPLEX_FILES or steps > COMPLEX_STEPS:
        return Complexity.COMPLEX
    small = len(edited) <= TRIVIAL_FILES and steps <= TRIVIAL_STEPS and tasks <= 1
    return Complexity.TRIVIAL if small else Complexity.STANDARD


@record(frozen=False)
class _Promotion:
    """The promotion of one session."""

    engine: Engine
    session: SessionRecord
    work: Work
    validation: ValidationResult
    rules: PromotionRules
    promoted: list[str] = field(default_factory=list[str])
    confirmed: list[str] = field(default_factory=list[str])
    skipped: list[SkippedLesson] = field(default_factory=list[SkippedLesson])

    # -- Outcomes ---------------------------------------------------------------------------------

    def promote(self, tasks: tuple[Task, ...]) -> PromotionReport:
        """Turn sub-tasks that passed into memories and running records."""
        engine, way = self.engine, self.rules.methodology
        signals = self._put_signals(FOLDED, tasks)
        basis = self._basis(tasks)
        self._save(self._infer(signals, basis))
        records = outcomes.record_outcomes(
            engine, self.session, self.work, tasks, by=basis.validated_by, methodology=way
        )
        recipes.record_success(engine, basis, signals)
        if len(tasks) == len(self.work.tasks):
            outcomes.close_work_state(engine, self.session)
            outcomes.record_episode(engine, self.session, "success", by=basis.validated_by)
            outcomes.consolidate_outcomes(engine, self.work, records)
        self._mark(ScratchpadStatus.PROMOTED if len(tasks) == len(self.work.tasks) else None)
        return self._report()

    def discard(self) -> PromotionReport:
        """Discard a failed run, except for dead ends. Recipes that it followed are marked as
        failed."""
        basis = self._save_unconditional()
        signals = session_signals(self.work, self.work.tasks)
        recipes.record_failure(self.engine, basis, signals)
        outcomes.record_episode(self.engine, self.session, "failure", by=self.validation.by)
        self._put_work_state()
        return replace(self._report(), discarded=self._clear_failed_tasks())

    def read_only(self) -> PromotionReport:
        """Count the reads of a session without edits."""
        self._put_signals(OF_READING, self.work.tasks)
        outcomes.record_episode(self.engine, self.session, "discovery", by="")
        self._mark(ScratchpadStatus.PROMOTED)
        return self._report()

    def wait(self) -> PromotionReport | None:
        """Save the work state, and dead ends while validation is open."""
        self._save_unconditional()
        self._put_work_state()
        self._mark(ScratchpadStatus.WAITING)
        return self._report() if self.promoted else None

    # -- Steps ------------------------------------------------------------------------------------

    def _save_unconditional(self) -> PromotionBasis:
        basis = self._basis(self.work.tasks)
        self._save(self._infer(self._put_signals(UNCONDITIONAL, self.work.tasks), basis))
        return basis

    def _put_work_state(self) -> None:
        outcomes.put_work_state(
            self.engine,
            self.session,
            self.work,
            validated_by=self.validation.by,
            methodology=self.rules.methodology,
        )

    def _put_signals(
        self, kinds: Sequence[SignalKind], tasks: Sequence[Task]
    ) -> tuple[SessionSignal, ...]:
        signals = session_signals(self.work, tasks, kinds=kinds)
        pad = self.work.pad
        self.engine.store.apply([PutSignals(pad.project, pad.session_id, tuple(kinds), signals)])
        return signals

    def _basis(self, tasks: Sequence[Task]) -> PromotionBasis:
        own = (validate_task(task, self.validation).by for task in tasks)
        return PromotionBasis(
            project=self.work.pad.project,
            session_id=self.work.pad.session_id,
            at=self.session.last_event_at,
            validated_by=self.validation.by or next(filter(None, own), ""),
            commits=tuple(one for task in tasks for one in task.commits),
        )

    def _infer(self, fresh: Sequence[SessionSignal], basis: PromotionBasis) -> list[Lesson]:
        subjects = defaultdict[SignalKind, list[str]](list)
        for signal in fresh:
            subjects[signal.kind].append(signal.subject)
        known = {
            kind: self._signals(kind, subjects[kind]) for kind in LEARNED_FROM if kind in subjects
        }
        pairs = (s.subject.split("\n") for s in known.get(SignalKind.CO_ACCESS, ()))
        files = sorted({path for pair in pairs for path in pair})
        used = self._signals(SignalKind.FILE_ACCESS, files) if files else ()
        found = infer(known, FileUsage(used), basis)
        sequences = known.get(SignalKind.SEQUENCE, ())
        return [*found, *recipes.infer_recipe(self.engine, sequences, basis)]

    def _signals(self, kind: SignalKind, subjects: Sequence[str]) -> list[SessionSignal]:
        return self.engine.store.signals(
            project=self.work.pad.project, kinds=(kind,), subjects=subjects, limit=_MAX_SIGNALS
        )

    def _save(self, found: Sequence[Lesson]) -> None:
        """Weigh, filter, cap and save."""
        store, pad = self.engine.store, self.work.pad
        latest = store.sessions(project=pad.project, limit=1)
        now = max([self.session.last_event_at, *(s.last_event_at for s in latest)])
        weighed = [weigh(self.engine, one, latest=now) for one in found]
        weighed.sort(key=lambda one: (-one.why.score, one.why.rule, one.why.subject))
        room = CAPS[self.rules.complexity or complexity_of(self.work)] - pad.promoted_count
        for lesson in weighed:
            key, least = lesson.key, lesson.rule.min_score
            is_saved = store.find_key(key, project=pad.project, user_scope=False) is not None
            if not (lesson.why.score > least or lesson.known or is_saved):
                self._skip(lesson, f"score {lesson.why.score:.2f} is not above {least}")
            elif len(self.promoted) >= room and not is_saved:
                self._skip(lesson, "the cap for work of this size is reached")
            else:
                result, memory_id = save_lesson(self.engine, lesson)
                if result == "forgotten":
                    self._skip(lesson, "it was removed before")
                elif memory_id and result != "unchanged":
                    (self.promoted if result == "promoted" else self.confirmed).append(memory_id)

    def _skip(self, lesson: Lesson, reason: str) -> None:
        self.skipped.append(SkippedLesson(lesson.why.rule, lesson.why.subject, reason))

    # -- Scratchpad updates. Events that arrived meanwhile are promoted next time -----------------

    def _mark(self, state: ScratchpadStatus | None) -> None:
        def update(now: Scratchpad) -> Scratchpad:
            judged = state if state and self._is_unchanged(now) else now.state
            count = now.promoted_count + len(self.promoted)
            return replace(now, state=judged, promoted_count=count)

        self._update(update)

    def _clear_failed_tasks(self) -> int:
        """Close the sub-tasks of a failed run, unless it goes on; returns how many."""
        failed = {
            task.review.name: TaskScratchpad(
                task.review.name,
                since=max((one.number for one in task.steps), default=task.review.since),
                retries=task.review.retries + 1,
                changed=task.changed,
            )
            for task in self.work.tasks
            if validate_task(task, self.validation).status != "passed"
        }

        def update(now: Scratchpad) -> Scratchpad:
            if not self._is_unchanged(now):
                return now
            tasks, runs = tuple(failed.get(one.name, one) for one in now.tasks), now.failed_runs + 1
            return replace(now, state=ScratchpadStatus.FAILED, tasks=tasks, failed_runs=runs)

        return len(failed) if self._update(update) else 0

    def _is_unchanged(self, now: Scratchpad) -> bool:
        return now.step == self.work.pad.step and now.tasks == self.work.pad.tasks

    def _update(self, change: Callable[[Scratchpad], Scratchpad]) -> bool:
        """Apply a change to the stored scratchpad; returns whether it made a difference."""

        def attempt() -> bool:
            now = self.engine.store.scratchpad(self.work.pad.session_id)
            done = change(now) if now is not None else None
            if done is None or done == now:
                return False
            self.engine.store.apply([PutScratchpad(done)])
            return True

        return with_retries(attempt)

    def _report(self) -> PromotionReport:
        return PromotionReport(
            session_id=self.work.pad.session_id,
            validation=self.validation,
            promoted=tuple(self.promoted),
            confirmed=tuple(self.confirmed),
            skipped=tuple(self.skipped),
        )
