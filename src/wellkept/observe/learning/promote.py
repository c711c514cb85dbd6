"""Promotion: from the scratchpad of a session that held up to memories.

The filters, in order: validation (only sheets that passed; nothing of an approach that was given
up), frequency (each rule's own), novelty (nothing that is known already), score, and the cap that
the size of the work sets. What a failed run noticed is discarded, its dead ends are kept, and so is
what a person asked for.
Invariant: promoting twice equals promoting once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from wellkept.core.changes import PutScratchpad, PutSignals
from wellkept.core.records import record, replace
from wellkept.core.scratchpad import (
    Scratchpad,
    ScratchpadStatus,
    SessionSignal,
    SignalKind,
    TaskScratchpad,
)
from wellkept.core.sessions import SessionRecord
from wellkept.memory.engine import Engine
from wellkept.memory.remember import retried
from wellkept.observe.learning import outcomes, recipe_store
from wellkept.observe.learning.evidence import (
    OWN_KINDS,
    READING_KINDS,
    STANDING_KINDS,
    seen_in,
    standing_in,
)
from wellkept.observe.learning.file_usage import FileUses
from wellkept.observe.learning.model_wording import Synthesis, worded
from wellkept.observe.learning.rules import Conclusion, conclusions, key_of
from wellkept.observe.learning.save import PromotionBasis, PromotionResult, SavedConclusion, keep
from wellkept.observe.learning.scoring import Score, scored
from wellkept.observe.learning.validation import (
    Committed,
    Stays,
    ValidationResult,
    nobody_committed,
    promotable,
    sheet_standing,
    standing,
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

_MOST_SIGHTINGS = 20_000
_MOST_SAID = 2_000


def _always(sha: str) -> bool:  # noqa: ARG001
    return True


@record(kw_only=True)
class PromotionRules:
    """What is told from outside: when a quiet session is over, whether a commit is still there and
    which one holds its files, how large the work was when somebody knows, what a model may cost
    today, and the way of working that names its units."""

    idle_minutes: float = 10.0
    stays: Stays = _always
    committed: Committed = nobody_committed
    complexity: Complexity | None = None
    daily_model_tokens: int = 0
    way: Methodology = NATIVE


@record
class SkippedConclusion:
    """A conclusion that was not promoted, and why."""

    rule: str
    subject: str
    reason: str


@record(kw_only=True)
class PromotionReport:
    """What came of a session: how its work stands, and what was made of it."""

    session_id: str
    standing: ValidationResult
    promoted: tuple[str, ...] = ()
    confirmed: tuple[str, ...] = ()
    skipped: tuple[SkippedConclusion, ...] = ()
    discarded: int = 0


def promote(
    engine: Engine, session_id: str, *, rules: PromotionRules | None = None
) -> PromotionReport | None:
    """Promote what a session showed, if its work has held up; None when there is nothing to do."""
    known = rules or PromotionRules()
    session, pad = engine.store.get_session(session_id), engine.store.scratchpad(session_id)
    if (
        session is None
        or pad is None
        or pad.state not in (ScratchpadStatus.OPEN, ScratchpadStatus.WAITING)
    ):
        return None
    over = is_over(engine, session, idle_minutes=known.idle_minutes)
    word = standing(pad, over=over, stays=known.stays, committed=known.committed)
    sheets = promotable(pad, word)
    work = _Promotion(engine, session, pad, word, known)
    if sheets:
        return work.promote(sheets)
    if word.word == "failed" and (over or word.by.startswith("qa")):
        return work.discard()
    if word.word == "nothing" and over:
        return work.read_only()
    return work.wait() if over and pad.state is ScratchpadStatus.OPEN else None


def is_over(engine: Engine, session: SessionRecord, *, idle_minutes: float) -> bool:
    """Whether a session ended, or went quiet."""
    quiet = engine.clock() - session.last_event_at >= timedelta(minutes=idle_minutes)
    return quiet or not session.is_open


def complexity_of(pad: Scratchpad) -> Complexity:
    """How large a piece of work was, by what was done."""
    edited = {f.path for sheet in pad.sheets for f in sheet.files if f.edits}
    tasks = max(pad.planned, sum(sheet.task is not None for sheet in pad.sheets))
    if tasks > INCREMENTAL_ABOVE_TASKS or len(edited) > COMPLEX_FILES or pad.step > COMPLEX_STEPS:
        return Complexity.COMPLEX
    small = len(edited) <= TRIVIAL_FILES and pad.step <= TRIVIAL_STEPS and tasks <= 1
    return Complexity.TRIVIAL if small else Complexity.STANDARD


class _Promotion:
    """One session on its way."""

    def __init__(
        self,
        engine: Engine,
        session: SessionRecord,
        pad: Scratchpad,
        word: ValidationResult,
        rules: PromotionRules,
    ) -> None:
        self._engine = engine
        self._session = session
        self._pad = pad
        self._word = word
        self._rules = rules
        self._skipped: list[SkippedConclusion] = []

    # -- Three ways to end ------------------------------------------------------------------------

    def promote(self, sheets: tuple[TaskScratchpad, ...]) -> PromotionReport:
        """What passed becomes memories."""
        seen = seen_in(self._pad, sheets)
        self._see(OWN_KINDS, seen)
        ground = self._ground(sheets)
        found = self._conclude(seen)
        kept = self._keep(found, ground)
        fresh = sum(one.fate is PromotionResult.PROMOTED for one in kept)
        unit = outcomes.record_outcomes(
            self._engine, self._session, self._pad, sheets, by=ground.validated_by,
            way=self._rules.way,
        )  # fmt: skip
        outcomes.update_costs(self._engine, self._pad.project, seen)
        outcomes.update_calibration(
            self._engine, self._pad.project, seen, methodology=self._rules.way.id
        )
        recipe_store.followed(self._engine, ground, seen)
        if len(sheets) == len(self._pad.sheets):
            outcomes.settle_work_state(self._engine, self._session)
            outcomes.consolidate_outcomes(
                self._engine, self._pad, unit, daily_tokens=self._rules.daily_model_tokens
            )
        self._mark(sheets, promoted=fresh)
        return self._report(kept)

    def discard(self) -> PromotionReport:
        """What a failed run noticed goes; its dead ends and what a person asked for stay, and
        recipes that it followed are marked."""
        ground = self._ground(self._pad.sheets)
        kept = self._keep_standing(ground)
        recipe_store.failed(self._engine, ground, seen_in(self._pad, self._pad.sheets))
        outcomes.put_work_state(
            self._engine, self._session, self._pad, self._word.by, way=self._rules.way
        )
        dropped = self._drop()
        return replace(self._report(kept), discarded=dropped)

    def read_only(self) -> PromotionReport:
        """A session that changed nothing only adds to what is known of reading."""
        seen = [s for s in seen_in(self._pad, self._pad.sheets) if s.kind in READING_KINDS]
        self._see(READING_KINDS, seen)
        said = [s for s in seen if s.kind is SignalKind.INSTRUCTION]
        kept = self._keep(self._conclude(said), self._ground(self._pad.sheets))
        self._mark(
            self._pad.sheets, promoted=sum(one.fate is PromotionResult.PROMOTED for one in kept)
        )
        return self._report(kept)

    def wait(self) -> PromotionReport | None:
        """Nobody can say yet; where the work stands is kept for whoever goes on, and what holds in
        any case."""
        kept = self._keep_standing(self._ground(self._pad.sheets))
        outcomes.put_work_state(
            self._engine, self._session, self._pad, self._word.by, way=self._rules.way
        )
        fresh = sum(one.fate is PromotionResult.PROMOTED for one in kept)
        self._rest(promoted=fresh)
        return self._report(kept) if fresh else None

    def _keep_standing(self, ground: PromotionBasis) -> list[SavedConclusion]:
        seen = standing_in(self._pad)
        self._see(STANDING_KINDS, seen)
        return self._keep(self._conclude(seen), ground)

    # -- Steps ------------------------------------------------------------------------------------

    def _see(self, kinds: Sequence[SignalKind], seen: Sequence[SessionSignal]) -> None:
        change = PutSignals(self._pad.project, self._pad.session_id, tuple(kinds), tuple(seen))
        self._engine.store.apply([change])

    def _ground(self, sheets: Sequence[TaskScratchpad]) -> PromotionBasis:
        by = self._word.by or next(
            (told.by for s in sheets if (told := sheet_standing(s, self._word)).by), ""
        )
        commits = (c for sheet in sheets for c in sheet.commits if c.sha and not c.undone)
        return PromotionBasis(
            project=self._pad.project,
            session_id=self._pad.session_id,
            at=self._session.last_event_at,
            validated_by=by,
            commits=tuple(commits),
        )

    def _conclude(self, fresh: Sequence[SessionSignal]) -> list[Conclusion]:
        store, project = self._engine.store, self._pad.project
        subjects = defaultdict[SignalKind, list[str]](list)
        for sighting in fresh:
            subjects[sighting.kind].append(sighting.subject)
        known = {
            kind: store.sightings(
                project=project,
                kinds=(kind,),
                # Instructions are alike in words, so the latest of all are looked at.
                subjects=() if kind is SignalKind.INSTRUCTION else names,
                limit=_MOST_SAID if kind is SignalKind.INSTRUCTION else _MOST_SIGHTINGS,
            )
            for kind, names in subjects.items()
            if kind not in (SignalKind.FILE_ACCESS, SignalKind.CONTEXT_COST)
        }
        found = conclusions(fresh, known, self._uses(known))
        made = recipe_store.conclude(self._engine, project, known, self._pad.session_id)
        return [*found, *([made] if made else [])]

    def _uses(self, known: Mapping[SignalKind, Sequence[SessionSignal]]) -> FileUses:
        """The sessions that used the files of pairs and of steps back."""
        pairs = (s.subject.split("\n") for s in known.get(SignalKind.CO_ACCESS, ()))
        files = {path for pair in pairs for path in pair}
        files |= {s.subject.split("\n")[1] for s in known.get(SignalKind.BACKTRACK, ())}
        if not files:
            return FileUses()
        return FileUses(
            self._engine.store.sightings(
                project=self._pad.project,
                kinds=(SignalKind.FILE_ACCESS,),
                subjects=sorted(files),
                limit=_MOST_SIGHTINGS,
            )
        )

    def _keep(self, found: Sequence[Conclusion], ground: PromotionBasis) -> list[SavedConclusion]:
        """Score, sort, cap, word and keep."""
        latest = self._engine.store.sessions(project=ground.project, limit=1)
        now = max([self._session.last_event_at, *(s.last_event_at for s in latest)])
        judged = [
            (made, scored(self._engine, made, project=ground.project, latest=now)) for made in found
        ]
        good = [pair for pair in judged if self._is_good(*pair)]
        good.sort(key=lambda pair: (-pair[1].total, pair[0].rule.name, pair[0].subject))
        room = CAPS[self._rules.complexity or complexity_of(self._pad)] - self._pad.promoted_count
        kept: list[SavedConclusion] = []
        synthesis = Synthesis(self._engine, daily_tokens=self._rules.daily_model_tokens)
        for made, score in worded(synthesis, good, known=self._is_kept, most=room):
            is_new = not self._is_kept(made)
            if is_new and room <= 0:
                self._skip(made, "the cap for work of this size is reached")
                continue
            one = keep(self._engine, made, score, ground=ground)
            room -= one.fate is PromotionResult.PROMOTED
            if one.fate is PromotionResult.FORGOTTEN:
                self._skip(made, "somebody removed it before")
            kept.append(one)
        return kept

    def _is_kept(self, made: Conclusion) -> bool:
        found = self._engine.store.find_key(
            key_of(made), project=self._pad.project, user_scope=False
        )
        return found is not None

    def _is_good(self, made: Conclusion, score: Score) -> bool:
        if score.total > made.rule.min_score or score.is_known or self._is_kept(made):
            return True
        self._skip(made, f"score {score.total:.2f} is not above {made.rule.min_score}")
        return False

    def _skip(self, made: Conclusion, reason: str) -> None:
        self._skipped.append(SkippedConclusion(made.rule.name, made.subject, reason))

    # -- The scratchpad afterwards ----------------------------------------------------------------

    def _mark(self, sheets: Sequence[TaskScratchpad], *, promoted: int) -> None:
        """Note what was promoted, unless more came in meanwhile: that is promoted next time."""
        tasks = {sheet.task for sheet in sheets}

        def marked(now: Scratchpad) -> Scratchpad:
            is_same = self._is_same(now)
            done = tuple(
                replace(sheet, promoted=sheet.promoted or (is_same and sheet.task in tasks))
                for sheet in now.sheets
            )
            state = ScratchpadStatus.PROMOTED if is_same and len(tasks) == len(done) else now.state
            count = now.promoted_count + promoted
            return replace(now, state=state, sheets=done, promoted_count=count)

        self._rewrite(marked)

    def _rest(self, *, promoted: int) -> None:
        """Nothing more can be said of this work for now, unless more came in meanwhile."""

        def rested(now: Scratchpad) -> Scratchpad:
            state = ScratchpadStatus.WAITING if self._is_same(now) else now.state
            return replace(now, state=state, promoted_count=now.promoted_count + promoted)

        self._rewrite(rested)

    def _drop(self) -> int:
        """Empty the sheets of a failed run, unless it goes on; the next begins on clean ones."""
        failed = [s for s in self._pad.sheets if sheet_standing(s, self._word).word != "passed"]
        tasks = {sheet.task for sheet in failed}

        def dropped(now: Scratchpad) -> Scratchpad:
            if not self._is_same(now):
                return now
            clean = tuple(_emptied(s) if s.task in tasks else s for s in now.sheets)
            runs = now.failed_runs + 1
            return replace(now, state=ScratchpadStatus.FAILED, sheets=clean, failed_runs=runs)

        return len(failed) if self._rewrite(dropped) else 0

    def _is_same(self, now: Scratchpad) -> bool:
        return now.step == self._pad.step and now.sheets == self._pad.sheets

    def _rewrite(self, change: Callable[[Scratchpad], Scratchpad]) -> bool:
        """Write the scratchpad as it is now with a change; tells whether it was one."""

        def attempt() -> bool:
            now = self._engine.store.scratchpad(self._pad.session_id)
            done = change(now) if now is not None else None
            if done is None or done == now:
                return False
            self._engine.store.apply([PutScratchpad(done)])
            return True

        return retried(attempt)

    def _report(self, kept: Sequence[SavedConclusion]) -> PromotionReport:
        def ids(fate: PromotionResult) -> tuple[str, ...]:
            return tuple(one.memory_id for one in kept if one.fate is fate and one.memory_id)

        return PromotionReport(
            session_id=self._pad.session_id,
            standing=self._word,
            promoted=ids(PromotionResult.PROMOTED),
            confirmed=ids(PromotionResult.CONFIRMED),
            skipped=tuple(self._skipped),
        )


def _emptied(sheet: TaskScratchpad) -> TaskScratchpad:
    return TaskScratchpad(
        task=sheet.task,
        first_step=sheet.last_step,
        last_step=sheet.last_step,
        tokens=sheet.tokens,
        retries=sheet.retries + 1,
        dead_ends=sheet.dead_ends,
        notes=tuple(note for note in sheet.notes if note.by_person),
    )
