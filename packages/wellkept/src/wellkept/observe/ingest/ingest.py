"""Ingest events: apply them and write the result with the read positions in one transaction.

The one entry for captured and imported events. Invariant: each event counts exactly once, whichever
process ingests it and whenever the process dies.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Literal, TypeAlias

from wellkept.core.changes import (
    Change,
    Insert,
    PutScratchpad,
    PutSession,
    Replace,
    SaveReadPosition,
)
from wellkept.core.clock import whole_ms
from wellkept.core.errors import ConflictError, ProviderError, StoreError, UsageError, WellkeptError
from wellkept.core.memory import Memory, MemoryDraft
from wellkept.core.records import field, record, replace
from wellkept.core.session.events import Event, PromptSubmitted, ToolCalled, ToolKind
from wellkept.core.session.sessions import ReadPosition, SessionRecord
from wellkept.core.types import MemoryType
from wellkept.memory.agent_notes import confirm_by_prompt, withdraw_claims
from wellkept.memory.commands import Speaker, apply_answers, apply_commands
from wellkept.memory.engine import Engine
from wellkept.observe.failures.command_records import record_runs, verify_declared
from wellkept.observe.failures.lessons import close_disproved, save_way_out
from wellkept.observe.injections.feedback import injection_changes
from wellkept.observe.model import event_log
from wellkept.observe.session.drafts import composed, rewritten, summary_changes
from wellkept.observe.session.reducer import (
    TURNS_BETWEEN_SUMMARIES,
    Said,
    SessionUpdate,
    apply_events,
    close_idle,
)
from wellkept.observe.settled import keep_settlement
from wellkept.text.events.prompt_rules import tells
from wellkept.text.memory_commands.rules import nothing_named
from wellkept.text.secrets.shape import MARK
from wellkept.text.shell.environment import Environment

_ATTEMPTS = 4
# Errors that an event of unexpected shape can cause.
BAD_EVENT = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    WellkeptError,
)
# Errors that have nothing to do with the event: the next attempt may succeed.
TRANSIENT = (StoreError, ConflictError, ProviderError)


CommandPolicy: TypeAlias = Literal["none", "remember", "all"]
"""Which memory commands in prompts are applied. In old transcripts only "remember" is: "forget" was
about what was known then."""


@record(frozen=False)
class IngestCounts:
    """Counts of what was ingested so far."""

    events: int = 0
    repeated: int = 0
    observations: int = 0
    prompts: int = 0
    redacted: int = 0
    sessions: dict[str, None] = field(default_factory=dict[str, None])
    problems: list[str] = field(default_factory=list[str])


@record(frozen=False)
class EventIngester:
    """Ingests events into one store; `due` are the sessions that are ready for a summary."""

    engine: Engine
    environment: Environment
    turns_between: int = TURNS_BETWEEN_SUMMARIES
    commands: CommandPolicy = "all"
    counts: IngestCounts = field(default_factory=IngestCounts)
    due: dict[str, None] = field(default_factory=dict[str, None])
    _applied: set[str] = field(default_factory=set[str])

    def commit(self, events: Sequence[Event], marks: Sequence[ReadPosition]) -> list[SessionUpdate]:
        """Apply the events, and save them with the read positions of their files."""
        for attempt in range(_ATTEMPTS):
            try:
                return self._commit_once(events, marks)
            except ConflictError:
                # Another process wrote the session meanwhile; apply the events to its new state.
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError

    def close_idle(self, session: SessionRecord) -> None:
        """Report what is still open in a session that went quiet."""
        result = close_idle(session, environment=self.environment)
        changes = [*memory_changes(self.engine, result)]
        changes += self._injections(result.session, (), is_over=True)
        self._log_for_model(result, ())
        self.engine.store.apply([*changes, PutSession(result.session)])
        self.count([result], events=0)

    def _commit_once(
        self, events: Sequence[Event], marks: Sequence[ReadPosition]
    ) -> list[SessionUpdate]:
        fresh = self.not_ingested(events)
        changes: list[Change] = []
        updates: list[SessionUpdate] = []
        for session_id, some in _by_session(fresh).items():
            session = self.engine.store.get_session(session_id)
            update = apply_events(
                session,
                some,
                environment=self.environment,
                turns_between=self.turns_between,
                pad=self.engine.store.scratchpad(session_id),
            )
            self._apply_commands(update)
            self._withdraw_claims(session, some)
            self._save_way_outs(update)
            self._keep_settled(update)
            self._log_for_model(update, some)
            taken = tuple(event.origin.event_id for event in some)
            changes += [*memory_changes(self.engine, update), PutSession(update.session, taken)]
            changes += [PutScratchpad(update.pad)] if update.pad is not None else []
            changes += self._plugin_changes(update.session, some)
            changes += self._injections(update.session, some)
            updates.append(update)
        self.engine.store.apply([*changes, *map(SaveReadPosition, marks)])
        self.count(updates, events=len(fresh), repeated=len(events) - len(fresh))
        return updates

    def _plugin_changes(self, session: SessionRecord, events: Sequence[Event]) -> list[Change]:
        """What plugins store. They are loaded for a tool that is not the client's own."""
        foreign = (ToolKind.MCP, ToolKind.OTHER)
        if not any(isinstance(one, ToolCalled) and one.kind in foreign for one in events):
            return []
        from wellkept.observe.methodology.plugins import installed_plugins

        changes, problems = installed_plugins().call(
            "wellkept_session_events", store=self.engine.store, session=session, events=events
        )
        self.counts.problems.extend(problems)
        return changes

    def _injections(
        self, session: SessionRecord, events: Sequence[Event], *, is_over: bool = False
    ) -> list[Change]:
        return injection_changes(
            self.engine,
            session,
            events,
            is_over=is_over or not session.is_open,
        )

    def not_ingested(self, events: Sequence[Event]) -> list[Event]:
        """The events that were not ingested before, once each."""
        once = {event.origin.event_id: event for event in reversed(events)}
        known = self.engine.store.processed_events(list(once))
        return [event for key, event in reversed(once.items()) if key not in known]

    def _apply_commands(self, result: SessionUpdate) -> None:
        """Commands come before the commit: when it fails they are heard again, which does no harm;
        lost they would be for good."""
        earlier: list[datetime] = []
        for said in result.said if self.commands != "none" else ():
            origin = said.event.origin
            if origin.event_id not in self._applied:
                self._applied.add(origin.event_id)
                self._apply_one(result, said, earlier=tuple(earlier))
            if isinstance(said.event, PromptSubmitted):
                earlier.append(whole_ms(origin.at))

    def _withdraw_claims(self, session: SessionRecord | None, events: Sequence[Event]) -> None:
        """What agents said in a person's name by a shell command, before the commit as well."""
        before = session.last_event_at if session else None
        for event in events:
            if isinstance(event, ToolCalled) and event.command:
                until = event.origin.at
                if event.duration_ms is not None:
                    before = until - timedelta(milliseconds=event.duration_ms)
                if before is not None:
                    since = before + timedelta(milliseconds=1)
                    withdraw_claims(self.engine, event.command, since=since, until=until)
            before = event.origin.at

    def _log_for_model(self, result: SessionUpdate, events: Sequence[Event]) -> None:
        """Before the commit, as commands are: an event is logged once, however often it comes."""
        if self.engine.text_model() is None:
            return
        store, session_id = self.engine.store, result.session.id
        event_log.append(store, session_id, events)
        if result.trigger:
            event_log.queue(store, session_id, trigger=result.trigger, now=self.engine.clock())

    def _save_way_outs(self, result: SessionUpdate) -> None:
        """Before the commit, as commands are: saving one again only confirms it."""
        session = result.session
        close_disproved(self.engine, result.runs, project=session.project)
        for way_out, at in result.way_outs:
            save_way_out(
                self.engine, way_out, project=session.project, session_id=session.id, at=at
            )
        store, where = self.engine.store, {"project": session.project, "session_id": session.id}
        record_runs(store, result.runs, **where)
        verify_declared(self.engine, result.runs, **where)

    def _keep_settled(self, result: SessionUpdate) -> None:
        """Before the commit, as commands are: the key of an exchange keeps it single."""
        session = result.session
        roots = self.environment.locate(session.cwd).roots
        for settled, at in result.settled if self.commands != "none" else ():
            keep_settlement(
                self.engine,
                settled,
                project=session.project,
                session_id=session.id,
                at=at,
                find_named=partial(self.environment.named, roots[0]) if roots else nothing_named,
            )

    def _apply_one(
        self,
        result: SessionUpdate,
        said: Said,
        *,
        earlier: tuple[datetime, ...],
    ) -> None:
        session = result.session
        event = said.event
        roots = self.environment.locate(event.origin.cwd or session.cwd).roots
        speaker = Speaker(
            author="user",
            session_id=session.id,
            at=whole_ms(event.origin.at),
            earlier=earlier,
            answers_to=said.before,
            find_named=partial(self.environment.named, roots[0]) if roots else nothing_named,
        )
        only = self.commands == "remember"
        project = session.project
        try:
            if isinstance(event, PromptSubmitted):
                apply_commands(
                    self.engine, event.text, project=project, speaker=speaker, remember_only=only
                )
                confirm_by_prompt(
                    self.engine,
                    event.text,
                    project=project,
                    session=session.id,
                    at=whole_ms(event.origin.at),
                )
            else:
                apply_answers(
                    self.engine, event.answers, project=project, speaker=speaker, remember_only=only
                )
        except UsageError as error:
            self.counts.problems.append(
                f"A command in session {session.id} could not be followed: {error}"
            )

    def count(self, results: Sequence[SessionUpdate], *, events: int, repeated: int = 0) -> None:
        """Add to the counts what some events made."""
        drafts = [draft for result in results for draft in result.drafts]
        prompts = sum(draft.type is MemoryType.PROMPT for draft in drafts)
        counts = self.counts
        counts.events += events
        counts.repeated += repeated
        counts.prompts += prompts
        counts.observations += len(drafts) - prompts
        counts.redacted += sum(draft.content.count(MARK) for draft in drafts)
        counts.sessions |= {result.session.id: None for result in results}
        self.due |= {result.session.id: None for result in results if result.trigger}


