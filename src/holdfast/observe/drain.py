"""Taking caught events in: spool -> cleaned events -> session, observations, summary.

What is made of a batch of events and how far its file was read are one transaction, so each event
counts exactly once, whoever drains and whenever it dies. An entry that cannot be taken in, neither
with others nor alone, is set aside with its bytes and reported; it never blocks what follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import TypeAlias

from holdfast.core.changes import Advance, Change, PutSession
from holdfast.core.errors import (
    ConflictError,
    HoldfastError,
    ProviderError,
    StoreError,
    UsageError,
)
from holdfast.core.events import Event
from holdfast.core.ports import Spool
from holdfast.core.records import field, record, replace
from holdfast.core.sessions import ReadingMark, SpoolDamage, SpoolEntry
from holdfast.core.types import MemoryType
from holdfast.memory.engine import Engine
from holdfast.memory.obey import obey
from holdfast.observe.cleaning import safe_text
from holdfast.observe.consolidation import Consolidated, consolidate
from holdfast.observe.folding import TURNS_BETWEEN_SUMMARIES, Folded, Spoken, fold, fold_idle
from holdfast.observe.keeping import kept_changes
from holdfast.observe.news import Listener, news_of
from holdfast.observe.world import World

Translate: TypeAlias = Callable[[SpoolEntry], Sequence[Event]]

_BATCH_ENTRIES, _BATCH_BYTES = 100, 4 << 20
_ATTEMPTS = 4
_IDLE_SESSIONS = 50
# What a payload of an unforeseen shape can cause in code that reads it.
_POISON = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    HoldfastError,
)
# What has nothing to do with the payload: it is there again at the next drain.
_PASSING = (StoreError, ConflictError, ProviderError)


@record(kw_only=True)
class DrainRules:
    """When sessions are summed up, and how much a model may be used for it."""

    turns_between_summaries: int = TURNS_BETWEEN_SUMMARIES
    idle_minutes: float = 10.0
    daily_model_tokens: int = 100_000
    taken_days: int = 30
    obey_commands: bool = True


@record
class SetAside:
    """An entry that could not be taken in, and why."""

    source: str
    event_id: str
    client: str
    event: str
    reason: str


@record(kw_only=True)
class DrainReport:
    """What a drain did. `busy` means that someone else is at it and nothing was done."""

    busy: bool = False
    sources: int = 0
    entries: int = 0
    events: int = 0
    repeated: int = 0
    observations: int = 0
    prompts: int = 0
    damaged_bytes: int = 0
    removed: int = 0
    sessions: tuple[str, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    problems: tuple[str, ...] = ()
    model: Consolidated | None = None


def drain(
    engine: Engine,
    spool: Spool,
    *,
    translate: Translate,
    world: World,
    rules: DrainRules | None = None,
    listener: Listener | None = None,
) -> DrainReport:
    """Take in everything that is there; StoreError when the store cannot take it, and then nothing
    is lost. The caller sees to it that one process does this at a time. The listener is told of
    each thing once it is in the store."""
    return _Drain(engine, spool, translate, world, rules or DrainRules(), listener).run()


@record(frozen=False)
class _Drain:
    engine: Engine
    spool: Spool
    translate: Translate
    world: World
    rules: DrainRules
    listener: Listener | None
    report: DrainReport = field(default_factory=DrainReport)
    due: dict[str, None] = field(default_factory=dict[str, None])
    obeyed: set[str] = field(default_factory=set[str])
    over: dict[str, bool] = field(default_factory=dict[str, bool])

    def run(self) -> DrainReport:
        for source in self.spool.sources():
            self._drain_source(source)
        self._rest_idle_sessions()
        if self.report.entries:
            before = self.engine.clock() - timedelta(days=self.rules.taken_days)
            self.engine.store.forget_taken(before=before)
        model = consolidate(self.engine, list(self.due), daily_tokens=self.rules.daily_model_tokens)
        self._add(model=model)
        return self.report

    def _add(self, **changes: object) -> None:
        self.report = replace(self.report, **changes)  # type: ignore[arg-type]

    # -- One file ---------------------------------------------------------------------------------

    def _drain_source(self, source: str) -> None:
        mark = self._start(source)
        if mark is None:
            return
        self._add(sources=self.report.sources + 1)
        for batch in _batches(self.spool.read(source, offset=mark.offset)):
            mark = self._take(mark, batch)
        self._remove_if_over(mark)

    def _start(self, source: str) -> ReadingMark | None:
        """Where to go on; a file that is not the one read before is read from its beginning."""
        first = next(self.spool.read(source, offset=0), None)
        if first is None:
            return None
        head = first.event_id if isinstance(first, SpoolEntry) else f"damage-{first.end}"
        known = self.engine.store.reading_mark(source)
        return known if known and known.head == head else ReadingMark(source, head, 0)

    def _take(self, mark: ReadingMark, batch: list[SpoolEntry | SpoolDamage]) -> ReadingMark:
        moved = replace(mark, offset=batch[-1].end)
        damage = sum(d.end - d.start for d in batch if isinstance(d, SpoolDamage))
        entries = [entry for entry in batch if isinstance(entry, SpoolEntry)]
        try:
            self._commit(moved, entries)
        except _POISON as error:
            if isinstance(error, _PASSING):
                raise
            if len(batch) > 1:
                for item in batch:
                    self._take(mark, [item])
                return moved
            self._set_aside(moved, entries, error)
        self._add(
            entries=self.report.entries + len(entries),
            damaged_bytes=self.report.damaged_bytes + damage,
        )
        return moved

    def _set_aside(
        self, mark: ReadingMark, entries: Sequence[SpoolEntry], error: Exception
    ) -> None:
        for entry in entries:
            self.spool.set_aside(mark.source, entry)
            reason = safe_text(f"{type(error).__name__}: {error}"[:200])
            told = SetAside(mark.source, entry.event_id, entry.client, entry.event, reason)
            self._add(set_aside=(*self.report.set_aside, told))
        self.engine.store.apply([Advance(mark)])

    def _remove_if_over(self, mark: ReadingMark) -> None:
        """Files go when they were read to their end and their session is over or quiet."""
        touched = self.spool.idle_since(mark.source)
        quiet = timedelta(minutes=self.rules.idle_minutes)
        is_quiet = touched is not None and self.engine.clock() - touched >= quiet
        ended = self.over.get(mark.source, False)
        if (is_quiet or ended) and self.spool.remove(mark.source, offset=mark.offset):
            self.engine.store.drop_mark(mark)
            self._add(removed=self.report.removed + 1)

    # -- One transaction --------------------------------------------------------------------------

    def _commit(self, mark: ReadingMark, entries: Sequence[SpoolEntry]) -> None:
        events = [event for entry in entries for event in self.translate(entry)]
        for attempt in range(_ATTEMPTS):
            try:
                self._commit_once(mark, events)
                return
            except ConflictError:
                # Someone else wrote the session meanwhile; fold again onto what is there now.
                if attempt == _ATTEMPTS - 1:
                    raise

    def _commit_once(self, mark: ReadingMark, events: Sequence[Event]) -> None:
        fresh = self._not_taken(events)
        changes: list[Change] = []
        results: list[tuple[Folded, list[Change]]] = []
        for session_id, some in _by_session(fresh).items():
            session = self.engine.store.get_session(session_id)
            result = fold(
                session, some, world=self.world, turns_between=self.rules.turns_between_summaries
            )
            self._obey(result)
            taken = tuple(event.origin.event_id for event in some)
            kept = kept_changes(self.engine, result)
            changes += [*kept, PutSession(result.session, taken)]
            results.append((result, kept))
        self.engine.store.apply([*changes, Advance(mark)])
        folded = [result for result, _ in results]
        self._count(folded, events=len(fresh), repeated=len(events) - len(fresh))
        for result, kept in results:
            self._announce(result, kept)
        if folded:
            self.over[mark.source] = not any(result.session.is_open for result in folded)

    def _not_taken(self, events: Sequence[Event]) -> list[Event]:
        once = {event.origin.event_id: event for event in reversed(events)}
        known = self.engine.store.taken_events(list(once))
        return [event for key, event in reversed(once.items()) if key not in known]

    def _obey(self, result: Folded) -> None:
        """Commands come before the commit: when it fails they are heard again, which does no harm;
        lost they would be for good."""
        for spoken in result.spoken if self.rules.obey_commands else ():
            if spoken.event_id not in self.obeyed:
                self.obeyed.add(spoken.event_id)
                self._obey_one(result, spoken)

    def _obey_one(self, result: Folded, spoken: Spoken) -> None:
        session = result.session
        try:
            obey(
                self.engine,
                spoken.text,
                project=session.project,
                author="user",
                session_id=session.id,
            )
        except UsageError as error:
            problem = f"A command in session {session.id} could not be followed: {error}"
            self._add(problems=(*self.report.problems, problem))

    def _count(self, results: Sequence[Folded], *, events: int, repeated: int) -> None:
        drafts = [draft for result in results for draft in result.drafts]
        prompts = sum(draft.type is MemoryType.PROMPT for draft in drafts)
        ids = (*self.report.sessions, *(result.session.id for result in results))
        self._add(
            events=self.report.events + events,
            repeated=self.report.repeated + repeated,
            prompts=self.report.prompts + prompts,
            observations=self.report.observations + len(drafts) - prompts,
            sessions=tuple(dict.fromkeys(ids)),
        )
        self.due |= {result.session.id: None for result in results if result.trigger}

    def _announce(self, result: Folded, changes: Sequence[Change]) -> None:
        """Tell who listens what is now in the store."""
        if self.listener is not None:
            for news in news_of(result, changes):
                self.listener(news)

    # -- Sessions that went quiet -----------------------------------------------------------------

    def _rest_idle_sessions(self) -> None:
        since = self.engine.clock() - timedelta(minutes=self.rules.idle_minutes)
        quiet = self.engine.store.sessions(
            project=None, needs_summary=True, idle_since=since, limit=_IDLE_SESSIONS
        )
        for session in quiet:
            try:
                self._rest(fold_idle(session, world=self.world))
            except ConflictError:
                # It is not that quiet after all.
                continue
            except UsageError as error:
                problem = f"Session {session.id} could not be summed up: {error}"
                self._add(problems=(*self.report.problems, problem))

    def _rest(self, result: Folded) -> None:
        changes = kept_changes(self.engine, result)
        self.engine.store.apply([*changes, PutSession(result.session)])
        self._count([result], events=0, repeated=0)
        self._announce(result, changes)


def _batches(
    items: Iterator[SpoolEntry | SpoolDamage],
) -> Iterator[list[SpoolEntry | SpoolDamage]]:
    """Items in order, some at a time, so that neither memory nor a transaction grows large."""
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


def _by_session(events: Sequence[Event]) -> dict[str, list[Event]]:
    sessions: dict[str, list[Event]] = {}
    for event in events:
        sessions.setdefault(event.origin.session_id, []).append(event)
    return sessions
