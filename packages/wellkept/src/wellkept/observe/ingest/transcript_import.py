"""Import a session's transcript, through the same path as captured events.

Invariant: importing twice equals once, wherever it was interrupted. Events and read position are
one transaction. What a hook captured of the same session is not imported again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from wellkept.core.chat.transcripts import (
    ReadStats,
    Transcript,
    TranscriptEvent,
    TranscriptFile,
)
from wellkept.core.records import field, record, replace
from wellkept.core.session.events import Event, Origin, SessionEnded
from wellkept.core.session.sessions import ReadPosition, SessionRecord
from wellkept.observe.ingest.ingest import BAD_EVENT, TRANSIENT, EventIngester
from wellkept.observe.session.reducer import apply_events
from wellkept.observe.session.state import load_state
from wellkept.text.events.sanitize import safe_text

BATCH_EVENTS, BATCH_BYTES = 500, 16 << 20
# The clocks of hooks and transcripts differ slightly.
_SAME_MOMENT = timedelta(seconds=2)

OnBytes: TypeAlias = Callable[[int], None]


class ImportState(StrEnum):
    """The result of importing a transcript."""

    NEW = "new"
    CONTINUED = "continued"
    UNCHANGED = "unchanged"
    CAUGHT = "caught"


@record
class ImportedTranscript:
    """The import of one transcript. `known` counts events that hooks had captured."""

    state: ImportState
    events: int
    known: int
    reading: ReadStats


def take_transcript(
    taker: EventIngester,
    transcript: Transcript,
    *,
    is_quiet: bool,
    dry_run: bool = False,
    on_bytes: OnBytes | None = None,
) -> ImportedTranscript:
    """Import what is new in a transcript.

    `is_quiet`: it is no longer written, so its last turn and its session are over. A dry run counts
    the same and writes nothing.
    """
    return _Take(taker, transcript, is_quiet, dry_run, on_bytes).run()


@record(frozen=False)
class _Take:
    """Imports one transcript."""

    taker: EventIngester
    transcript: Transcript
    is_quiet: bool
    dry_run: bool
    on_bytes: OnBytes | None
    known: int = 0
    events: int = 0
    reading: ReadStats = field(default_factory=ReadStats)
    _marks: dict[str, ReadPosition] = field(default_factory=dict[str, ReadPosition])
    _session: SessionRecord | None = None

    def run(self) -> ImportedTranscript:
        store = self.taker.engine.store
        self._session = store.get_session(self.transcript.session_id)
        before = [self._mark(part) for part in self.transcript.parts]
        is_read = all(m.offset >= p.size_bytes for m, p in zip(before, self._parts, strict=True))
        if is_read and not (self.is_quiet and self._left_open()):
            return ImportedTranscript(ImportState.UNCHANGED, 0, 0, self.reading)
        was_known = self._session is not None
        self._take(self._unknown(_captured_from(self._session)))
        return ImportedTranscript(self._state(was_known), self.events, self.known, self.reading)

    @property
    def _parts(self) -> tuple[TranscriptFile, ...]:
        return self.transcript.parts

    def _state(self, was_known: bool) -> ImportState:
        if self.events:
            return ImportState.CONTINUED if was_known else ImportState.NEW
        return ImportState.CAUGHT if self.known else ImportState.UNCHANGED

    # -- What is new ------------------------------------------------------------------------------

    def _mark(self, part: TranscriptFile) -> ReadPosition:
        source = _source(self.transcript, part)
        known = self.taker.engine.store.read_position(source)
        mark = known if known and known.head == part.head else ReadPosition(source, part.head, 0)
        self._marks[source] = mark
        return mark

    def _unknown(self, captured_from: datetime | None) -> Iterator[tuple[str, TranscriptEvent]]:
        """Events that neither an earlier import nor a hook has recorded."""
        for source, step in self._in_order():
            if step.final and not self.is_quiet:
                continue
            if captured_from is not None and step.event.origin.at >= captured_from:
                self.known += 1
            else:
                yield source, step

    def _in_order(self) -> Iterator[tuple[str, TranscriptEvent]]:
        """The events of all files by time, those of one file in file order."""
        streams = [_timed(self._steps(part), n) for n, part in enumerate(self._parts)]
        sources = [_source(self.transcript, part) for part in self._parts]
        for _, n, step in heapq.merge(*streams, key=lambda timed: timed[:2]):
            yield sources[n], step

    def _steps(self, part: TranscriptFile) -> Iterator[TranscriptEvent]:
        mark = self._marks[_source(self.transcript, part)]
        reading, told = ReadStats(), 0
        for step in part.read(reading):
            if step.end > mark.offset:
                yield step
            if self.on_bytes is not None and step.end > told:
                self.on_bytes(step.end - told)
                told = step.end
        if self.on_bytes is not None:
            self.on_bytes(max(0, part.size_bytes - told))
        self.reading.add(reading)

    # -- Taking -----------------------------------------------------------------------------------

    def _take(self, steps: Iterator[tuple[str, TranscriptEvent]]) -> None:
        batch: list[Event] = []
        ends: dict[str, int] = {}
        size = 0
        last: Origin | None = None
        for source, step in steps:
            batch.append(step.event)
            last = step.event.origin if step.event.origin.agent is None else last
            size += step.end - ends.get(source, self._marks[source].offset)
            ends[source] = max(step.end, ends.get(source, 0))
            if len(batch) >= BATCH_EVENTS or size >= BATCH_BYTES:
                self._commit(batch, ends)
                batch, size = [], 0
        if self.is_quiet:
            # The whole file counts as read, with what follows its last event.
            ends = {_source(self.transcript, part): part.size_bytes for part in self._parts}
            last = last or self._left_open()
            if last is not None:
                batch.append(self._ended(last))
        if batch or ends:
            self._commit(batch, ends)

    def _left_open(self) -> Origin | None:
        """The origin of a session that an earlier import left open."""
        session = self._session
        if session is None or not session.is_open:
            return None
        state = load_state(session.work)
        if not state.imported or state.captured_from is not None:
            return None
        return Origin(
            event_id="",
            client=session.client,
            session_id=session.id,
            at=session.last_event_at,
            cwd=session.cwd,
            branch=session.branch,
            imported=True,
        )

    def _ended(self, last: Origin) -> SessionEnded:
        event_id = f"{self.transcript.session_id}:end:{last.at.isoformat()}"
        return SessionEnded(
            origin=replace(last, event_id=event_id),
            reason="transcript",
            usage=self.transcript.usage(),
        )

    def _commit(self, batch: Sequence[Event], ends: dict[str, int]) -> None:
        marks = [
            replace(self._marks[source], offset=max(end, self._marks[source].offset))
            for source, end in ends.items()
        ]
        if self.dry_run:
            self._foresee(batch)
            return
        try:
            self.events += _told(self.taker, lambda: self.taker.commit(batch, marks))
        except BAD_EVENT as error:
            if isinstance(error, TRANSIENT):
                raise
            self._commit_singly(batch, marks)
        self._marks |= {mark.source: mark for mark in marks}

    def _commit_singly(self, batch: Sequence[Event], marks: Sequence[ReadPosition]) -> None:
        """Import one by one: an event that cannot be ingested is reported and skipped."""
        for event in batch:
            try:
                self.events += _told(self.taker, lambda e=event: self.taker.commit([e], []))
            except BAD_EVENT as error:
                if isinstance(error, TRANSIENT):
                    raise
                told = safe_text(f"{type(error).__name__}: {error}"[:200])
                self.taker.counts.problems.append(
                    f"An event of session {self.transcript.session_id} was left out: {told}"
                )
        self.taker.commit([], marks)

    def _foresee(self, batch: Sequence[Event]) -> None:
        fresh = self.taker.not_ingested(batch)
        if fresh:
            rules = self.taker.rules
            folded = apply_events(
                self._session,
                fresh,
                environment=self.taker.environment,
                turns_between=rules.turns_between_summaries,
            )
            self._session = folded.session
            self.taker.count([folded], events=len(fresh))
            self.events += len(fresh)


def _told(taker: EventIngester, commit: Callable[[], object]) -> int:
    """How many events a commit ingested."""
    before = taker.counts.events
    commit()
    return taker.counts.events - before


def _source(transcript: Transcript, part: TranscriptFile) -> str:
    """The name of a file's read position, independent of its folder."""
    return f"import:{transcript.client}:{transcript.session_id}:{part.path.name}"


def _timed(
    steps: Iterator[TranscriptEvent], number: int
) -> Iterator[tuple[datetime, int, TranscriptEvent]]:
    at: datetime | None = None
    for step in steps:
        own = step.event.origin.at
        at = own if at is None or own > at else at
        yield at, number, step


def _captured_from(session: SessionRecord | None) -> datetime | None:
    """When hooks began to capture this session; None when they have not."""
    if session is None:
        return None
    state = load_state(session.work)
    if state.captured_from is not None:
        return datetime.fromisoformat(state.captured_from) - _SAME_MOMENT
    # A session without this mark was captured by hooks.
    return None if state.imported else session.started_at - _SAME_MOMENT