def _by_session(events: Sequence[Event]) -> dict[str, list[Event]]:
    sessions: dict[str, list[Event]] = {}
    for event in events:
        sessions.setdefault(event.origin.session_id, []).append(event)
    return sessions


def memory_changes(engine: Engine, update: SessionUpdate) -> list[Change]:
    """The memories of an update, to be written in one transaction with its session."""
    project = update.session.project
    fresh: list[Memory] = []
    again: list[tuple[Memory, Memory]] = []
    for draft in _once_per_key(update.drafts):
        memory = _kept_aside(composed(engine, draft, project=project))
        old = memory.key and engine.store.find_key(memory.key, project=project, user_scope=False)
        if old:
            again.append((old, rewritten(old, memory)))
        else:
            fresh.append(memory)
    cards = engine.index_entries([*fresh, *(new for _, new in again)])
    changes: list[Change] = [Insert(m, card) for m, card in zip(fresh, cards, strict=False)]
    changes += [
        Replace(new, card, old.updated_at)
        for (old, new), card in zip(again, cards[len(fresh) :], strict=True)
    ]
    if update.summary is not None:
        is_due = update.trigger is not None
        changes += summary_changes(engine, update.summary, project=project, is_due=is_due)
    return changes


def _kept_aside(memory: Memory) -> Memory:
    """A prompt that says nothing by itself is kept for the order of the session, but archived, so
    that it is neither listed nor ranked by default."""
    if memory.type is not MemoryType.PROMPT or tells(memory.content[:200]):
        return memory
    return replace(memory, archived_at=memory.created_at)


def _once_per_key(drafts: Sequence[MemoryDraft]) -> list[MemoryDraft]:
    """The last draft of each key, in the position of the first."""
    kept: dict[str, MemoryDraft] = {}
    for number, draft in enumerate(drafts):
        name = draft.key or f"\0{number}"
        first = kept.get(name)
        kept[name] = (
            draft
            if first is None
            else replace(draft, seq=first.seq, valid_from=first.valid_from, evidence=first.evidence)
        )
    return list(kept.values())
