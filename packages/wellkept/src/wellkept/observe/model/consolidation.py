"""Has a model read the sessions that are due: summary, wording, memories, invalidations.

Runs after a drain, outside its lock and every transaction. One question per session, within the
daily budget. An answer is kept before it is applied, so that a killed process neither loses it nor
asks again. After repeated failures the material goes into the raw archive and is taken up when the
model answers again; while the model waits, sessions stay in the queue.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.changes import PutSession
from wellkept.core.codec import Json
from wellkept.core.errors import ConflictError, ProviderError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.payloads import SessionSummary
from wellkept.core.ports.models import TextModel
from wellkept.core.records import record, replace
from wellkept.core.session.sessions import SessionRecord
from wellkept.memory.engine import Engine, refund_tokens, spend_tokens
from wellkept.memory.exchange.passages import fingerprint
from wellkept.observe.model import event_log
from wellkept.observe.model.event_log import LoggedEvent
from wellkept.observe.model.extraction import Extraction, apply_answer, known_memories
from wellkept.observe.model.session_summaries import (
    build_prompt,
    checker,
    improved_summary,
    material,
    parse_answer,
    rewordable,
    rewordings,
    session_memories,
    summary_parts,
)
from wellkept.observe.session.drafts import find_summary, summary_changes, summary_draft
from wellkept.observe.session.state import dump_state, load_state
from wellkept.text.secrets.redaction import redact

MAX_SESSIONS = 5
ANSWER_TOKENS, EXTRACTION_TOKENS, MAX_ANSWER_TOKENS = 700, 900, 2_000
TOKENS_PER_OBSERVATION = 90
_ARCHIVE, _CLAIMS = "raw_archive", "model_claims"


@record
class ModelUsageReport:
    """Number of sessions by result, and of memories made and closed. `waiting`: the model is not to
    be asked now."""

    written: int = 0
    failed: int = 0
    archived: int = 0
    over_budget: int = 0
    waiting: int = 0
    memories: int = 0
    invalidated: int = 0
    dropped: int = 0


def summarize_sessions(
    engine: Engine,
    session_ids: Sequence[str],
    *,
    daily_tokens: int,
    batch_tokens: int = 8_000,
    max_failures: int = 3,
    retries: int = 2,
) -> ModelUsageReport:
    """Read sessions with the model, at most `batch_tokens` of each, and those that an earlier run
    left; nothing without one. After `max_failures` in a row the events are archived raw."""
    model = engine.text_model() if daily_tokens > 0 else None
    if model is None:
        return ModelUsageReport()
    run = _Run(engine, model, daily_tokens, batch_tokens, max_failures)
    store = engine.store
    for session_id in session_ids:
        run.restore_summary(session_id)
    archived = archived_material(engine)
    queued = [one for one in event_log.waiting(store) if one not in archived]
    # A session with a log is due when it is in the queue; others have only their summary.
    unlogged = [one for one in session_ids if not event_log.is_logged(store, one)]
    fresh = [one for one in session_ids if one in archived]
    for session_id in list(dict.fromkeys((*queued, *unlogged, *fresh)))[:MAX_SESSIONS]:
        if not run.read(session_id):
            return run.report
    if run.report.written:
        for session_id in [one for one in archived if one not in session_ids][:retries]:
            run.read(session_id)
    return run.report


def archived_material(engine: Engine) -> dict[str, Json]:
    """Material of sessions that the model could not read."""
    return engine.store.values(_ARCHIVE)


class _Run:
    """Reads sessions one after the other."""

    def __init__(
        self,
        engine: Engine,
        model: TextModel,
        daily_tokens: int,
        batch_tokens: int,
        max_failures: int,
    ) -> None:
        self.report = ModelUsageReport()
        self._engine = engine
        self._model = model
        self._daily_tokens = daily_tokens
        self._batch_tokens = batch_tokens
        self._max_failures = max_failures

    def read(self, session_id: str) -> bool:
        """Read one session; False when the model is not to be asked any more now."""
        engine = self._engine
        session = engine.store.get_session(session_id)
        summary = find_summary(engine, session_id, project=session.project) if session else None
        events = event_log.unread(engine.store, session_id)
        events = event_log.bounded(events, self._batch_tokens)
        if session is None or (summary is None and not events):
            event_log.mark_read(engine.store, session_id, events[-1].number if events else 0)
            return True
        reading = _reading(engine, session, summary, events)
        saved = event_log.saved_answer(engine.store, session_id)
        if saved is not None:
            upto, answer = saved
            before = tuple(event for event in events if event.number <= upto)
            reading = replace(reading, events=before)
        else:
            asked = self._ask(reading)
            if asked is None:
                return False
            if not asked:
                return True
            answer = asked
        self._apply(reading, answer)
        return True

    def restore_summary(self, session_id: str) -> None:
        """Rules write a summary at every trigger; where nothing was said since, the model's text
        comes back."""
        parts = event_log.saved_summary(self._engine.store, session_id)
        session = self._engine.store.get_session(session_id) if parts else None
        if session is not None:
            _write_summary(self._engine, session, parts)

    def _ask(self, reading: _Reading) -> str | None:
        """The model's answer, kept in the store; None when it is not to be asked now, and "" when
        it failed."""
        engine = self._engine
        prompt = redact(reading.prompt).text
        cost = engine.count_tokens(prompt) + reading.answer_tokens
        key = self._claim(reading)
        if not key:
            return ""
        # Spend before the call, atomically: other processes share the budget.
        if not spend_tokens(engine, cost, daily_tokens=self._daily_tokens):
            engine.store.put_value(_CLAIMS, key, None)
            self.report = replace(self.report, over_budget=self.report.over_budget + 1)
            return None
        try:
            answer = self._model.complete(prompt, max_tokens=reading.answer_tokens)
            parse_answer(answer)
        except (ProviderError, UsageError) as error:
            engine.store.put_value(_CLAIMS, key, None)
            if isinstance(error, ProviderError) and error.cause == "wait":
                refund_tokens(engine, cost)
                self.report = replace(self.report, waiting=self.report.waiting + 1)
                return None
            self._failed(reading)
            return ""
        if reading.events:
            upto = reading.events[-1].number
            event_log.save_answer(engine.store, reading.session.id, upto, redact(answer).text)
        return answer

    def _claim(self, reading: _Reading) -> str:
        """The claim of this process on these events, "" when another drain has it: it must not pay
        again. Named by the first event, since a later drain may read further. A claim ends within
        two hours, so that a killed process holds nothing up for long."""
        store, hour = self._engine.store, int(self._engine.clock().timestamp()) // 3_600
        first = reading.events[0].number if reading.events else fingerprint(reading.prompt)
        key, before = (f"{reading.session.id}:{first}:{one}" for one in (hour, hour - 1))
        is_free = store.get_value(_CLAIMS, before) is None
        return key if is_free and store.try_increment(_CLAIMS, key, 1, limit=1) else ""

    def _apply(self, reading: _Reading, answer: str) -> None:
        engine, session = self._engine, reading.session
        try:
            given = parse_answer(answer)
        except UsageError:
            given = {}
        texts = (reading.material, *(event.text for event in reading.events))
        keep = checker(texts, load_state(session.work).steps)
        if parts := summary_parts(given, keep):
            _write_summary(engine, session, parts)
            event_log.save_summary(engine.store, session.id, parts)
        for change in rewordings(engine, given.get("observations"), reading.seen, keep):
            try:
                engine.store.apply([change])
            except ConflictError:
                continue  # it was changed meanwhile
        name = getattr(self._model, "model_id", "text model")
        done = apply_answer(
            engine,
            given,
            Extraction(
                session=session, events=reading.events, known=reading.known, model_id=str(name)
            ),
        )
        if reading.events:
            event_log.mark_read(engine.store, session.id, reading.events[-1].number)
        engine.store.put_value(_ARCHIVE, session.id, None)
        _count_failures(engine, session.id, 0)
        self.report = replace(
            self.report,
            written=self.report.written + 1,
            memories=self.report.memories + done.memories,
            invalidated=self.report.invalidated + done.invalidated + done.flagged,
            dropped=self.report.dropped + done.dropped,
        )

    def _failed(self, reading: _Reading) -> None:
        """Count a failure; the last one allowed puts the material into the raw archive."""
        engine, session = self._engine, reading.session
        failures = load_state(session.work).model_failures + 1
        _count_failures(engine, session.id, failures)
        self.report = replace(self.report, failed=self.report.failed + 1)
        if failures >= self._max_failures:
            engine.store.put_value(_ARCHIVE, session.id, redact(reading.prompt).text)
            self.report = replace(self.report, archived=self.report.archived + 1)


@record
class _Reading:
    """A session as it is shown to the model."""

    session: SessionRecord
    summary: Memory | None
    events: tuple[LoggedEvent, ...]
    known: tuple[Memory, ...]
    seen: tuple[Memory, ...]
    material: str

    @property
    def prompt(self) -> str:
        """The question."""
        return build_prompt(self.material, self.events, self.known)

    @property
    def answer_tokens(self) -> int:
        """How long the answer may be."""
        wording = TOKENS_PER_OBSERVATION * len(self.seen)
        extraction = EXTRACTION_TOKENS if self.events else 0
        return min(ANSWER_TOKENS + wording + extraction, MAX_ANSWER_TOKENS)


def _reading(
    engine: Engine, session: SessionRecord, summary: Memory | None, events: tuple[LoggedEvent, ...]
) -> _Reading:
    rows = session_memories(engine, session)
    known = known_memories(engine, session, events) if events else []
    notes = material(session, summary, rows) if summary is not None else ""
    return _Reading(session, summary, events, tuple(known), tuple(rewordable(rows)), notes)


def _write_summary(engine: Engine, session: SessionRecord, parts: dict[str, str]) -> None:
    found = find_summary(engine, session.id, project=session.project)
    if found is None or not isinstance(found.payload, SessionSummary):
        return
    better = improved_summary(parts, found.payload)
    draft = summary_draft(better, session, at=session.last_event_at)
    engine.store.apply(summary_changes(engine, draft, project=session.project, is_due=True))


def _count_failures(engine: Engine, session_id: str, count: int) -> None:
    """Store the failure count with the session; a conflict is ignored."""
    session = engine.store.get_session(session_id)
    state = load_state(session.work) if session is not None else None
    if session is None or state is None or state.model_failures == count:
        return
    try:
        work = dump_state(replace(state, model_failures=count))
        engine.store.apply([PutSession(replace(session, work=work))])
    except ConflictError:
        return
