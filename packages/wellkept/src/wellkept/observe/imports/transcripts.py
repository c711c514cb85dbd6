"""Imports the transcripts that coding clients left on this machine.

Writes only to the store. The folder of a transcript decides its project; one without a folder is
skipped and reported. Parsing client formats is done in `clients`. Imported memories have no vectors
until `Wellkept.reindex`. Invariant: importing twice equals once, wherever it was interrupted:
events and read position are one transaction. What a hook captured of the same session is not
imported again.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from wellkept.core.chat.transcripts import (
    ReadStats,
    Transcript,
    TranscriptEvent,
    TranscriptFile,
    UnreadableFile,
)
from wellkept.core.records import field, record, replace
from wellkept.core.session.events import Event, Origin, SessionEnded
from wellkept.core.session.sessions import ReadPosition, SessionRecord
from wellkept.core.settings import paths
from wellkept.observe.ingest.ingest import BAD_EVENT, TRANSIENT, EventIngester
from wellkept.observe.observer.api import Observer
from wellkept.observe.observer.drain import machine_environment, read_source
from wellkept.observe.session.reducer import apply_events
from wellkept.observe.session.state import load_state
from wellkept.text.events.sanitize import safe_text
from wellkept.text.shell.environment import Environment

if TYPE_CHECKING:
    from wellkept.core.types import Progress
    from wellkept.memory.workspace import Workspace

BATCH_EVENTS, BATCH_BYTES = 500, 16 << 20
# The clocks of hooks and transcripts differ slightly.
_SAME_MOMENT = timedelta(seconds=2)
_KEPT_SOURCES = 32
OnBytes: TypeAlias = Callable[[int], None]


@record(kw_only=True)
class TranscriptFilter:
    """Which transcripts to import; `project` None means all projects."""

    project: str | None = None
    since: datetime | None = None


@record(frozen=False, kw_only=True)
class TranscriptReport:
    """Counts of one import."""

    source: str
    dry_run: bool = False
    new: int = 0
    continued: int = 0
    unchanged: int = 0
    caught: int = 0
    other_projects: int = 0
    too_old: int = 0
    bytes_read: int = 0
    events: int = 0
    known_events: int = 0
    repeated_events: int = 0
    prompts: int = 0
    observations: int = 0
    redacted: int = 0
    projects: dict[str, int] = field(default_factory=dict[str, int])
    reading: ReadStats = field(default_factory=ReadStats)
    unread: list[UnreadableFile] = field(default_factory=list[UnreadableFile])
    problems: list[str] = field(default_factory=list[str])

    @property
    def sessions(self) -> int:
        """How many sessions added something."""
        return self.new + self.continued


def import_transcripts(
    services: Workspace,
    source: str,
    found: Iterable[Transcript | UnreadableFile],
    *,
    wanted: TranscriptFilter,
    dry_run: bool = False,
    progress: Progress | None = None,
    environment: Mapping[str, str] | None = None,
    learn: bool = True,
) -> TranscriptReport:
    """Import a client's transcripts into their projects, then learn from finished sessions."""
    env = os.environ if environment is None else environment
    taker = EventIngester(
        replace(services.engine, embedder=lambda: None),
        _past_environment(services, env),
        turns_between=services.settings.capture_summary_turns,
        commands="none" if dry_run else "remember",
    )
    run = _Run(services, taker, TranscriptReport(source=source, dry_run=dry_run), progress)
    run.take(run.chosen(found, wanted))
    if learn and taker.due and not dry_run:
        learned = Observer(services).learn(list(taker.due), with_vectors=False)
        run.report.problems.extend(learned.problems)
    return run.finish()


def _past_environment(services: Workspace, environment: Mapping[str, str]) -> Environment:
    """The environment without its git state, which has changed since the session."""
    now = machine_environment(services.store, environment)
    return Environment(
        locate=now.locate,
        read_file=lru_cache(maxsize=_KEPT_SOURCES)(read_source),
        commit_files=_if_there(now),
        named=now.named,
    )


def _if_there(world: Environment) -> Callable[[str, str], tuple[str, ...]]:
    """Skip folders that are gone: each question to git costs a process."""

    @lru_cache(maxsize=256)
    def is_checkout(folder: str) -> bool:
        return (Path(folder) / ".git").exists()

    def files(folder: str, sha: str) -> tuple[str, ...]:
        return world.commit_files(folder, sha) if is_checkout(folder) else ()

    return files


