"""Promotes what a validated session showed into memories.

Filters, in order: validation (only sub-tasks that passed, nothing from abandoned approaches),
frequency (set by each rule), novelty, score, and a cap by size of the work. A failed run is
discarded except for its dead ends and the user's instructions.
Invariant: promoting twice equals promoting once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from wellkept.core.changes import PutScratchpad, PutSignals
from wellkept.core.records import record, replace
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
from wellkept.observe.learning.evidence import (
    READING_KINDS,
    SCRATCHPAD_KINDS,
    UNCONDITIONAL_KINDS,
    session_signals,
    unconditional_signals,
)
from wellkept.observe.learning.file_usage import FileUsage
from wellkept.observe.learning.rules import Conclusion, infer, key_of
from wellkept.observe.learning.save import (
    PromotionBasis,
    PromotionResult,
    SavedConclusion,
    save_conclusion,
)
from wellkept.observe.learning.scoring import Score, score_conclusion
from wellkept.observe.learning.validation import (
    CommitExists,
    FindCommit,
    ValidationResult,
    no_commit,
    promotable_tasks,
    validate_session,
    validate_task,
)
from wellkept.observe.methodology.builtin import NATIVE
from wellkept.observe.methodology.protocol import Methodology
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


def _always(sha: str) -> bool:  # noqa: ARG001
    return True


@record(kw_only=True)
class PromotionRules:
    """Settings of one promotion. Without `complexity` the size of the work is estimated."""

    idle_minutes: float = 10.0
    commit_exists: CommitExists = _always
    find_commit: FindCommit = no_commit
    complexity: Complexity | None = None
    methodology: Methodology = NATIVE


@record
class SkippedConclusion:
    """A conclusion that was not promoted, and why."""

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
    skipped: tuple[SkippedConclusion, ...] = ()
    discarded: int = 0


def promote(
    engine: Engine, session_id: str, *, rules: PromotionRules | None = None
) -> PromotionReport | None:
    """Promote a session if its work passed validation; None when there is nothing to do."""
    rules = rules or PromotionRules()
    session = engine.store.get_session(session_id)
    scratchpad = engine.store.scratchpad(session_id)
    if session is None or scratchpad is None:
        return None
    if scratchpad.state not in (ScratchpadStatus.OPEN, ScratchpadStatus.WAITING):
        return None
    over = is_over(engine, session, idle_minutes=rules.idle_minutes)
    validation = validate_session(
        scratchpad, over=over, commit_exists=rules.commit_exists, find_commit=rules.find_commit
    )
    tasks = promotable_tasks(scratchpad, validation)
    promotion = _Promotion(engine, session, scratchpad, validation, rules)
    if tasks:
        return promotion.promote(tasks)
    if validation.status == "failed" and (over or validation.by.startswith("qa")):
        return promotion.discard()
    if validation.status == "nothing" and over:
        return promotion.read_only()
    is_due = over and scratchpad.state is ScratchpadStatus.OPEN
    return promotion.wait() if is_due else None


def is_over(engine: Engine, session: SessionRecord, *, idle_minutes: float) -> bool:
    """Whether a session ended or is idle."""
    idle = engine.clock() - session.last_event_at >= timedelta(minutes=idle_minutes)
    return idle or not session.is_open


def complexity_of(scratchpad: Scratchpad) -> Complexity:
    """Estimate the size of a piece of work from files, steps and sub-tasks."""
    edited = {f.path for task in scratchpad.tasks for f in task.files if f.edits}
    tasks = max(scratchpad.planned, sum(task.name is not None for task in scratchpad.tasks))
    steps = scratchpad.step
    if tasks > INCREMENTAL_ABOVE_TASKS or len(edited) > COMPLEX_FILES or steps > COMPLEX_STEPS:
        return Complexity.COMPLEX
    small = len(edited) <= TRIVIAL_FILES and steps <= TRIVIAL_STEPS and tasks <= 1
    return Complexity.TRIVIAL if small else Complexity.STANDARD


class _Promotion:
    """The promotion of one session."""

    def __init__(
        self,
        engine: Engine,
        session: SessionRecord,
        scratchpad: Scratchpad,
        validation: ValidationResult,
        rules: PromotionRules,
    ) -> None:
        self._engine = engine
        self._session = session
        self._scratchpad = scratchpad
        self._validation = validation
        self._rules = rules
        self._skipped: list[SkippedConclusion] = []

    # -- Outcomes ---------------------------------------------------------------------------------

    def promote(self, tasks: tuple[TaskScratchpad, ...]) -> PromotionReport:
        """Turn sub-tasks that passed into memories and running records."""
        engine = self._engine
        signals = session_signals(self._scratchpad, tasks)
        self._put_signals(SCRATCHPAD_KINDS, signals)
        basis = self._basis(tasks)
        saved = self._save(self._infer(signals), basis)
        records = outcomes.record_outcomes(
            engine,
            self._session,
            self._scratchpad,
            tasks,
            by=basis.validated_by,
            methodology=self._rules.methodology,
        )
        recipes.record_success(engine, basis, signals)
        if len(tasks) == len(self._scratchpad.tasks):
            outcomes.close_work_state(engine, self._session)
            outcomes.consolidate_outcomes(engine, self._scratchpad, records)
        self._mark_promoted(tasks, saved)
        return self._report(saved)

    def discard(self) -> PromotionReport:
        """Discard a failed run, except for dead ends and instructions. Recipes that it followed
        are marked as failed."""
        basis = self._basis(self._scratchpad.tasks)
        saved = self._save_unconditional(basis)
        signals = session_signals(self._scratchpad, self._scratchpad.tasks)
        recipes.record_failure(self._engine, basis, signals)
        self._put_work_state()
        return replace(self._report(saved), discarded=self._clear_failed_tasks())

    def read_only(self) -> PromotionReport:
        """Count the reads of a session without edits."""
        tasks = self._scratchpad.tasks
        signals = [s for s in session_signals(self._scratchpad, tasks) if s.kind in READING_KINDS]
        self._put_signals(READING_KINDS, signals)
        self._mark_promoted(tasks, ())
        return self._report(())

    def wait(self) -> PromotionReport | None:
        """Save the work state, and dead ends while validation is open."""
        saved = self._save_unconditional(self._basis(self._scratchpad.tasks))
        self._put_work_state()
        self._mark_waiting(saved)
        return self._report(saved) if _count_promoted(saved) else None

    def _save_unconditional(self, basis: PromotionBasis) -> list[SavedConclusion]:
        signals = unconditional_signals(self._scratchpad)
        self._put_signals(UNCONDITIONAL_KINDS, signals)
        return self._save(self._infer(signals), basis)

    def _put_work_state(self) -> None:
        outcomes.put_work_state(
            self._engine,
            self._session,
            self._scratchpad,
            validated_by=self._validation.by,
            methodology=self._rules.methodology,
        )

    # -- Steps ------------------------------------------------------------------------------------

    def _put_signals(self, kinds: Sequence[SignalKind], signals: Sequence[SessionSignal]) -> None:
        project, session_id = self._scratchpad.project, self._scratchpad.session_id
        change = PutSignals(project, session_id, tuple(kinds), tuple(signals))
        self._engine.store.apply([change])

    def _basis(self, tasks: Sequence[TaskScratchpad]) -> PromotionBasis:
        own = (validate_task(task, self._validation).by for task in tasks)
        commits = (c for task in tasks for c in task.commits if c.sha and not c.undone)
        return PromotionBasis(
            project=self._scratchpad.project,
            session_id=self._scratchpad.session_id,
            at=self._session.last_event_at,
            validated_by=self._validation.by or next(filter(None, own), ""),
            commits=tuple(commits),
        )

    def _infer(self, fresh: Sequence[SessionSignal]) -> list[Conclusion]:
        store, project = self._engine.store, self._scratchpad.project
        subjects = defaultdict[SignalKind, list[str]](list)
        for signal in fresh:
            subjects[signal.kind].append(signal.subject)
        known = {
            kind: store.signals(
                project=project,
                kinds=(kind,),
                subjects=names,
                limit=_MAX_SIGNALS,
            )
            for kind, names in subjects.items()
            if kind not in (SignalKind.FILE_ACCESS, SignalKind.CONTEXT_COST)
        }
        found = infer(fresh, known, self._file_usage(known))
        recipe = recipes.infer_recipe(self._engine, project, known, self._scratchpad.session_id)
        return [*found, *([recipe] if recipe else [])]

    def _file_usage(self, known: Mapping[SignalKind, Sequence[SessionSignal]]) -> FileUsage:
        """The sessions that used the files of pairs."""
        pairs = (s.subject.split("\n") for s in known.get(SignalKind.CO_ACCESS, ()))
        files = {path for pair in pairs for path in pair}
        if not files:
            return FileUsage()
        return FileUsage(
            self._engine.store.signals(
                project=self._scratchpad.project,
                kinds=(SignalKind.FILE_ACCESS,),
                subjects=sorted(files),
                limit=_MAX_SIGNALS,
            )
        )

    def _save(self, found: Sequence[Conclusion], basis: PromotionBasis) -> list[SavedConclusion]:
        """Score, filter, cap and save."""
        latest = self._engine.store.sessions(project=basis.project, limit=1)
        now = max([self._session.last_event_at, *(s.last_event_at for s in latest)])
        scored = [
            (one, score_conclusion(self._engine, one, project=basis.project, latest=now))
            for one in found
        ]
        good = [pair for pair in scored if self._is_good(*pair)]
        good.sort(key=lambda pair: (-pair[1].total, pair[0].rule.name, pair[0].subject))
        cap = CAPS[self._rules.complexity or complexity_of(self._scratchpad)]
        room = cap - self._scratchpad.promoted_count
        saved: list[SavedConclusion] = []
        for conclusion, score in good:
            if room <= 0 and not self._is_saved(conclusion):
                self._skip(conclusion, "the cap for work of this size is reached")
                continue
            one = save_conclusion(self._engine, conclusion, score, basis=basis)
            room -= one.result is PromotionResult.PROMOTED
            if one.result is PromotionResult.FORGOTTEN:
                self._skip(conclusion, "it was removed before")
            saved.append(one)
        return saved

    def _is_saved(self, conclusion: Conclusion) -> bool:
        found = self._engine.store.find_key(
            key_of(conclusion), project=self._scratchpad.project, user_scope=False
        )
        return found is not None

    def _is_good(self, conclusion: Conclusion, score: Score) -> bool:
        min_score = conclusion.rule.min_score
        if score.total > min_score or score.is_known or self._is_saved(conclusion):
            return True
        self._skip(conclusion, f"score {score.total:.2f} is not above {min_score}")
        return False

    def _skip(self, conclusion: Conclusion, reason: str) -> None:
        self._skipped.append(SkippedConclusion(conclusion.rule.name, conclusion.subject, reason))

    # -- Scratchpad updates. Events that arrived meanwhile are promoted next time -----------------

    def _mark_promoted(
        self, tasks: Sequence[TaskScratchpad], saved: Sequence[SavedConclusion]
    ) -> None:
        names = {task.name for task in tasks}

        def update(now: Scratchpad) -> Scratchpad:
            is_same = self._is_unchanged(now)
            done = tuple(
                replace(task, promoted=task.promoted or (is_same and task.name in names))
                for task in now.tasks
            )
            all_done = is_same and len(names) == len(done)
            return replace(
                now,
                state=ScratchpadStatus.PROMOTED if all_done else now.state,
                tasks=done,
                promoted_count=now.promoted_count + _count_promoted(saved),
            )

        self._update(update)

    def _mark_waiting(self, saved: Sequence[SavedConclusion]) -> None:
        def update(now: Scratchpad) -> Scratchpad:
            state = ScratchpadStatus.WAITING if self._is_unchanged(now) else now.state
            count = now.promoted_count + _count_promoted(saved)
            return replace(now, state=state, promoted_count=count)

        self._update(update)

    def _clear_failed_tasks(self) -> int:
        """Empty the sub-tasks of a failed run, unless it goes on; returns how many."""
        tasks = self._scratchpad.tasks
        failed = [t for t in tasks if validate_task(t, self._validation).status != "passed"]
        names = {task.name for task in failed}

        def update(now: Scratchpad) -> Scratchpad:
            if not self._is_unchanged(now):
                return now
            cleared = tuple(_cleared(t) if t.name in names else t for t in now.tasks)
            runs = now.failed_runs + 1
            return replace(now, state=ScratchpadStatus.FAILED, tasks=cleared, failed_runs=runs)

        return len(failed) if self._update(update) else 0

    def _is_unchanged(self, now: Scratchpad) -> bool:
        return now.step == self._scratchpad.step and now.tasks == self._scratchpad.tasks

    def _update(self, change: Callable[[Scratchpad], Scratchpad]) -> bool:
        """Apply a change to the stored scratchpad; returns whether it made a difference."""

        def attempt() -> bool:
            now = self._engine.store.scratchpad(self._scratchpad.session_id)
            done = change(now) if now is not None else None
            if done is None or done == now:
                return False
            self._engine.store.apply([PutScratchpad(done)])
            return True

        return with_retries(attempt)

    def _report(self, saved: Sequence[SavedConclusion]) -> PromotionReport:
        def ids(result: PromotionResult) -> tuple[str, ...]:
            return tuple(s.memory_id for s in saved if s.result is result and s.memory_id)

        return PromotionReport(
            session_id=self._scratchpad.session_id,
            validation=self._validation,
            promoted=ids(PromotionResult.PROMOTED),
            confirmed=ids(PromotionResult.CONFIRMED),
            skipped=tuple(self._skipped),
        )


def _count_promoted(saved: Sequence[SavedConclusion]) -> int:
    return sum(one.result is PromotionResult.PROMOTED for one in saved)


def _cleared(task: TaskScratchpad) -> TaskScratchpad:
    return TaskScratchpad(
        name=task.name,
        first_step=task.last_step,
        last_step=task.last_step,
        tokens=task.tokens,
        retries=task.retries + 1,
        dead_ends=task.dead_ends,
    )
