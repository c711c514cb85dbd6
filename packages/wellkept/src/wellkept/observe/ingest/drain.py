"""Drain the spool: captured events -> session, observations, summary.

A batch of events and its read position are written in one transaction, so each event counts
exactly once, whichever process drains and whenever it dies. As soon as that is committed, the entry
is gone from the spool: its file is removed, or blanked while a client still writes to it. An entry
that cannot be ingested, even alone, is set aside without its secrets and reported; it never blocks
the entries after it. A file that cannot be read is moved away and never blocks the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import TypeAlias

from wellkept.core.changes import SaveReadPosition
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.ports.sessions import Spool
from wellkept.core.records import field, record, replace
from wellkept.core.session.events import Event
from wellkept.core.session.sessions import ReadPosition, SpoolDamage, SpoolEntry
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.ingest import (
    BAD_EVENT,
    TRANSIENT,
    EventIngester,
)
from wellkept.observe.model.consolidation import ModelUsageReport
from wellkept.observe.session.reducer import TURNS_BETWEEN_SUMMARIES
from wellkept.text.events.sanitize import safe_text
from wellkept.text.secrets.redaction import redact, redact_payload
from wellkept.text.shell.environment import Environment

Translate: TypeAlias = Callable[[SpoolEntry, Callable[[str], str]], Sequence[Event]]
"""Translates a spool entry into events; the second argument redacts secrets from a text."""

_BATCH_ENTRIES, _BATCH_BYTES = 100, 4 << 20
_NO_YEAR = 9999
_IDLE_SESSIONS = 50


@record(kw_only=True)
class DrainRules:
    """When sessions are summarised, and how long the log of injected lines is kept."""

    turns_between_summaries: int = TURNS_BETWEEN_SUMMARIES
    idle_minutes: float = 10.0
    taken_days: int = 30
    injection_days: int = 180
    injection_lines: int = 50_000


@record
class SetAside:
    """An entry that could not be ingested, and why."""

    source: str
    event_id: str
    client: str
    event: str
    reason: str


@record
class SourceAside:
    """A file that could not be read, and why."""

    source: str
    reason: str


@record(kw_only=True)
class DrainReport:
    """What a drain did. `busy`: another process is draining, and nothing was done. `in_use`: so
    many files were drained but could not be removed yet."""

    busy: bool = False
    sources: int = 0
    entries: int = 0
    events: int = 0
    repeated: int = 0
    observations: int = 0
    prompts: int = 0
    damaged_bytes: int = 0
    removed: int = 0
    in_use: int = 0
    sources_aside: tuple[SourceAside, ...] = ()
    sessions: tuple[str, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    problems: tuple[str, ...] = ()
    model: ModelUsageReport | None = None
    due: tuple[str, ...] = ()
    vectors_due: bool = False


def drain(
    engine: Engine,
    spool: Spool,
    *,
    translate: Translate,
    environment: Environment,
    rules: DrainRules | None = None,
) -> DrainReport:
    """Ingest everything in the spool. StoreError when the store fails; nothing is lost then.

    The caller ensures that one process drains at a time. No model is used: `due` lists the sessions
    that wait for one.
    """
    known = rules or DrainRules()
    ingester = EventIngester(engine, environment, turns_between=known.turns_between_summaries)
    return _Drain(engine, spool, translate, known, ingester).run()


@record(frozen=False)
class _Drain:
    engine: Engine
    spool: Spool
    translate: Translate
    rules: DrainRules
    ingester: EventIngester
    report: DrainReport = field(default_factory=DrainReport)

    def run(self) -> DrainReport:
        for source in self.spool.sources():
            self._drain_alone(source)
        self._close_idle_sessions()
        if self.report.entries:
            before = self.engine.clock() - timedelta(days=self.rules.taken_days)
            self.engine.store.prune_processed_events(before=before)
            self._prune_injections()
        due = tuple(self.ingester.due)
        counts = self.ingester.counts
        self._add(
            events=counts.events,
            repeated=counts.repeated,
            observations=counts.observations,
            prompts=counts.prompts,
            sessions=tuple(counts.sessions),
            problems=tuple(counts.problems),
            due=due,
        )
        return self.report

    def _prune_injections(self) -> None:
        before = self.engine.clock() - timedelta(days=self.rules.injection_days)
        self.engine.store.prune_injections(before=before, keep_lines=self.rules.injection_lines)

    def _add(self, **changes: object) -> None:
        self.report = replace(self.report, **changes)  # type: ignore[arg-type]

    # -- One file ---------------------------------------------------------------------------------

    def _drain_alone(self, source: str) -> None:
        """Drain a file; what is wrong with it does not keep the others waiting."""
        try:
            self._drain_source(source)
        except OSError as error:
            self._set_source_aside(source, error)

    def _set_source_aside(self, source: str, error: OSError) -> None:
        """Move a file away that cannot be read; what may pass, such as a full disk, is told."""
        try:
            reason = self.spool.set_source_aside(source)
        except OSError as failed:
            reason, error = None, failed
        if reason is None:
            told = safe_text(f"{source} was not drained: {error.strerror or error}")
            self.ingester.counts.problems.append(told)
            return
        aside = SourceAside(safe_text(source), reason)
        self._add(sources_aside=(*self.report.sources_aside, aside))

    def _drain_source(self, source: str) -> None:
        mark = self._start(source)
        if mark is None:
            self._remove_if_empty(source)
            return
        self._add(sources=self.report.sources + 1)
        is_gone = self._release(mark, since=0)
        for batch in _batches(self.spool.read(source, offset=mark.offset)):
            start, mark = mark.offset, self._take(mark, batch)
            is_gone = self._release(mark, since=start)
        self._add(in_use=self.report.in_use + (not is_gone))

    def _start(self, source: str) -> ReadPosition | None:
        """Where to continue; another file under an old name is read from its beginning."""
        first = next(self.spool.read(source, offset=0), None)
        if first is None:
            return None
        head = first.event_id if isinstance(first, SpoolEntry) else f"damage-{first.end}"
        known = self.engine.store.read_position(source)
        return known if known and known.head == head else ReadPosition(source, head, 0)

    def _take(self, mark: ReadPosition, batch: list[SpoolEntry | SpoolDamage]) -> ReadPosition:
        moved = replace(mark, offset=batch[-1].end)
        damage = sum(d.end - d.start for d in batch if isinstance(d, SpoolDamage))
        entries = [entry for entry in batch if isinstance(entry, SpoolEntry)]
        try:
            self._commit(moved, entries)
        except BAD_EVENT as error:
            if isinstance(error, TRANSIENT):
                raise
            if len(batch) > 1:
                for item in batch:
                    self._take(mark, [item])
                return moved
            self._set_aside(moved, entries, error)
        if damage:
            self.spool.note_damage(mark.source, size_bytes=damage)
        self._add(
            entries=self.report.entries + len(entries),
            damaged_bytes=self.report.damaged_bytes + damage,
        )
        return moved

    def _set_aside(
        self, mark: ReadPosition, entries: Sequence[SpoolEntry], error: Exception
    ) -> None:
        for entry in entries:
            safe = replace(entry, payload=redact_payload(entry.payload))
            self.spool.set_aside(mark.source, safe)
            reason = safe_text(f"{type(error).__name__}: {error}"[:200])
            told = SetAside(mark.source, entry.event_id, entry.client, entry.event, reason)
            self._add(set_aside=(*self.report.set_aside, told))
        self.engine.store.apply([SaveReadPosition(mark)])

    def _release(self, mark: ReadPosition, *, since: int) -> bool:
        """Remove a file that was read to its end, or clear what was read of it `since` an offset;
        returns whether it is gone."""
        if not mark.offset:
            return False
        if self.spool.remove(mark.source, offset=mark.offset):
            self.engine.store.delete_read_position(mark)
            self._add(removed=self.report.removed + 1)
            return True
        self.spool.clear(mark.source, start=since, end=mark.offset)
        return False

    def _remove_if_empty(self, source: str) -> None:
        """A hook that was killed before its first write leaves an empty file."""
        if self._is_quiet(source) and self.spool.remove(source, offset=0):
            self._add(removed=self.report.removed + 1)

    def _is_quiet(self, source: str) -> bool:
        touched = self.spool.idle_since(source)
        quiet = timedelta(minutes=self.rules.idle_minutes)
        return touched is not None and self.engine.clock() - touched >= quiet

    # -- One transaction --------------------------------------------------------------------------

    def _commit(self, mark: ReadPosition, entries: Sequence[SpoolEntry]) -> None:
        events = [event for entry in entries for event in self._events(entry)]
        self.ingester.commit(events, [mark])

    def _events(self, entry: SpoolEntry) -> Sequence[Event]:
        if entry.at.year >= _NO_YEAR:
            raise UsageError("The time of the entry is out of range.")
        # A blanked entry was ingested before.
        return (
            self.translate(entry, lambda text: redact(text).text) if entry.payload.strip() else ()
        )

    # -- Sessions that went quiet -----------------------------------------------------------------

    def _close_idle_sessions(self) -> None:
        since = self.engine.clock() - timedelta(minutes=self.rules.idle_minutes)
        quiet = self.engine.store.sessions(
            project=None, needs_summary=True, idle_since=since, limit=_IDLE_SESSIONS
        )
        for session in quiet:
            try:
                self.ingester.close_idle(session)
            except ConflictError:
                # The session got new events meanwhile.
                continue
            except UsageError as error:
                problem = f"Session {session.id} could not be summarised: {error}"
                self.ingester.counts.problems.append(problem)


def _batches(
    items: Iterator[SpoolEntry | SpoolDamage],
) -> Iterator[list[SpoolEntry | SpoolDamage]]:
    """Items in batches of bounded size, in order."""
    batch: list[SpoolEntry | SpoolDamage] = []
    size = 0
    for item in items:
        batch.append(item)
        size += len(item.payload) if isinstance(item, SpoolEntry) else 0
        if len(batch) >= _BATCH_ENTRIES or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