@record(frozen=False)
class _Run:
    """The state of one import."""

    services: Workspace
    taker: EventIngester
    report: TranscriptReport
    progress: Progress | None
    _done: int = 0
    _total: int = 0

    def chosen(
        self, found: Iterable[Transcript | UnreadableFile], wanted: TranscriptFilter
    ) -> list[Transcript]:
        """The transcripts that match; the others are counted."""
        kept: list[Transcript] = []
        for one in found:
            if isinstance(one, UnreadableFile):
                self.report.unread.append(one)
            elif one.cwd is None:
                reason = "names no folder, so its project is not known"
                self.report.unread.append(UnreadableFile(one.parts[0].path, reason))
            elif self._is_own(one.cwd):
                continue  # Wellkept itself asked the client as a model
            elif wanted.since is not None and one.last_at < wanted.since:
                self.report.too_old += 1
            elif wanted.project not in (None, self.taker.environment.locate(one.cwd).project):
                self.report.other_projects += 1
            else:
                kept.append(one)
        self._total = sum(transcript.size_bytes for transcript in kept)
        return kept

    def _is_own(self, cwd: str) -> bool:
        folder = paths.chat_folder(self.services.environment)
        return "\0" not in cwd and (
            Path(cwd).is_relative_to(folder) or Path(cwd).is_relative_to(folder.resolve())
        )

    def take(self, transcripts: Iterable[Transcript]) -> None:
        """Import one after the other; an unreadable one does not stop the others."""
        idle = timedelta(minutes=self.services.settings.capture_idle_minutes)
        for transcript in transcripts:
            is_quiet = self.services.clock() - transcript.last_at >= idle
            try:
                take_transcript(
                    self.taker,
                    transcript,
                    self.report,
                    is_quiet=is_quiet,
                    on_bytes=self._advance,
                )
            except OSError as error:
                where = Path(error.filename) if error.filename else transcript.parts[0].path
                self.report.unread.append(UnreadableFile(where, error.strerror or str(error)))

    def finish(self) -> TranscriptReport:
        """The report with the counts of the ingester."""
        counts = self.taker.counts
        return replace(
            self.report,
            events=counts.events,
            repeated_events=counts.repeated,
            prompts=counts.prompts,
            observations=counts.observations,
            redacted=counts.redacted,
            problems=[*self.report.problems, *counts.problems],
        )

    def _advance(self, size: int) -> None:
        self._done += size
        self.report.bytes_read += size
        if self.progress is not None:
            self.progress(min(self._done, self._total), self._total)


# -- One transcript -------------------------------------------------------------------------------


def take_transcript(
    taker: EventIngester,
    transcript: Transcript,
    report: TranscriptReport,
    *,
    is_quiet: bool,
    on_bytes: OnBytes | None = None,
) -> None:
    """Import what is new in a transcript, and count it.

    `is_quiet`: it is no longer written, so its last turn and its session are over. A dry run counts
    the same and writes nothing.
    """
    _Take(taker, transcript, report, is_quiet, on_bytes).run()


@record(frozen=False)
class _Take:
    """Imports one transcript."""

    taker: EventIngester
    transcript: Transcript
    report: TranscriptReport
    is_quiet: bool
    on_bytes: OnBytes | None
    known: int = 0
    events: int = 0
    _marks: dict[str, ReadPosition] = field(default_factory=dict[str, ReadPosition])
    _session: SessionRecord | None = None

    def run(self) -> None:
        store, report = self.taker.engine.store, self.report
        self._session = store.get_session(self.transcript.session_id)
        before = [self._mark(part) for part in self.transcript.parts]
        parts = self.transcript.parts
        is_read = all(m.offset >= p.size_bytes for m, p in zip(before, parts, strict=True))
        was_known = self._session is not None
        if not is_read or (self.is_quiet and self._left_open()):
            self._take(self._unknown(_captured_from(self._session)))
        report.known_events += self.known
        if not self.events:
            report.caught += bool(self.known)
            report.unchanged += not self.known
            return
        report.continued += was_known
        report.new += not was_known
        project = self.taker.environment.locate(self.transcript.cwd).project
        report.projects[project] = report.projects.get(project, 0) + 1

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
        streams = [_timed(self._steps(part), n) for n, part in enumerate(self.transcript.parts)]
        sources = [_source(self.transcript, part) for part in self.transcript.parts]
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
        self.report.reading.add(reading)

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
            ends = {
                _source(self.transcript, part): part.size_bytes for part in self.transcript.parts
            }
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
        if self.report.dry_run:
            self._foresee(batch)
            return
        before = self.taker.counts.events
        try:
            self.taker.commit(batch, marks)
        except BAD_EVENT as error:
            if isinstance(error, TRANSIENT):
                raise
            self._commit_singly(batch, marks)
        self.events += self.taker.counts.events - before
        self._marks |= {mark.source: mark for mark in marks}

    def _commit_singly(self, batch: Sequence[Event], marks: Sequence[ReadPosition]) -> None:
        """Import one by one: an event that cannot be ingested is reported and skipped."""
        for event in batch:
            try:
                self.taker.commit([event], [])
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
            folded = apply_events(
                self._session,
                fresh,
                environment=self.taker.environment,
                turns_between=self.taker.turns_between,
            )
            self._session = folded.session
            self.taker.count([folded], events=len(fresh))
            self.events += len(fresh)


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
